"""Checkpoints: the grid or the tally so far and the position in the data, to continue a run.

Sums of grids and of tallies are exact, so a run that was interrupted at any point ends with the
same bits as one that was not. A checkpoint also identifies its run: resuming with other data,
another bandwidth or period, or another unit of positions is an error.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from meanshiftpp._support.files import check_regular, exists
from meanshiftpp.core import archive, gridfile
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.tree import tallyfile
from meanshiftpp.core.tree.tally import Tally
from meanshiftpp.errors import GridFileError, GridMismatchError
from meanshiftpp.io.identity import Identity
from meanshiftpp.io.sources import Source, format_names

Total = TypeVar("Total", bound=Grid | Tally)


@dataclass(frozen=True)
class Checkpoint(Generic[Total]):
    """The progress of a run.

    Attributes
    ----------
    total : Grid or Tally
        The sum of all points so far.
    position : int
        The start of the next chunk.
    rows : int
        The number of rows read so far.
    """

    total: Total
    position: int = 0
    rows: int = 0

    def save(self, path: str | os.PathLike[str], source: Source) -> None:
        """Write the checkpoint atomically, unless a file of the source has changed."""
        check_regular(path, "write")
        source.check_unchanged()
        note = json.dumps(_describe(source) | {"position": self.position, "rows": self.rows})
        if isinstance(self.total, Tally):
            tallyfile.write(path, self.total, note)
        else:
            gridfile.write(path, vars(self.total), note)

    @classmethod
    def resume(
        cls, path: str | os.PathLike[str], source: Source, start: Total
    ) -> Checkpoint[Total]:
        """Read a checkpoint of `source`; start from the empty `start` without a file."""
        check_regular(path, "write")  # before the long computation, and reading would wait
        if not exists(path):
            return cls(start)
        total, text = _read(path)
        try:
            note: dict[str, Any] = json.loads(text or "none")
            position, rows = int(note["position"]), int(note["rows"])
            columns = list(note["columns"])
            files = [Identity.from_note(fields) for fields in note["files"]]
            unit, rows_used = str(note["unit"]), str(note.get("rows_used", ""))
        except (ValueError, TypeError, KeyError, OverflowError):
            problem = "is not a checkpoint and was left unchanged; name another file"
            raise GridFileError.for_file(path, problem) from None
        difference = _data_difference(columns, files, source) or _sum_difference(total, start)
        if unit != source.unit:
            difference = difference or f"its position counts {unit}, not {source.unit}"
        if rows_used != _rows_used(source):
            difference = difference or "it has other weights or uses other rows"
        if difference:
            raise GridMismatchError(
                f"the checkpoint {str(path)!r} is of another run: {difference}; "
                "name another file, or remove it to start from the beginning"
            )
        return cls(total, position, rows)


def _read(path: str | os.PathLike[str]) -> tuple[Any, str | None]:
    """Read and validate the grid or the tally of a file, and its note."""
    arrays = archive.read(path, "checkpoint")
    note = str(arrays["note"]) if "note" in arrays else None
    if archive.is_of(arrays, gridfile.FORMAT):
        return Grid(**gridfile.fields_of(arrays, path)), note
    if archive.is_of(arrays, tallyfile.FORMAT):
        return tallyfile.tally_of(arrays, path), note
    raise archive.foreign(path, "checkpoint")


def _describe(source: Source) -> dict[str, Any]:
    files = [identity.note() for identity in source.identities]
    note = {"columns": list(source.columns), "files": files, "unit": source.unit}
    return note | {"rows_used": _rows_used(source)}


def _rows_used(source: Source) -> str:
    """Describe weights, conditions and the treatment of missing values; empty by default."""
    weight = "" if source.weight is None else f"weight {source.weight!r} "
    where = "" if source.where is None else f"where {source.where.text} "
    return weight + where + ("" if source.missing == "error" else f"missing {source.missing}")


def _data_difference(columns: list[str], files: list[Identity], source: Source) -> str | None:
    """Return how a checkpoint's data differs from the source, or None."""
    if columns != list(source.columns):
        return f"it has the columns {format_names(columns)}, not {format_names(source.columns)}"
    if len(files) != len(source.identities):
        return f"it has {len(files)} files, not {len(source.identities)}"
    for then, now in zip(files, source.identities, strict=True):
        if then.name != now.name:
            return f"it has the file {then.name!r} where {now.name!r} is now"
        if difference := then.difference(now):
            return difference
    return None


def _sum_difference(total: Grid | Tally, start: Grid | Tally) -> str | None:
    """Return how the grid or the tally of a checkpoint differs from that of this run, or None."""
    if isinstance(total, Grid) and isinstance(start, Grid):
        return _grid_difference(total, start)
    if isinstance(total, Tally) and isinstance(start, Tally):
        then, now = total.period.tolist(), start.period.tolist()
        return None if then == now else f"it has the periods {then}, not {now}"
    names = ("a", "no") if isinstance(total, Grid) else ("no", "a")
    return "it has {} bandwidth, and this run has {}".format(*names)


def _grid_difference(grid: Grid, start: Grid) -> str | None:
    """Return how a checkpoint's cells differ from those of this run, or None."""
    if not np.array_equal(grid.cells_per_period, start.cells_per_period):
        then, now = (g.cells_per_period.tolist() for g in (grid, start))
        return f"its periods have {then} cells, not {now}"
    if np.array_equal(grid.bandwidth, start.bandwidth):
        return None
    then, now = (", ".join(f"{h:.17g}" for h in g.bandwidth) for g in (grid, start))
    return f"it has the bandwidth {then}, not {now}"
