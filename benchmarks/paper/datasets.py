"""The data sets of Table 1 by name: from a folder, from scikit-learn, from UCI or OpenML.

A local file is NAME.csv or NAME.csv.gz with a header and the label in the last column, in the
folder or its subfolder `tables/`. Downloads are stored in the same format in a separate folder, so
each happens once. Without a network, a table is reported as missing, with the reason.
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

from benchmarks.common.csv_tables import read_table
from benchmarks.paper import sensor_data
from meanshiftpp._support.files import atomic_path

UCI = "https://archive.ics.uci.edu/static/public"
SERVER_TIMEOUT = 20.0  # seconds


class MissingTableError(Exception):
    """A table is neither local nor can be downloaded; the message is the reason."""


class Table(NamedTuple):
    """Features, labels and their source."""

    X: NDArray[np.floating]
    truth: NDArray[np.integer]
    source: str

    def thinned(self, max_rows: int) -> Table:
        """Return at most `max_rows` evenly spaced rows."""
        step = -(-len(self.X) // max_rows)
        return Table(self.X[::step], self.truth[::step], self.source)


class Archive(NamedTuple):
    """A zip file of UCI and the format of its tables."""

    number: int
    name: str
    members: str  # pattern of the file names
    separator: str
    label: int  # column of the label
    first: int = 0  # first column of the features
    is_valid: Callable[[str], bool] = bool  # rows with other labels are dropped

    def read(self, path: Path) -> tuple[NDArray[np.float64], list[str]]:
        """Read the rows of all members."""
        rows: list[list[str]] = []
        with zipfile.ZipFile(path) as archive:
            names = sorted(
                n for n in archive.namelist() if fnmatch(n.rpartition("/")[2], self.members)
            )
            if not names:
                raise MissingTableError(f"{path.name} has no {self.members}")
            for name in names:
                text = archive.read(name).decode("utf-8", "replace")
                rows += [line.strip().split(self.separator) for line in text.splitlines() if line]
        rows = [row for row in rows if self.is_valid(row[self.label])]
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
        lambda label: label != "0",  # 0 is the time between two activities
    ),
}
SENSORS = Archive(344, "heterogeneity+activity+recognition", "*.zip", ",", -1)
# Numbers of data sets at OpenML; the binarised version if the target is continuous.
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
    """The folders of local and of downloaded tables."""

    folder: Path
    downloads: Path
    offline: bool = False
    server: str = UCI

    @property
    def folders(self) -> list[Path]:
        return [base / sub for base in (self.folder, self.downloads) for sub in ("", "tables")]

    def load(self, name: str) -> Table:
        """Return a table by its name, or raise MissingTableError."""
        if name in sensor_data.FILES:
            return self._load_sensor(name)
        if path := self._find(name):
            return Table(*read_table(path), "local file")
        if name == "iris":
            from sklearn.datasets import load_iris

            iris = load_iris()
            return Table(iris.data, iris.target, "scikit-learn")
        return Table(*read_table(self._fetch(name)), "download")

    def _find(self, name: str) -> Path | None:
        files = (folder / f"{name}{end}" for folder in self.folders for end in (".csv", ".csv.gz"))
        return next((file for file in files if file.is_file()), None)

    def _load_sensor(self, name: str) -> Table:
        if (path := sensor_data.find(name, self.folders)) is None:
            self._check_online(name)
            with tempfile.TemporaryDirectory() as folder:
                unpack_sensors(self._download(SENSORS, Path(folder)), self.downloads)
            path = sensor_data.find(name, self.folders)
        if path is None:
            file = "/".join(sensor_data.FILES[name])
            raise MissingTableError(f"UCI {SENSORS.number} has no {file}")
        return Table(*sensor_data.read(path), "local file")

    def _fetch(self, name: str) -> Path:
        """Download a table and return its file."""
        self._check_online(name)
        if name in ARCHIVES:
            with tempfile.TemporaryDirectory() as folder:
                X, labels = ARCHIVES[name].read(self._download(ARCHIVES[name], Path(folder)))
        elif name in OPENML:
            X, labels = fetch_from_openml(OPENML[name], self.downloads)
        else:
            raise MissingTableError(f"the source of {name!r} is unknown")
        path = self.downloads / f"{name}.csv.gz"
        write_csv(path, X, labels)
        return path

    def _check_online(self, name: str) -> None:
        if self.offline:
            raise MissingTableError(f"{name} is not in the folder, and --offline is set")

    def _download(self, archive: Archive, folder: Path) -> Path:
        address = f"{self.server}/{archive.number}/{archive.name}.zip"
        path = folder / "archive.zip"
        try:
            with (
                urllib.request.urlopen(address, timeout=SERVER_TIMEOUT) as answer,
                path.open("wb") as file,
            ):
                shutil.copyfileobj(answer, file)
        except OSError as error:
            raise MissingTableError(f"cannot download UCI {archive.number}: {error}") from error
        if not zipfile.is_zipfile(path):
            raise MissingTableError(f"UCI {archive.number}: expected a zip file, got another type")
        return path


def fetch_from_openml(number: int, home: Path) -> tuple[NDArray[np.float64], list[str]]:
    """Download a data set of OpenML with scikit-learn."""
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml(
            data_id=number, as_frame=False, parser="liac-arff", data_home=home, n_retries=0
        )
    except Exception as error:  # the type without a network differs between versions
        raise MissingTableError(f"cannot download OpenML {number}: {error}") from error
    return np.asarray(found.data, np.float64), [str(label) for label in found.target]


def unpack_sensors(path: Path, folder: Path) -> None:
    """Extract the tables of UCI 344, an archive of archives."""
    members = {f"{home}/{file}" for home, file in sensor_data.FILES.values()}
    with zipfile.ZipFile(path) as outer:
        for name in (name for name in outer.namelist() if name.endswith(".zip")):
            with outer.open(name) as file, zipfile.ZipFile(file) as inner:
                for member in members & set(inner.namelist()):
                    _extract(inner, member, folder / member)


def _extract(archive: zipfile.ZipFile, member: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(target) as part, archive.open(member) as source, part.open("wb") as file:
        shutil.copyfileobj(source, file)


def write_csv(path: Path, X: ArrayLike, labels: list[str]) -> None:
    """Write a table in the format that `read_table` reads."""
    X = np.asarray(X, np.float64)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    text.write(",".join([*(f"x{k}" for k in range(X.shape[1])), "label"]) + "\n")
    for row, label in zip(X.tolist(), labels, strict=True):
        text.write(",".join([*map(repr, row), label.replace(",", " ")]) + "\n")
    with atomic_path(path) as part, gzip.open(part, "wt", encoding="utf-8") as file:
        file.write(text.getvalue())
