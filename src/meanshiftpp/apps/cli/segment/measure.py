"""The option --measure of `meanshiftpp segment`: one table with a row for each region."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from meanshiftpp.images.picture import Picture


class Measurements:
    """The rows of all files, written at the end; files may have different numbers of channels."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._columns: dict[str, None] = {"file": None}  # in order, without duplicates
        self._rows: list[dict[str, Any]] = []

    def add(self, source: Path, labels: NDArray[np.int32], photo: Picture) -> None:
        """Add the regions of a picture; `labels` count from 1."""
        from meanshiftpp.images.measure import measure

        table = measure(labels, photo.values, photo.channels)
        self._columns.update(dict.fromkeys(table))
        for values in zip(*(column.tolist() for column in table.values()), strict=True):
            self._rows.append({"file": str(source), **dict(zip(table, values, strict=True))})

    def write(self) -> None:
        """Write a .csv; cells of channels that a file does not have are empty."""
        from meanshiftpp._support.files import write_rows

        cells = ([row.get(name) for name in self._columns] for row in self._rows)
        write_rows(self.path, self._columns, cells)
