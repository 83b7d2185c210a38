"""Compute digests of a fixed set of results, through the public names only.

Run as a program, it prints the digests; `tests/data/results.json` has those of the release.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

import numpy as np

import meanshiftpp as ms


def digest(*arrays: object) -> str:
    """Return a hash of the type, shape and bytes of each array."""
    total = hashlib.sha256()
    for values in arrays:
        array = np.ascontiguousarray(values)
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()[:32]


def mixture(n: int, d: int, k: int = 6, seed: int = 0) -> np.ndarray:
    """Draw points around k centers; sums of uniform numbers do not depend on the C library."""
    rng = np.random.default_rng([n, d, seed])
    centers = rng.integers(-40, 40, size=(k, d))
    noise = rng.random((n, d, 6)).sum(axis=2) - 3
    return centers[rng.integers(k, size=n)] + noise


def picture(seed: int = 0) -> np.ndarray:
    """Draw three flat shapes with noise, as RGB bytes."""
    values = np.full((120, 160, 3), (190.0, 200.0, 180.0))
    values[72:] = 70, 60, 50
    values[30:90, 24:72] = 180, 40, 30
    values[20:60, 100:150] = 40, 90, 160
    values += 12 * (np.random.default_rng(seed).random(values.shape) - 0.5)
    return values.clip(0, 255).round().astype(np.uint8)


def frame(t: int) -> np.ndarray:
    """Draw a striped square that moves over a noisy background."""
    values = 90 + 40 * np.random.default_rng(1).random((120, 160, 3))
    x, y = 20 + 4 * t, 30 + 2 * t
    values[y : y + 24, x : x + 30] = 200, 40, 40
    values[y + 8 : y + 14, x : x + 30] = 230, 220, 60
    return values.round().astype(np.uint8)


def grid_of(grid: ms.Grid) -> str:
    return digest(grid.bandwidth, grid.cells, grid.counts, grid.sums, grid.unit)


def modes_of(modes: ms.Modes) -> str:
    return digest(modes.cells, modes.fractions, modes.weights, modes.cell_labels, modes.n_iter)


def grids() -> Iterator[tuple[str, str]]:
    for d in (1, 2, 3, 4, 5, 7):
        X = mixture(4000, d)
        for h in (0.7, 3.0, 11.0):
            yield f"grid d={d} h={h}", grid_of(ms.Grid.from_points(X, h))
    X = mixture(4000, 3)
    fine = ms.Grid.from_points(X, 0.5)
    yield "grid coarsen", grid_of(fine.coarsen(3))
    yield "grid float32", grid_of(ms.Grid.from_points(X.astype(np.float32), 1.1))
    yield "grid int16", grid_of(ms.Grid.from_points(np.rint(X).astype(np.int16), 2.3))
    yield "grid periodic", grid_of(ms.Grid.from_points(X, 2.0, periodic=[30, None, 17.5]))
    w = np.arange(len(X)) % 5
    yield "grid whole weights", grid_of(ms.Grid.from_points(X, 1.0, sample_weight=w))
    yield "grid real weights", grid_of(ms.Grid.from_points(X, 1.0, sample_weight=w / 7))


def searches() -> Iterator[tuple[str, str]]:
    for d in (1, 2, 3, 4, 5, 7):
        X = mixture(4000, d)
        for h in (0.7, 3.0):
            grid = ms.Grid.from_points(X, h)
            yield f"modes d={d} h={h}", modes_of(ms.seek(grid))
    fine = ms.Grid.from_points(mixture(4000, 3), 0.8)
    for r in (2, 4):
        yield f"modes resolution={r}", modes_of(ms.seek(fine, resolution=r))
    periodic = ms.Grid.from_points(mixture(4000, 2), 2.0, periodic=[30, 25])
    yield "modes periodic", modes_of(ms.seek(periodic))


def estimates() -> Iterator[tuple[str, str]]:
    X = mixture(6000, 2)
    new = mixture(500, 2, seed=9) * 1.3
    for name, options in {
        "plain": {"bandwidth": 1.0},
        "resolution": {"bandwidth": 1.0, "resolution": 4},
        "periodic": {"bandwidth": 1.0, "periodic": [50, None]},
        "noise": {"bandwidth": 0.5, "min_cluster_size": 20},
        "far": {"bandwidth": 0.5, "cluster_all": False},
        "significant": {},
    }.items():
        model = ms.MeanShiftPP(**options).fit(X)
        yield f"estimator {name}", digest(model.labels_, model.predict(new), model.cluster_centers_)
    density = ms.GridDensity(1.0, resolution=2).fit(X)
    yield "density", digest(np.isfinite(density.score_samples(new)), density.grid_.sums)
    swept = ms.sweep(X, np.linspace(0.5, 4, 12))
    yield "sweep", digest(swept.bandwidths, swept.n_clusters, swept.labels(swept.best, new))
    for method in ("auto", "stability", "lscv", "rule"):
        chosen = ms.select_bandwidth(X, method=method)
        yield f"bandwidth {method}", digest(chosen.astype(np.float32))


def images() -> Iterator[tuple[str, str]]:
    image = picture()
    yield "segment", digest(ms.segment(image))
    yield "segment detail", digest(ms.segment(image, detail=3.0, min_size=30))
    mask = np.ones(image.shape[:2], bool)
    mask[:20] = False
    yield "segment mask", digest(ms.segment(image, mask=mask))
    for space in ("rgb", "lab", "luv", "hsv", None):
        yield f"clusters {space}", digest(ms.segment(image, 10.0, regions=False, space=space))
    yield "clusters spatial", digest(ms.segment(image, 10.0, regions=False, spatial=25.0))
    yield "segment grey", digest(ms.segment(image[..., 0]))
    volume = np.stack([image[..., 0]] * 4)
    yield "segment volume", digest(ms.segment(volume, channel_axis=None))
    yield "quantize", digest(ms.quantize(image, 20.0))
    yield "palette", digest(np.asarray(ms.palette(image, 20.0).colors))


def films() -> Iterator[tuple[str, str]]:
    for adapt in ("robust", "paper", None):
        tracker = ms.Tracker(adapt=adapt)
        tracker.init(frame(0), (20, 30, 30, 24))
        windows = [tracker.update(frame(t)) for t in range(1, 25)]
        yield f"tracker {adapt}", digest([(ok, *window) for ok, window in windows])
    for regions in (True, False):
        segmenter = ms.video.VideoSegmenter(regions=regions)
        labels = [segmenter.update(frame(t)) for t in range(6)]
        yield f"video regions={regions}", digest(*labels)


PARTS: tuple[Callable[[], Iterator[tuple[str, str]]], ...] = (
    grids,
    searches,
    estimates,
    images,
    films,
)

if __name__ == "__main__":
    print(json.dumps({name: value for part in PARTS for name, value in part()}, indent=1))
