"""The large tables: accelerometers and gyroscopes of phones and watches (UCI 344, HHAR).

The files are those of UCI, in folders `Activity recognition exp` and `Still exp`, with columns x,
y, z and gt (the activity) among others. A missing file is replaced by a stand-in of the same size.
It is drawn by `RECIPE` and has nothing but its size in common with the paper's data, so only its
times are meaningful.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Table = tuple[NDArray[np.floating], NDArray[np.integer]]

FOLDER, STILL = "Activity recognition exp", "Still exp"
FILES = {
    "phone_accelerometer": (FOLDER, "Phones_accelerometer.csv"),
    "phone_gyroscope": (FOLDER, "Phones_gyroscope.csv"),
    "watch_accelerometer": (FOLDER, "Watch_accelerometer.csv"),
    "watch_gyroscope": (FOLDER, "Watch_gyroscope.csv"),
    "still": (STILL, "Phones_accelerometer.csv"),
}
RECIPE = (
    "Every row belongs to one of c activities, drawn with equal probability. Accelerometers: the "
    "centre of an activity is a uniformly drawn direction on the sphere times 9.81; 7 rows in 10 "
    "have a standard deviation of 0.3 along each axis, the others of 3. Gyroscopes: rows are "
    "centred at 0 with standard deviations from 0.05 to 3, in geometric steps from one activity to "
    "the next. float32, rounded to thousandths; the seed is derived from the name."
)
BLOCK = 1 << 20
GRAVITY = 9.81


def find(name: str, folders: list[Path]) -> Path | None:
    """Return the file of a table, compressed or not, or None."""
    folder, file = FILES[name]
    paths = (base / folder / f"{file}{end}" for base in folders for end in ("", ".gz"))
    return next((path for path in paths if path.is_file()), None)


def read(path: Path) -> Table:
    """Read x, y, z and the activity; "null" is one of the paper's 7 activities."""
    from pyarrow import csv

    options = csv.ConvertOptions(
        include_columns=["x", "y", "z", "gt"],
        column_types={"x": "float32", "y": "float32", "z": "float32", "gt": "string"},
        strings_can_be_null=False,
    )
    table = csv.read_csv(path, convert_options=options)
    X = np.stack([table[axis].to_numpy() for axis in "xyz"], axis=1)
    activity = table["gt"].combine_chunks().dictionary_encode()
    order = np.argsort(np.argsort(activity.dictionary.to_pylist()))  # activities by name
    return np.ascontiguousarray(X), order[activity.indices.to_numpy()]


def stand_in(name: str, n: int, classes: int) -> Table:
    """Draw a table of n rows by `RECIPE`."""
    seed = list(name.encode())
    rng = np.random.default_rng(seed)
    centres = np.zeros((classes, 3), np.float32)
    if name.endswith("gyroscope"):
        spread = np.geomspace(0.05, 3, classes)[:, None].repeat(2, axis=1)
    else:
        centres[:] = rng.normal(size=(classes, 3))
        centres *= GRAVITY / np.linalg.norm(centres, axis=1, keepdims=True)
        spread = np.full((classes, 2), (0.3, 3.0))
    X, truth = np.empty((n, 3), np.float32), np.empty(n, np.uint8)
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        count = len(truth[rows])
        truth[rows] = activity = rng.integers(classes, size=count, dtype=np.uint8)
        wide = (rng.random(count) >= 0.7).astype(np.intp)
        X[rows] = rng.standard_normal((count, 3), np.float32)
        X[rows] *= spread[activity, wide][:, None]
        X[rows] += centres[activity]
    return np.round(X, 3, out=X), truth
