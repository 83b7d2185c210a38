"""Write the files of this release that later releases must read, and compute what they contain.

Run as a program, it writes them to `tests/data` with the digests of their results. It is run once
for each release that changes a format; the old files then stay beside the new ones. Run it in the
environment of `make test-lowest`: the oldest NumPy cannot read pickles of the newest.
"""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from tests.laws.recorded import digest, grid_of, mixture, modes_of

import meanshiftpp as ms
import meanshiftpp.stream
from meanshiftpp.core.tree import Tree, treefile
from meanshiftpp.io.checkpoint import Checkpoint
from meanshiftpp.io.sources import Source

DATA = Path(__file__).parents[1] / "data"
POINTS = mixture(600, 2)
NEW_POINTS = mixture(100, 2, seed=9) * 1.3
BANDWIDTH = 1.5
READ = 250  # rows of the interrupted run that left the checkpoint


def open_stored_points(folder: Path) -> Source:
    """Write the points of the checkpoint to a folder, with their time, and open them."""
    path = folder / "points.npy"
    np.save(path, POINTS)
    os.utime(path, ns=(0, 1_700_000_000_000_000_000))
    return ms.stream.open_points(path)


def models() -> dict[str, Any]:
    """Fit the objects that are pickled."""
    grid = ms.Grid.from_points(POINTS, BANDWIDTH, periodic=[30, None])
    weight = np.arange(len(POINTS)) % 5 / 7
    return {
        "grid": grid,
        "weighted grid": ms.Grid.from_points(POINTS, BANDWIDTH, sample_weight=weight),
        "modes": ms.seek(grid),
        "estimator": ms.MeanShiftPP(bandwidth=BANDWIDTH, resolution=2).fit(POINTS),
        "significant estimator": ms.MeanShiftPP().fit(POINTS),
        "density": ms.GridDensity(BANDWIDTH, resolution=0).fit(POINTS),
    }


def results(value: Any) -> str:
    """Return a digest of an object's results."""
    if isinstance(value, ms.Grid):
        return grid_of(value)
    if isinstance(value, ms.Modes):
        return modes_of(value)
    if isinstance(value, Tree):
        return digest(value.labels, value.radii, [split.cluster for split in value.splits])
    if isinstance(value, ms.GridDensity):
        return digest(np.isfinite(value.score_samples(NEW_POINTS)), value.grid_.sums)
    return digest(value.labels_, value.predict(NEW_POINTS), value.cluster_centers_)


def write(folder: Path) -> None:
    """Write the files, and the digests of their results."""
    source = open_stored_points(folder)
    half = Checkpoint(ms.Grid.from_points(POINTS[:READ], BANDWIDTH), READ, READ)
    half.save(folder / "half.checkpoint", source)
    source.paths[0].unlink()
    tree = ms.MeanShiftPP().fit(POINTS).tree_
    (folder / "points.tree").write_bytes(treefile.to_bytes(tree))
    objects = models()
    (folder / "models.pickle").write_bytes(pickle.dumps(objects, protocol=4))
    digests = {name: results(value) for name, value in {**objects, "tree": tree}.items()}
    (folder / "old_files.json").write_text(json.dumps(digests, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    write(DATA)
