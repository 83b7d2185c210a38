"""Compare the GPU with reading the data once, with a device copy, and with the CPU.

    python -m benchmarks.gpu [--n 1000000000] [--out DIR]

Times are medians of whole calls from array to labels after a warm-up, by CUDA events (by the host
clock for the estimator and the CPU). Grid and labels of every result are compared with the CPU's
with ==, at the timed size.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.clustering import fit_labels
from benchmarks.common.command_line import command_parser
from benchmarks.common.reporting import markdown_table, write_report
from benchmarks.common.synthetic import Data, centres
from benchmarks.common.timing import median_times
from meanshiftpp import Grid, MeanShiftPP, segment

DRAW_ROWS = 50_000_000  # points drawn at a time
WARM_UP = 2
MILLION = 1_000_000
HEADER = ["work", "time", "of X.sum()", "of a copy", "goal", "CPU", "CPU / GPU"]
HEADER += ["equal to the CPU's"]


@dataclass(frozen=True)
class Line:
    """The measurements of one piece of work, in milliseconds."""

    work: str
    time: float
    sum: float  # of X.sum()
    copy: float  # of X.copy()
    goal: str
    met: bool
    cpu: float
    equal: str

    def cells(self) -> list[str]:
        return [
            self.work,
            f"{self.time:.2f} ms",
            f"{self.time / self.sum:.1f}x",
            f"{self.time / self.copy:.1f}x",
            self.goal if self.met else f"{self.goal}: **missed**",
            f"{self.cpu:.0f} ms",
            f"{self.cpu / self.time:.0f}x",
            self.equal,
        ]


def device_time(call: Callable[[], object], rounds: int = 7) -> float:
    """Return the median milliseconds of a call by CUDA events."""
    import cupy as cp

    times = []
    for turn in range(rounds + WARM_UP):
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        call()
        end.record()
        end.synchronize()
        if turn >= WARM_UP:
            times.append(cp.cuda.get_elapsed_time(start, end))
    return statistics.median(times)


def host_time(call: Callable[[], object], rounds: int = 3) -> float:
    """Return the median milliseconds of a call by the host clock."""
    return median_times({"call": call}, rounds, warm_up=1)["call"] * 1e3


def gaussians(data: Data) -> Any:
    """Draw unit Gaussians in a box of side 20, on the device."""
    import cupy as cp

    rng = cp.random.default_rng(0)
    X = cp.empty((data.n, data.d), data.dtype)
    places = cp.asarray(centres(data), dtype=data.dtype)
    for start in range(0, data.n, DRAW_ROWS):
        rows = X[start : start + DRAW_ROWS]
        rng.standard_normal(dtype=data.dtype, out=rows)
        rows += places[rng.integers(0, data.k, len(rows))]
    return X


def measure_points(
    work: str,
    X: Any,
    h: float,
    *,
    max_ms: float | None = None,
    max_sums: float = 0.0,
    rounds: int = 7,
) -> Line:
    """Time fit and labels of points, and compare them with the CPU's.

    The goal is in milliseconds or, without `max_ms`, a multiple of the time of X.sum().
    """
    time = device_time(lambda: fit_labels(X, h), rounds)
    floor, copy = device_time(X.sum), device_time(X.copy)
    modes, labels = fit_labels(X, h)
    host = X.get()
    cpu = host_time(lambda: fit_labels(host, h), 1)
    expected, expected_labels = fit_labels(host, h)
    assert modes.grid.to("cpu") == expected.grid, "the grid differs from the CPU's"
    assert np.array_equal(labels.get(), expected_labels), "the labels differ from the CPU's"
    equal = f"grid of {len(expected.grid):,} cells and {len(host):,} labels"
    goal = f"{max_sums:g}x X.sum()" if max_ms is None else f"{max_ms:g} ms"
    limit = max_sums * floor if max_ms is None else max_ms
    return Line(work, time, floor, copy, goal, time <= limit, cpu, equal)


def measure_binning(work: str, X: Any, h: float, max_ms: float) -> Line:
    """Time the grid of points, and compare it with the CPU's."""
    time = device_time(lambda: Grid.from_points(X, h))
    floor, copy = device_time(X.sum), device_time(X.copy)
    host = X.get()
    cpu = host_time(lambda: Grid.from_points(host, h), 1)
    expected = Grid.from_points(host, h)
    assert Grid.from_points(X, h).to("cpu") == expected, "the grid differs from the CPU's"
    equal = f"grid of {len(expected):,} cells"
    return Line(work, time, floor, copy, f"{max_ms:g} ms", time <= max_ms, cpu, equal)


def measure_many_features() -> list[Line]:
    """Time binning up to ten features, and the search of eight."""
    lines = []
    for d, max_ms in ((6, 5), (8, 9), (10, 16)):
        X = gaussians(Data(10 * MILLION, d))
        lines.append(measure_binning(f"Grid.from_points, 10M x {d} float32, h=1", X, 1.0, max_ms))
        if d == 8:
            work = "fit and labels, 10M x 8 float32, h=1"
            lines.append(measure_points(work, X, 1.0, max_ms=300, rounds=3))
    return lines


def measure_stray_points() -> Line:
    """Time one Gaussian, of which some points are outside the box of a sample."""
    X = gaussians(Data(10 * MILLION, 2, k=1))
    work = "fit and labels, 10M x 2 float32, one Gaussian, h=0.7"
    return measure_points(work, X, 0.7, max_ms=2, rounds=30)


def measure_image() -> Line:
    """Time the colour clusters of an image of 8 megapixels."""
    import cupy as cp

    y, x = np.mgrid[:2450, :3266]
    image = np.stack([(x * 255) // 3265, (y * 255) // 2449, (x * y) % 251], -1).astype(np.uint8)
    device_image = cp.asarray(image)

    def call(pixels: Any) -> Any:
        return segment(pixels, 24.0, space="rgb", regions=False)

    time = device_time(lambda: call(device_image), 20)
    assert np.array_equal(call(device_image).get(), call(image)), "the labels differ from the CPU's"
    floor, copy = device_time(device_image.sum, 20), device_time(device_image.copy, 20)
    cpu = host_time(lambda: call(image))
    work = "segment, 8-bit RGB, 8 megapixels, clusters"
    return Line(work, time, floor, copy, "1 ms", time <= 1, cpu, "all labels")


def measure_estimator(model: MeanShiftPP, max_ms: float, rounds: int = 30) -> Line:
    """Time the whole call of an estimator at a million points by the host clock."""
    import cupy as cp

    X = gaussians(Data(MILLION))

    def call() -> None:
        model.fit_predict(X)
        cp.cuda.Device().synchronize()

    for _ in range(rounds):  # the clocks of an idle GPU rise only after some milliseconds of work
        call()
    time = host_time(call, rounds)
    host = X.get()
    labels = model.labels_.get()
    assert np.array_equal(labels, model.fit_predict(host)), "the labels differ from the CPU's"
    cpu = host_time(lambda: model.fit_predict(host), 10)
    floor, copy = device_time(X.sum, 30), device_time(X.copy, 30)
    work = f"{model}.fit_predict, 1M x 3 float32"
    return Line(work, time, floor, copy, f"{max_ms:g} ms", time <= max_ms, cpu, "all labels")


def measure_kmeans(X: Any) -> dict[str, float]:
    """Time KMeans on a million points with the true number of clusters; cuML's if installed."""
    from sklearn.cluster import KMeans

    host = X[:MILLION].get()
    times = {"scikit-learn KMeans, CPU, 1M": host_time(lambda: KMeans(10, n_init=1).fit(host), 1)}
    try:
        from cuml.cluster import KMeans as DeviceKMeans
    except ImportError:
        return times
    few = X[:MILLION]
    times["cuML KMeans, 1M"] = device_time(lambda: DeviceKMeans(10, n_init=1).fit(few))
    return times


def table(lines: list[Line]) -> str:
    return "\n".join(markdown_table((HEADER, [line.cells() for line in lines])))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("gpu", __doc__)
    parser.add_argument("--n", type=int, default=10**9, help="points of the large array (1e9)")
    parser.add_argument("--out", type=Path, help="folder for gpu.md and gpu.json")
    options = parser.parse_args(arguments)
    import cupy as cp

    lines = [
        measure_estimator(MeanShiftPP(bandwidth=1.0), 0.8),
        measure_estimator(MeanShiftPP(), 60, rounds=10),
        measure_image(),
        measure_stray_points(),
    ]
    lines += measure_many_features()
    work = "fit and labels, 1M x 3 float32, h=1, without the estimator"
    few = gaussians(Data(MILLION))
    lines.append(measure_points(work, few, 1.0, max_ms=1, rounds=30))
    X = gaussians(Data(options.n))
    for h, ms_per_billion in ((1.0, 10), (0.3, 70), (0.1, 150)):
        work = f"fit and labels, {options.n:,} x 3 float32, h={h}"
        lines.append(measure_points(work, X, h, max_ms=ms_per_billion * options.n / 1e9))
        print(table(lines[-1:]), flush=True)
    kmeans = measure_kmeans(X)
    del X
    cp.get_default_memory_pool().free_all_blocks()
    doubles = gaussians(Data(options.n // 10, dtype="float64"))
    work = f"fit and labels, {len(doubles):,} x 3 float64, h=1"
    lines.append(measure_points(work, doubles, 1.0, max_sums=8))
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    others = "\n".join(f"{name}: {time:.1f} ms" for name, time in kmeans.items())
    page = f"{device}\n\n{table(lines)}\n\n{others}\n"
    print(page)
    if options.out:
        facts = {"device": device, "lines": [asdict(line) for line in lines], "others": kmeans}
        write_report(options.out, "gpu", page, facts)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
