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
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.common.command_line import command_parser

if TYPE_CHECKING:
    from meanshiftpp import Modes

COLUMNS = ["x", "y", "z"]
BANDWIDTH = 0.5
BATCH = 1 << 20
PREFIX = 5_000_000  # rows whose labels are compared with those of a run in memory
MAX_ROWS_WITH_DEFAULTS = 2e8  # pyarrow's defaults keep all data read: eventually the whole file
MAX_BUILD = 1.5  # goal: CPU time of building the grid, relative to iterating and binning in memory
MAX_LABEL = 1.3  # goal: CPU time of the second pass, relative to the same with pyarrow alone
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


def bin_in_memory(path: Path) -> Callable[[], object]:
    """Return the binning of all points, which are in memory."""
    from meanshiftpp import Grid

    points = read_prefix(path, COLUMNS, rows=None)
    return lambda: Grid.from_points(points, BANDWIDTH)


def label(path: Path) -> Callable[[], object]:
    """Return the second pass."""
    from meanshiftpp.stream import open_points, write_labels

    modes = find_modes(path)
    return lambda: write_labels(labelled_path(path), open_points(path), modes.label)


def label_alone(path: Path) -> Callable[[], object]:
    """Return the same work with pyarrow alone: read, label, write."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    modes = find_modes(path)

    def work() -> None:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
            schema = file.schema_arrow.append(pa.field("label", pa.int32()))
            options = {"use_dictionary": ["label"]}
            with pq.ParquetWriter(labelled_path(path), schema, **options) as writer:
                for batch in file.iter_batches(BATCH):
                    points = np.stack([np.from_dlpack(column) for column in batch.columns])
                    labels = pa.array(modes.label(points.T))
                    writer.write_batch(pa.record_batch([*batch.columns, labels], schema=schema))

    return work


def find_modes(path: Path) -> Modes:
    from meanshiftpp import seek
    from meanshiftpp.stream import build_grid, open_points

    return seek(build_grid(open_points(path), BANDWIDTH))


def build(path: Path) -> None:
    """Decode the batches and build the grid."""
    from meanshiftpp.stream import build_grid, open_points

    build_grid(open_points(path), BANDWIDTH)


def cluster(path: Path) -> None:
    """Run both passes, and write the columns and the labels to another Parquet file."""
    from meanshiftpp.stream import open_points, write_labels

    write_labels(labelled_path(path), open_points(path), find_modes(path).label)


def prefix(path: Path) -> None:
    """Check grid and labels of the first rows against a run in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from meanshiftpp import MeanShiftPP, seek
    from meanshiftpp.stream import build_grid, open_points

    points = read_prefix(path, COLUMNS)
    labels = read_prefix(labelled_path(path), ["label"])[:, 0]
    modes = find_modes(path)
    assert np.array_equal(labels, modes.label(points)), "labels differ from those in memory"
    prefix_file = path.with_name("prefix.parquet")
    pq.write_table(pa.table(dict(zip(COLUMNS, points.T, strict=True))), prefix_file)
    in_memory = MeanShiftPP(BANDWIDTH).fit(points)
    streamed = build_grid(open_points(prefix_file), BANDWIDTH)
    assert streamed == in_memory.grid_, "the grid differs from that in memory"
    assert np.array_equal(seek(streamed).label(points), in_memory.labels_), "labels differ"


def read_prefix(path: Path, columns: list[str], rows: int | None = PREFIX) -> np.ndarray:
    """Read the first rows of a file, or all."""
    import pyarrow.parquet as pq

    parts, n = [], 0
    for batch in pq.ParquetFile(path).iter_batches(BATCH, columns=columns):
        parts.append(np.stack([np.from_dlpack(column) for column in batch.columns]))
        n += len(batch)
        if rows is not None and n >= rows:
            break
    return np.concatenate(parts, axis=1)[:, :rows].T


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
PREPARED: dict[str, Callable[[Path], Callable[[], object]]] = {  # the result is timed
    "memory": bin_in_memory,
    "label": label,
    "alone": label_alone,
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
    work = PREPARED[kind](path) if kind in PREPARED else partial(KINDS[kind], path)
    start, cpu = perf_counter(), process_time()
    work()
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
        kinds = ["iterate", "defaults", "memory", "build", "cluster", "label", "alone"]
    runs: dict[str, list[Run]] = {kind: [] for kind in kinds}
    for _ in range(repeats):
        for kind in kinds:
            runs[kind].append(run_child(kind, path))
    print(f"{rows:,} rows, {path.stat().st_size / 1e9:.2f} GB, {repeats} runs each, medians")
    peaks = print_runs(runs, rows, idle_peak)
    run_child("prefix", path)
    print(f"labels of the first {min(PREFIX, rows):,} rows: as in memory")
    print_goals(runs, max(peaks["build"], peaks["cluster"]))


def print_runs(runs: dict[str, list[Run]], rows: int, idle_peak: float) -> dict[str, float]:
    """Print a line for each kind; return the peaks in bytes."""
    print(f"{'':10} {'seconds':>9} {'CPU s':>9} {'ns/row':>8} {'to iterate':>11} {'peak MB':>9}")
    peaks = {}
    for kind, done in runs.items():
        seconds, cpu = (median(each[name] for each in done) for name in ("seconds", "cpu"))
        pairs = zip(done, runs["iterate"], strict=True)
        ratio = median(run["seconds"] / base["seconds"] for run, base in pairs)
        peaks[kind] = max(each["peak"] for each in done) - idle_peak
        print(
            f"{kind:10} {seconds:9.2f} {cpu:9.2f} {seconds / rows * 1e9:8.1f} "
            f"{ratio:10.2f}x {peaks[kind] / 1e6:9.0f}"
        )
    return peaks


def print_goals(runs: dict[str, list[Run]], peak: float) -> None:
    """Print the goals; CPU times are relative to those of the same round."""
    if "memory" in runs:
        alone = [a["cpu"] + b["cpu"] for a, b in zip(runs["iterate"], runs["memory"], strict=True)]
        print_ratio("build", "iterate + memory", runs["build"], alone, MAX_BUILD)
        print_ratio("label", "alone", runs["label"], [a["cpu"] for a in runs["alone"]], MAX_LABEL)
    print(f"{'met' if peak < MAX_PEAK else 'MISSED':7} peak under {MAX_PEAK / 1e9} GB")


def print_ratio(kind: str, base: str, runs: list[Run], alone: list[float], limit: float) -> None:
    ratio = median(run["cpu"] / cpu for run, cpu in zip(runs, alone, strict=True))
    verdict = "met" if ratio <= limit else "MISSED"
    print(f"{verdict:7} CPU time of {kind} within {limit} x {base}: {ratio:.2f}")


def main() -> int:
    parser = command_parser("scale", __doc__)
    parser.add_argument("--rows", type=float, default=2e7, help="rows of the file (2e7)")
    parser.add_argument("--large", action="store_true", help="1e9 rows, one run")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each kind (3)")
    parser.add_argument("--folder", type=Path, help="parent of the temporary folder for the file")
    parser.add_argument("--child", choices=[*KINDS, *PREPARED], help=argparse.SUPPRESS)
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
