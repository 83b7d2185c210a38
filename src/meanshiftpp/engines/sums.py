"""Sums on a cluster: grids of a recipe with a bandwidth, tallies of one without."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from meanshiftpp._support.text import pluralize
from meanshiftpp.core.accumulate import GridSum
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.recipe import CheckedRecipe, Recipe
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.core.tree.tally import Tally, TallySum
from meanshiftpp.errors import GridMismatchError

Total = Grid | Tally


def bin_chunks(
    chunks: Iterable[Chunk], recipe: CheckedRecipe | Significant, n_threads: int
) -> Total:
    """Return the sum of chunks."""
    if isinstance(recipe, Significant):
        tallies = TallySum(recipe.empty())
        for chunk in chunks:
            tallies.add_chunk(chunk, n_threads=n_threads)
        return tallies.tally()
    total = GridSum(recipe.empty())
    for chunk in chunks:
        total.add_chunk(chunk, n_threads=n_threads)
    return total.grid()


def add_up(parts: Iterable[tuple[str, Total]]) -> Total | None:
    """Return the sum of grids or of tallies, each with its name for errors; None without any."""
    grids: GridSum[Grid] | None = None
    tally: Tally | None = None
    for name, part in parts:
        if isinstance(part, Grid):
            grids = grids or GridSum(Grid.of_cells(part.bandwidth, part.cells_per_period))
            grids.add(part, name)
        else:
            tally = part if tally is None else _added(tally, part, name)
    return grids.grid() if grids else tally


def _added(total: Tally, part: Tally, name: str) -> Tally:
    if part.n_features != total.n_features:
        raise GridMismatchError(
            f"{name} has {pluralize(part.n_features, 'feature')}, "
            f"but {total.n_features} were expected"
        )
    return total + part


def gather(recipe: Recipe | Significant, read: Callable[[Any], Any]) -> Any:
    """Return the sum that `read` makes by a recipe; tallies that are not exact are read again."""
    return recipe.gather(read) if isinstance(recipe, Significant) else read(recipe)
