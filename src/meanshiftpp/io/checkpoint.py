"""Checkpoints: the grid so far and where it ends, so that a run that was killed can go on.

Grids add up exactly, so a run that was broken off anywhere and went on has the bits of one that was
not. What the checkpoint is of is in it too: other data or another bandwidth is refused, and so
is a position that counts something else.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from meanshiftpp.core import gridfile
from meanshiftpp.core.grid import Grid
from meanshiftpp.errors import GridFileError, GridMismatchError
from meanshiftpp.io.sources import Source, listed


@dataclass(frozen=True)
class Checkpoint:
    """How far a run has come.

    Attributes
    ----------
    grid : Grid
        Of all points so far.
    position : int
        Where the next chunk starts.
    rows : int
        Rows read so far.
    """

    grid: Grid
    position: int = 0
    rows: int = 0

    def save(self, path: str | os.PathLike[str], source: Source) -> None:
        """Write it, whole or not at all."""
        note = _data(source) | {"position": self.position, "rows": self.rows}
        gridfile.write(path, vars(self.grid), json.dumps(note))

    @classmethod
    def resume(cls, path: str | os.PathLike[str], source: Source, start: Grid) -> Checkpoint:
        """Read a checkpoint of `source`, if there is one; else begin with `start`."""
        if not Path(path).exists():
            return cls(start)
        fields, text = gridfile.read(path, "checkpoint")
        try:
            note: dict[str, Any] = json.loads(text or "none")
            position, rows = int(note["position"]), int(note["rows"])
            columns, files = list(note["columns"]), [list(file) for file in note["files"]]
            unit = str(note["unit"])
        except (ValueError, TypeError, KeyError):
            raise GridFileError(f"{path} is no checkpoint, and stays as it is") from None
        grid = Grid(**fields)
        difference = _difference(columns, files, source) or _other_bandwidth(grid, start)
        if unit != source.unit:
            difference = difference or f"its position counts {unit}, not {source.unit}"
        if difference:
            raise GridMismatchError(
                f"the checkpoint {path} is of another run: {difference}; "
                "name another file, or remove it to start from the beginning"
            )
        return cls(grid, position, rows)


def _data(source: Source) -> dict[str, Any]:
    return {"columns": list(source.columns), "files": source.identity(), "unit": source.unit}


def _difference(columns: list[str], files: list[list[Any]], source: Source) -> str | None:
    """Say in what the data differs, or None."""
    if columns != list(source.columns):
        return f"it has the columns {listed(columns)}, not {listed(source.columns)}"
    now = source.identity()
    if len(files) != len(now):
        return f"it has {len(files)} files, not {len(now)}"
    for (name, size, changed), (name_now, size_now, changed_now) in zip(files, now, strict=True):
        if name != name_now:
            return f"it has the file {name!r} where {name_now!r} is now"
        if size != size_now:
            return f"{name!r} had {size:,} bytes and has {size_now:,}"
        if changed != changed_now:
            return f"{name!r} has been changed since"
    return None


def _other_bandwidth(grid: Grid, start: Grid) -> str | None:
    if not np.array_equal(grid.cells_per_period, start.cells_per_period):
        return (
            f"its periods have {grid.cells_per_period.tolist()} cells, "
            f"not {start.cells_per_period.tolist()}"
        )
    if np.array_equal(grid.bandwidth, start.bandwidth):
        return None
    then, now = (", ".join(f"{h:.17g}" for h in g.bandwidth) for g in (grid, start))
    return f"it has the bandwidth {then}, not {now}"
