"""MeanShift++ on a GPU: against reading the data once, a device copy, and the CPU beside it.

    python -m benchmarks.gpu [--n 1000000000] [--out DIR]

Device times are of whole calls from array in to labels out, by CUDA events (the estimator's and the
CPU's by the host's clock), warm, medians. Every answer is compared with the CPU's, grid and labels,
with ==, at the size it was timed at.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.common.data import Data, centres
from meanshiftpp import MeanShiftPP, segment
from meanshiftpp.core.modes import fit_labels

DRAWN = 50_000_000  # points drawn at a time


@dataclass(frozen=True)
class Line:
    """One measured work, in milliseconds."""

    work: str
    time: float
    sum: float  # of X.sum()
    copy: float  # of X.copy()
    goal: str
    met: bool
    cpu: float | None = None
    equal: str = ""


def on_device(call: Callable[[], object], rounds: int = 7) -> float:
    """Give the median time of a call by events, after two to warm up."""
    import cupy as cp

    taken = []
    for turn in range(rounds + 2):
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        call()
        end.record()
        end.synchronize()
        if turn >= 2:
            taken.append(cp.cuda.get_elapsed_time(start, end))
    return statistics.median(taken)


def on_host(call: Callable[[], object], rounds: int = 3) -> float:
    taken = []
    for turn in range(rounds + 1):
        start = perf_counter()
        call()
        if turn:
            taken.append((perf_counter() - start) * 1e3)
    return statistics.median(taken)


def gaussians(n: int, dtype: str) -> Any:
    """Draw ten unit Gaussians in a box of side 20, on the device."""
    import cupy as cp

    data = Data(n, dtype=dtype)
    rng = cp.random.default_rng(0)
    X = cp.empty((n, 3), dtype)
    places = cp.asarray(centres(data), dtype=dtype)
    for start in range(0, n, DRAWN):
        rows = X[start : start + DRAWN]
        rng.standard_normal(dtype=dtype, out=rows)
        rows += places[rng.integers(0, data.k, len(rows))]
    return X


def points(
    work: str, X: Any, h: float, goal: Callable[[float, float], bool], said: str, rounds: int = 7
) -> Line:
    """Measure fit and labels of points, and hold them against the CPU's."""
    time = on_device(lambda: fit_labels(X, h), rounds)
    floor, copy = on_device(X.sum), on_device(X.copy)
    modes, labels = fit_labels(X, h)
    host = X.get()
    cpu = on_host(lambda: fit_labels(host, h), 1)
    expected, expected_labels = fit_labels(host, h)
    assert modes.grid.to("cpu") == expected.grid, "the grid is not the CPU's"
    assert np.array_equal(labels.get(), expected_labels), "the labels are not the CPU's"
    same = f"grid of {len(expected.grid):,} cells and {len(host):,} labels"
    return Line(work, time, floor, copy, said, goal(time, floor), cpu, same)


def photograph() -> Line:
    import cupy as cp

    y, x = np.mgrid[:2450, :3266]
    image = np.stack([(x * 255) // 3265, (y * 255) // 2449, (x * y) % 251], -1).astype(np.uint8)
    there = cp.asarray(image)

    def call(pixels: Any) -> Any:
        return segment(pixels, 24.0, space="rgb", regions=False)

    time = on_device(lambda: call(there), 20)
    assert np.array_equal(call(there).get(), call(image)), "the labels are not the CPU's"
    floor, copy = on_device(there.sum, 20), on_device(there.copy, 20)
    cpu = on_host(lambda: call(image))
    work = "segment, 8-bit RGB, 8 megapixels, clusters"
    return Line(work, time, floor, copy, "1 ms", time <= 1, cpu, "all labels")


def estimator() -> Line:
    """Time the whole call of the estimator at a million points, host clock."""
    import cupy as cp

    X = gaussians(1_000_000, "float32")
    model = MeanShiftPP(bandwidth=1.0)

    def call() -> None:
        model.fit_predict(X)
        cp.cuda.Device().synchronize()

    call()
    time = on_host(call, 30)
    host = X.get()
    assert np.array_equal(model.labels_.get(), model.fit_predict(host)), "not the CPU's labels"
    cpu = on_host(lambda: model.fit_predict(host), 10)
    floor, copy = on_device(X.sum, 30), on_device(X.copy, 30)
    work = "MeanShiftPP.fit_predict, 1M x 3 float32"
    return Line(work, time, floor, copy, "1 ms", time <= 1, cpu, "all labels")


def kmeans(X: Any) -> dict[str, float]:
    """Time KMeans on a million points, told the number of clusters, where it is installed."""
    found = {}
    host = X[:1_000_000].get()
    from sklearn.cluster import KMeans

    found["scikit-learn KMeans, CPU, 1M"] = on_host(lambda: KMeans(10, n_init=1).fit(host), 1)
    try:
        from cuml.cluster import KMeans as DeviceKMeans
    except ImportError:
        return found
    found["cuML KMeans, 1M"] = on_device(lambda: DeviceKMeans(10, n_init=1).fit(X[:1_000_000]))
    return found


def table(lines: list[Line]) -> str:
    rows = [
        "| work | time | of X.sum() | of a copy | goal | CPU | CPU / GPU | equal to the CPU's |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        met = "" if line.met else ": **missed**"
        rows.append(
            f"| {line.work} | {line.time:.2f} ms | {line.time / line.sum:.1f}x | "
            f"{line.time / line.copy:.1f}x | {line.goal}{met} | {line.cpu:.0f} ms | "
            f"{line.cpu / line.time:.0f}x | {line.equal} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1_000_000_000, help="points of the large array")
    parser.add_argument("--out", type=Path, help="folder for gpu.md and gpu.json")
    asked = parser.parse_args()
    import cupy as cp

    lines = [estimator(), photograph()]
    work = "fit and labels, 1M x 3 float32, h=1, without the estimator"
    few = gaussians(1_000_000, "float32")
    lines.append(points(work, few, 1.0, lambda t, _: t <= 1, "1 ms", rounds=30))
    X = gaussians(asked.n, "float32")
    share = asked.n / 1e9
    for h, limit in ((1.0, 15), (0.3, 70), (0.1, 150)):
        work = f"fit and labels, {asked.n:,} x 3 float32, h={h}"
        said = f"{limit * share:g} ms"
        lines.append(points(work, X, h, lambda t, _, m=limit * share: t <= m, said))
        print(table(lines[-1:]), flush=True)
    others = kmeans(X)
    del X
    cp.get_default_memory_pool().free_all_blocks()
    doubles = gaussians(asked.n // 10, "float64")
    work = f"fit and labels, {len(doubles):,} x 3 float64, h=1"
    lines.append(points(work, doubles, 1.0, lambda t, floor: t <= 8 * floor, "8x X.sum()"))
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    report = f"{name}\n\n{table(lines)}\n\n" + "\n".join(
        f"{who}: {time:.1f} ms" for who, time in others.items()
    )
    print(report)
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "gpu.md").write_text(report + "\n", "utf-8")
        facts = {"device": name, "lines": [asdict(line) for line in lines], "others": others}
        (asked.out / "gpu.json").write_text(json.dumps(facts, indent=1), "utf-8")


if __name__ == "__main__":
    main()
