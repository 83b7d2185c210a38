"""Compare clustering a Parquet file of any size with only reading its batches.

    python -m benchmarks.scale                 # 20 million rows of 3 float32
    python -m benchmarks.scale --rows 1e8
    python -m benchmarks.scale --large         # 1e9 rows: 12 GB and 16 GB, removed afterwards

Every run is a separate process, and the kinds of run take turns, so that background load affects
all of them alike. Memory is the peak of the process minus that of an idle interpreter.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

from benchmarks.common.command_line import command_parser

COLUMNS = ["x", "y", "z"]
BANDWIDTH = 0.5
BATCH = 1 << 20
PREFIX = 5_000_000  # rows whose labels are compared with those of a run in memory
MAX_ROWS_WITH_DEFAULTS = 2e8  # pyarrow's defaults keep all data read: eventually the whole file
MAX_RATIO = 1.5  # goal: building the grid, relative to iterating
MAX_PEAK = 1.5e9  # goal: bytes


def make(path: Path, rows: int) -> None:
    """Write rows of a mixture of five Gaussians, a row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    schema = pa.schema([(name, pa.float32()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for start in range(0, rows, BATCH):
            n = min(BATCH, rows - start)
            points = rng.standard_normal((3, n), np.float32)
            points += rng.integers(0, 5, n).astype(np.float32) * 4
            writer.write_batch(pa.record_batch(list(points), schema=schema))


def iterate(path: Path) -> None:
    """Only decode the batches, with the options that need the least time and memory."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        for _ in file.iter_batches(BATCH, columns=COLUMNS):
            pass


def iterate_with_defaults(path: Path) -> None:
    """Only decode the batches, with pyarrow's default options."""
    import pyarrow.parquet as pq

    for _ in pq.ParquetFile(path).iter_batches(BATCH, columns=COLUMNS):
        pass


def build(path: Path) -> None:
    """Decode the batches and build the grid."""
    from meanshiftpp.io.streams import build_grid, open_points

    build_grid(open_points(path), BANDWIDTH)


def cluster(path: Path) -> None:
    """Run both passes, and write the columns and the labels to another Parquet file."""
    from meanshiftpp import seek
    from meanshiftpp.io.streams import build_grid, open_points, write_labels

    source = open_points(path)
    write_labels(labelled_path(path), source, seek(build_grid(source, BANDWIDTH)).label)


def prefix(path: Path) -> None:
    """Check grid and labels of the first rows against a run in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from meanshiftpp import MeanShiftPP, seek
    from meanshiftpp.io.streams import build_grid, open_points

    points = read_prefix(path, COLUMNS)
    labels = read_prefix(labelled_path(path), ["label"])[:, 0]
    modes = seek(build_grid(open_points(path), BANDWIDTH))
    assert np.array_equal(labels, modes.label(points)), "labels differ from those in memory"
    prefix_file = path.with_name("prefix.parquet")
    pq.write_table(pa.table(dict(zip(COLUMNS, points.T, strict=True))), prefix_file)
    in_memory = MeanShiftPP(BANDWIDTH).fit(points)
    streamed = build_grid(open_points(prefix_file), BANDWIDTH)
    assert streamed == in_memory.grid_, "the grid differs from that in memory"
    assert np.array_equal(seek(streamed).label(points), in_memory.labels_), "labels differ"


def read_prefix(path: Path, columns: list[str]) -> np.ndarray:
    """Read the first rows of a file."""
    import pyarrow.parquet as pq

    parts, rows = [], 0
    for batch in pq.ParquetFile(path).iter_batches(BATCH, columns=columns):
        parts.append(np.column_stack([column.to_numpy() for column in batch.columns]))
        rows += len(parts[-1])
        if rows >= PREFIX:
            break
    return np.concatenate(parts)[:PREFIX]


def labelled_path(path: Path) -> Path:
    return path.with_name("labelled.parquet")


KINDS: dict[str, Callable[[Path], None]] = {
    "idle": lambda path: None,
    "iterate": iterate,
    "defaults": iterate_with_defaults,
    "build": build,
    "cluster": cluster,
    "prefix": prefix,
}
Run = dict[str, float]  # seconds, CPU seconds and peak bytes


def run_child(kind: str, path: Path) -> Run:
    """Run one kind in a separate process and return its measurements."""
    command = [sys.executable, "-m", "benchmarks.scale", "--child", kind, "--file", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: Run = json.loads(done.stdout)
    return answer


def measure(kind: str, path: Path) -> None:
    """Run one kind in this process and print its measurements as JSON."""
    if kind != "idle":
        for module in ("pyarrow.parquet", "meanshiftpp.core", "meanshiftpp.io.streams"):
            import_module(module)  # imports are not timed: they do not grow with the file
    start, cpu = perf_counter(), process_time()
    KINDS[kind](path)
    seconds, cpu = perf_counter() - start, process_time() - cpu
    # VmHWM is the peak of this program; getrusage includes the parent's memory at the fork.
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    peak = int(found[1]) * 1024 if found else 0
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak}))


def compare(path: Path, rows: int, repeats: int) -> None:
    """Run all kinds in turns; print medians and goals."""
    idle_peak = run_child("idle", path)["peak"]
    kinds = ["iterate", "build", "cluster"]
    if rows <= MAX_ROWS_WITH_DEFAULTS:
        kinds.insert(1, "defaults")
    runs: dict[str, list[Run]] = {kind: [] for kind in kinds}
    for _ in range(repeats):
        for kind in kinds:
            runs[kind].append(run_child(kind, path))
    print(f"{rows:,} rows, {path.stat().st_size / 1e9:.2f} GB, {repeats} runs each, medians")
    ratios, peaks = print_runs(runs, rows, idle_peak)
    run_child("prefix", path)
    print(f"labels of the first {min(PREFIX, rows):,} rows: as in memory")
    print_goals(ratios, max(peaks["build"], peaks["cluster"]))


def print_runs(
    runs: dict[str, list[Run]], rows: int, idle_peak: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Print a line for each kind; return times relative to iterating, and peaks in bytes."""
    print(f"{'':10} {'seconds':>9} {'CPU s':>9} {'ns/row':>8} {'to iterate':>11} {'peak MB':>9}")
    ratios, peaks = {}, {}
    for kind, done in runs.items():
        seconds, cpu = (median(each[name] for each in done) for name in ("seconds", "cpu"))
        pairs = zip(done, runs["iterate"], strict=True)
        ratios[kind] = median(run["seconds"] / base["seconds"] for run, base in pairs)
        peaks[kind] = max(each["peak"] for each in done) - idle_peak
        print(
            f"{kind:10} {seconds:9.2f} {cpu:9.2f} {seconds / rows * 1e9:8.1f} "
            f"{ratios[kind]:10.2f}x {peaks[kind] / 1e6:9.0f}"
        )
    return ratios, peaks


def print_goals(ratios: dict[str, float], peak: float) -> None:
    goal = f"build within {MAX_RATIO} x iterating"
    goals = {f"{goal}, tuned": ratios["build"] <= MAX_RATIO}
    if "defaults" in ratios:
        to_defaults = ratios["build"] / ratios["defaults"]
        goals[f"{goal} with pyarrow's defaults"] = to_defaults <= MAX_RATIO
    goals[f"peak under {MAX_PEAK / 1e9} GB"] = peak < MAX_PEAK
    for name, met in goals.items():
        print(f"{'met' if met else 'MISSED':7} {name}")


def main() -> int:
    parser = command_parser("scale", __doc__)
    parser.add_argument("--rows", type=float, default=2e7, help="rows of the file (2e7)")
    parser.add_argument("--large", action="store_true", help="1e9 rows, one run")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each kind (3)")
    parser.add_argument("--folder", type=Path, help="parent of the temporary folder for the file")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure(options.child, options.file)
        return 0
    rows = int(1e9 if options.large else options.rows)
    with TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "points.parquet"
        make(path, rows)
        compare(path, rows, 1 if options.large else options.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
