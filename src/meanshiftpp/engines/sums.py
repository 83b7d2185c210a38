"""Sums on a cluster: grids of a recipe with a bandwidth, tallies of one without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.recipe import CheckedRecipe
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.core.tree.tally import Tally

Total = Grid | Tally


def bin_chunks(
    chunks: Iterable[Chunk], recipe: CheckedRecipe | Significant, n_threads: int
) -> Total:
    """Return the sum of chunks."""
    total = recipe.empty().start_sum()
    for chunk in chunks:
        total.add_chunk(chunk, n_threads=n_threads)
    return total.total()


def add_up(parts: Iterable[tuple[str, Total]]) -> Total | None:
    """Return the sum of grids or of tallies, each with its name for errors; None without any."""
    total: Any = None
    for name, part in parts:
        if total is None:
            total = part.start_sum()
        else:
            total.add(part, name)
    return None if total is None else total.total()
