"""Measure how much the clusters depend on the origin of the grid, and the cost of resolution.

    python -m benchmarks.origin [--photos FOLDER] [--points N]

Each data set is clustered several times, shifted by a random part of a cell each time. If the
origin did not matter, all partitions would be equal: the reported agreement is the mean adjusted
Rand index over all pairs of them. The data are mixtures of normal distributions in two to five
dimensions, and the colours of photographs (three from scikit-image, or every .jpg of a folder), at
several bandwidths. Times are CPU times of a whole fit on one thread, divided by that at
resolution 1 in the same round; the median is reported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.clustering import fit_labels
from benchmarks.common.command_line import command_parser
from benchmarks.common.partition_metrics import compare

RESOLUTIONS = (1, 2, 3, 4)
N_ORIGINS = 8
MAX_PIXELS = 250_000  # of a photograph


class Case(NamedTuple):
    """Points and a bandwidth."""

    kind: str
    X: NDArray[np.float64]
    bandwidth: float


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("origin", __doc__)
    parser.add_argument("--photos", type=Path, help="folder with .jpg files")
    parser.add_argument("--points", type=int, default=20_000, help="points of a mixture (20000)")
    parser.add_argument("--origins", type=int, default=N_ORIGINS, help=f"shifts ({N_ORIGINS})")
    options = parser.parse_args(arguments)
    print(f"{'':24}" + "".join(f"{f'r={r}':>18}" for r in RESOLUTIONS))
    for name, cases in (
        *((f"mixtures, d={d}", mixtures(d, options.points)) for d in (2, 3, 4, 5)),
        ("photographs", photo_colours(options.photos)),
    ):
        results = np.array([measure(case, options.origins) for case in cases])
        agreement, ratio = results[:, 0].mean(axis=0), np.median(results[:, 1], axis=0)
        cells = [f"{a:.3f}, time x{t:.1f}" for a, t in zip(agreement, ratio, strict=True)]
        print(f"{name:16}{len(results):4} cases" + "".join(f"{c:>18}" for c in cells), flush=True)
    return 0


def mixtures(d: int, n: int) -> Iterator[Case]:
    """Yield mixtures of normal distributions of unit variance, some of them overlapping."""
    for seed in range(4):
        rng = np.random.default_rng([d, seed])
        k = (3, 6, 10, 15)[seed]
        centres = rng.uniform(-6, 6, size=(k, d))
        X = centres[rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 5.0)))]
        X = X + rng.normal(size=(n, d))
        for h in (0.6, 0.9, 1.3):
            yield Case("mixture", X, h)


def photo_colours(folder: Path | None) -> Iterator[Case]:
    """Yield the colours of photographs, with values from 0 to 255."""
    for image in photographs(folder):
        pixels = image.reshape(-1, 3)
        pixels = pixels[:: max(1, len(pixels) // MAX_PIXELS)].astype(np.float64)
        for h in (8.0, 16.0, 24.0):
            yield Case("photograph", pixels, h)


def photographs(folder: Path | None) -> Iterator[NDArray[np.uint8]]:
    if folder is None:
        from skimage import data

        yield from (data.astronaut(), data.coffee(), data.chelsea())
        return
    from PIL import Image

    paths = sorted(folder.glob("*.jpg"))
    if not paths:
        raise FileNotFoundError(f"expected .jpg files in {folder}; found none")
    for path in paths:
        with Image.open(path) as image:
            yield np.asarray(image.convert("RGB"))


def measure(case: Case, n_origins: int) -> tuple[list[float], list[float]]:
    """Return, for each resolution, the agreement between origins and the relative time of a fit."""
    rng = np.random.default_rng(0)
    partitions: dict[int, list[NDArray[np.int32]]] = {r: [] for r in RESOLUTIONS}
    times: dict[int, list[float]] = {r: [] for r in RESOLUTIONS}
    for _ in range(n_origins):
        shifted = case.X + rng.uniform(0, case.bandwidth, size=case.X.shape[1])
        for r in RESOLUTIONS:
            start = process_time()
            _, labels = fit_labels(shifted, case.bandwidth, resolution=r, n_threads=1)
            times[r].append(process_time() - start)
            partitions[r].append(labels)
    agreement = [
        float(np.mean([compare(a, b).ari for a, b in combinations(partitions[r], 2)]))
        for r in RESOLUTIONS
    ]
    return agreement, [float(np.median(np.divide(times[r], times[1]))) for r in RESOLUTIONS]


if __name__ == "__main__":
    sys.exit(main())
