"""The data sets of Gagolewski's benchmark suite (gagolews/clustering-data-v1) in a folder.

A data set is NAME.data.gz, numbers separated by spaces, and NAME.labels0.gz, NAME.labels1.gz and so
on, its reference labellings. 0 in a labelling is noise. Files in one folder form a battery.

Every data set belongs to one of two halves: `choose`, to choose settings, and `report`, to report
results that no choice has seen. The names of a battery are sorted; even positions, from 0, belong
to `choose` and odd ones to `report`. The rule sees every data set of the folder, so a limit of the
number of points moves none from one half to the other. Large data sets count in no mean: methods
that cannot finish them would change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

CHOOSE, REPORT = "choose", "report"
HALVES = (CHOOSE, REPORT)
ENDING = ".data.gz"
NOISE, BACKGROUND = 0, -1  # in a reference labelling: not compared; a class, but not a cluster
SMALL = 20_000  # points: larger data sets are reported one by one

Labels = NDArray[np.integer]


@dataclass(frozen=True)
class DataSet:
    """Points with one or several reference labellings."""

    name: str  # BATTERY/NAME
    half: str
    X: NDArray[np.float64]
    references: tuple[Labels, ...]

    @property
    def group(self) -> str:
        """The mean in which it counts: of its half, or of itself if it is large."""
        return self.half if len(self.X) <= SMALL else self.name

    @cached_property
    def counts(self) -> list[int]:
        """The numbers of clusters of the reference labellings, each once."""
        return sorted({count_clusters(reference) for reference in self.references})

    @cached_property
    def checksum(self) -> str:
        """A CRC of the points and the references."""
        parts = [self.X, *self.references]
        return f"{crc32(b''.join(np.ascontiguousarray(part).tobytes() for part in parts)):08x}"


class Entry(NamedTuple):
    """A data set that has not been read yet."""

    path: Path
    battery: str
    half: str

    @property
    def name(self) -> str:
        return f"{self.battery}/{self.path.name.removesuffix(ENDING)}"


def count_clusters(reference: Labels) -> int:
    """Return the number of classes of a reference labelling, without noise."""
    return len(np.unique(reference[reference != NOISE]))


def find(folder: Path) -> list[Entry]:
    """Return the data sets of a folder with their halves; raise FileNotFoundError without any."""
    paths = sorted(
        folder.rglob(f"*{ENDING}"), key=lambda path: (path.parent, path.name.removesuffix(ENDING))
    )
    if not paths:
        raise FileNotFoundError(f"expected files NAME{ENDING} in {folder}; found none")
    entries = []
    for home, battery in groupby(paths, key=lambda path: path.parent):
        title = home.relative_to(folder).as_posix() if home != folder else folder.resolve().name
        entries += [Entry(path, title, HALVES[place % 2]) for place, path in enumerate(battery)]
    return entries


def read(entry: Entry) -> DataSet:
    """Read the points and all reference labellings of a data set."""
    stem = entry.path.name.removesuffix(ENDING)
    paths = sorted(entry.path.parent.glob(f"{stem}.labels*.gz"))
    if not paths:
        raise FileNotFoundError(f"expected {stem}.labels0.gz beside {entry.path}; found none")
    X = np.loadtxt(entry.path, ndmin=2)
    references = tuple(np.loadtxt(path, ndmin=1).astype(np.int64) for path in paths)
    for path, reference in zip(paths, references, strict=True):
        if len(reference) != len(X):
            raise ValueError(f"expected {len(X)} labels in {path}; got {len(reference)}")
    return DataSet(entry.name, entry.half, X, references)


def load(
    folder: Path | str, half: str | None = None, max_points: int | None = None
) -> tuple[list[DataSet], list[str]]:
    """Return the data sets of one half or of both, and the names of those with too many points."""
    entries = [entry for entry in find(Path(folder)) if half in (None, entry.half)]
    sets = [read(entry) for entry in entries]
    limit = max_points or max((len(each.X) for each in sets), default=0)
    too_large = [each.name for each in sets if len(each.X) > limit]
    return [each for each in sets if len(each.X) <= limit], too_large
