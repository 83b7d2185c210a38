"""The data sets of Table 1 by name: from a folder, from scikit-learn, from UCI or OpenML.

A local file is NAME.csv or NAME.csv.gz with a header and the label in the last column, in the
folder or its `tables/`. What is fetched is written to the same form in a folder of its own, so that
it is fetched once. Without a network, a table is reported as missing, with the reason.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.bandwidth import read as read_csv
from benchmarks.paper import sensors
from meanshiftpp._support.files import atomic_path

UCI = "https://archive.ics.uci.edu/static/public"
PATIENCE = 20.0  # seconds for a server to say something


class MissingError(Exception):
    """A table that is neither here nor to be fetched; the message says why."""


class Table(NamedTuple):
    """Features, labels, and where they are from."""

    X: NDArray[np.floating]
    truth: NDArray[np.integer]
    origin: str

    def thinned(self, most: int) -> Table:
        """Give evenly spaced rows, so many at most."""
        every = -(-len(self.X) // most)
        return Table(self.X[::every], self.truth[::every], self.origin)


class Archive(NamedTuple):
    """A zip file of UCI: its number and name, the members that are read, and how."""

    number: int
    name: str
    members: str  # a pattern for the end of the path
    separator: str
    label: int  # the column of it
    first: int = 0  # column of the features
    kept: Callable[[str], bool] = bool  # labels

    def read(self, path: Path) -> tuple[NDArray[np.float64], list[str]]:
        """Read the rows of all members."""
        rows: list[list[str]] = []
        with zipfile.ZipFile(path) as pack:
            names = sorted(
                n for n in pack.namelist() if fnmatch(n.rpartition("/")[2], self.members)
            )
            if not names:
                raise MissingError(f"{path.name} has no {self.members}")
            for name in names:
                text = pack.read(name).decode("utf-8", "replace")
                rows += [line.strip().split(self.separator) for line in text.splitlines() if line]
        rows = [row for row in rows if self.kept(row[self.label])]
        labels = [row[self.label] for row in rows]
        width = len(rows[0])
        columns = [k for k in range(self.first, width) if k != self.label % width]
        return np.array([[row[k] for k in columns] for row in rows], np.float64), labels


ARCHIVES = {
    "skin": Archive(229, "skin+segmentation", "Skin_NonSkin.txt", "\t", -1),
    "balance_scale": Archive(12, "balance+scale", "balance-scale.data", ",", 0, 1),
    "wall_robot": Archive(
        194, "wall+following+robot+navigation+data", "sensor_readings_4.data", ",", -1
    ),
    "chest_accelerometer": Archive(
        287,
        "activity+recognition+from+single+chest+mounted+accelerometer",
        "[0-9]*.csv",
        ",",
        -1,
        1,
        lambda label: label != "0",  # between two activities
    ),
}
SENSORS = Archive(344, "heterogeneity+activity+recognition", "*.zip", ",", -1)
# Numbers of OpenML's data sets; where the target is continuous, of the binarised version
OPENML = {
    "lupus": 472,
    "confidence": 1015,
    "geyser": 895,
    "vinnie": 860,
    "sleepdata": 741,
    "transplant": 885,
    "slope": 729,
    "prnn_synth": 464,
    "user_knowledge": 1508,
}


@dataclass(frozen=True)
class Library:
    """Where tables are looked for, and where fetched ones are kept."""

    folder: Path
    fetched: Path
    offline: bool = False
    server: str = UCI

    @property
    def places(self) -> list[Path]:
        return [place / sub for place in (self.folder, self.fetched) for sub in ("", "tables")]

    def load(self, name: str) -> Table:
        """Give a table by its name, or raise MissingError."""
        if name in sensors.FILES:
            return self._sensor(name)
        if path := self._local(name):
            return Table(*read_csv(path), "local file")
        if name == "iris":
            from sklearn.datasets import load_iris

            iris = load_iris()
            return Table(iris.data, iris.target, "scikit-learn")
        return Table(*read_csv(self._fetch(name)), "fetched")

    def _local(self, name: str) -> Path | None:
        files = (place / f"{name}{end}" for place in self.places for end in (".csv", ".csv.gz"))
        return next((file for file in files if file.is_file()), None)

    def _sensor(self, name: str) -> Table:
        if (path := sensors.find(name, self.places)) is None:
            self._allowed(name)
            with tempfile.TemporaryDirectory() as folder:
                unpack(self._download(SENSORS, Path(folder)), self.fetched)
            path = sensors.find(name, self.places)
        if path is None:
            raise MissingError(f"UCI {SENSORS.number} has no {'/'.join(sensors.FILES[name])}")
        return Table(*sensors.read(path), "local file")

    def _fetch(self, name: str) -> Path:
        self._allowed(name)
        if name in ARCHIVES:
            with tempfile.TemporaryDirectory() as folder:
                X, labels = ARCHIVES[name].read(self._download(ARCHIVES[name], Path(folder)))
        elif name in OPENML:
            X, labels = from_openml(OPENML[name], self.fetched)
        else:
            raise MissingError(f"no loader for {name!r}")
        path = self.fetched / f"{name}.csv.gz"
        write_csv(path, X, labels)
        return path

    def _allowed(self, name: str) -> None:
        if self.offline:
            raise MissingError(f"{name} is not in the folder, and nothing is to be fetched")

    def _download(self, archive: Archive, folder: Path) -> Path:
        address = f"{self.server}/{archive.number}/{archive.name}.zip"
        path = folder / "archive.zip"
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer, path.open("wb") as to:
                shutil.copyfileobj(answer, to)
        except OSError as error:
            raise MissingError(f"UCI {archive.number} could not be fetched: {error}") from error
        if not zipfile.is_zipfile(path):
            raise MissingError(f"UCI {archive.number}: what came is no zip file")
        return path


def from_openml(number: int, home: Path) -> tuple[NDArray[np.float64], list[str]]:
    """Fetch a data set of OpenML through scikit-learn."""
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml(
            data_id=number, as_frame=False, parser="liac-arff", data_home=home, n_retries=0
        )
    except Exception as error:  # what it raises without a network differs between versions
        raise MissingError(f"OpenML {number} could not be fetched: {error}") from error
    return np.asarray(found.data, np.float64), [str(label) for label in found.target]


def unpack(path: Path, folder: Path) -> None:
    """Unpack UCI 344, an archive of archives, as far as its tables go."""
    members = {f"{home}/{file}" for home, file in sensors.FILES.values()}
    with zipfile.ZipFile(path) as outer:
        for name in (name for name in outer.namelist() if name.endswith(".zip")):
            with outer.open(name) as file, zipfile.ZipFile(file) as inner:
                for member in members & set(inner.namelist()):
                    _extract(inner, member, folder / member)


def _extract(pack: zipfile.ZipFile, member: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(target) as part, pack.open(member) as source, part.open("wb") as to:
        shutil.copyfileobj(source, to)


def write_csv(path: Path, X: ArrayLike, labels: list[str]) -> None:
    """Write a table in the form that is read."""
    X = np.asarray(X, np.float64)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    text.write(",".join([*(f"x{k}" for k in range(X.shape[1])), "label"]) + "\n")
    for row, label in zip(X.tolist(), labels, strict=True):
        text.write(",".join([*map(repr, row), label.replace(",", " ")]) + "\n")
    with atomic_path(path) as part, gzip.open(part, "wt", encoding="utf-8") as file:
        file.write(text.getvalue())
