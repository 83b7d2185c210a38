"""The large tables: accelerometers and gyroscopes of phones and watches (UCI 344, HHAR).

The files are as UCI has them, in folders `Activity recognition exp` and `Still exp`: columns x, y,
z and gt, the activity, among others. Where they are missing there is a stand-in of the same size.
It is drawn by the recipe below and shares nothing but its size with the paper's data: it is good
for times and for nothing else.
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
    "Every row belongs to one of c activities, drawn with equal probability. Accelerometers: each "
    "activity has a direction on the sphere, drawn uniformly, times 9.81; 7 rows in 10 lie around "
    "it with a standard deviation of 0.3 along each axis, the others with 3. Gyroscopes: rows lie "
    "around 0 with standard deviations from 0.05 to 3, in geometric steps from one activity to the "
    "next. float32, rounded to thousandths; the seed is the name's."
)
BLOCK = 1 << 20
GRAVITY = 9.81


def find(name: str, folders: list[Path]) -> Path | None:
    """Find the file of a table, packed or not."""
    folder, file = FILES[name]
    places = (base / folder / f"{file}{end}" for base in folders for end in ("", ".gz"))
    return next((place for place in places if place.is_file()), None)


def read(path: Path) -> Table:
    """Read x, y, z and the activity, where "null" is one as well: it is one of the paper's 7."""
    from pyarrow import csv

    wanted = csv.ConvertOptions(
        include_columns=["x", "y", "z", "gt"],
        column_types={"x": "float32", "y": "float32", "z": "float32", "gt": "string"},
        strings_can_be_null=False,
    )
    table = csv.read_csv(path, convert_options=wanted)
    X = np.stack([table[axis].to_numpy() for axis in "xyz"], axis=1)
    activity = table["gt"].combine_chunks().dictionary_encode()
    order = np.argsort(np.argsort(activity.dictionary.to_pylist()))  # numbered by name
    return np.ascontiguousarray(X), order[activity.indices.to_numpy()]


def stand_in(name: str, n: int, classes: int) -> Table:
    """Draw a table of this size by the recipe."""
    seed = list(name.encode())
    rng = np.random.default_rng(seed)
    middle = np.zeros((classes, 3), np.float32)
    if name.endswith("gyroscope"):
        spread = np.geomspace(0.05, 3, classes)[:, None].repeat(2, axis=1)
    else:
        middle[:] = rng.normal(size=(classes, 3))
        middle *= GRAVITY / np.linalg.norm(middle, axis=1, keepdims=True)
        spread = np.full((classes, 2), (0.3, 3.0))
    X, truth = np.empty((n, 3), np.float32), np.empty(n, np.uint8)
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        many = len(truth[rows])
        truth[rows] = activity = rng.integers(classes, size=many, dtype=np.uint8)
        lively = (rng.random(many) >= 0.7).astype(np.intp)
        X[rows] = rng.standard_normal((many, 3), np.float32)
        X[rows] *= spread[activity, lively][:, None]
        X[rows] += middle[activity]
    return np.round(X, 3, out=X), truth
