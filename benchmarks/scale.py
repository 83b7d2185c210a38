"""Streams: a Parquet file of any size against only iterating over its batches.

    python -m benchmarks.scale                 # 20 million rows of 3 float32
    python -m benchmarks.scale --rows 1e8
    python -m benchmarks.scale --large         # 1e9 rows: 12 GB and 16 GB, removed after

Every run is a process of its own, and the kinds of run take turns, so that what the machine does
meanwhile hits all of them. Memory is the peak of the process above that of an idle interpreter.
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

COLUMNS = ["x", "y", "z"]
BANDWIDTH = 0.5
BATCH = 1 << 20
PREFIX = 5_000_000  # rows whose labels are compared with those of a run in memory
MOST_ROWS_BY_DEFAULTS = 2e8  # by default pyarrow keeps what it has read: in the end the whole file
MOST_TIMES_ITERATING = 1.5
MOST_BYTES = 1.5e9


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
    """Only decode the batches, with the options that do it in least time and memory."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        for _ in file.iter_batches(BATCH, columns=COLUMNS):
            pass


def defaults(path: Path) -> None:
    """Only decode the batches, with pyarrow's own options."""
    import pyarrow.parquet as pq

    for _ in pq.ParquetFile(path).iter_batches(BATCH, columns=COLUMNS):
        pass


def build(path: Path) -> None:
    """Decode and bin."""
    from meanshiftpp.io.streams import build_grid, open_points

    build_grid(open_points(path), BANDWIDTH)


def cluster(path: Path) -> None:
    """Both passes: labels beside the columns, in another Parquet file."""
    from meanshiftpp import seek
    from meanshiftpp.io.streams import build_grid, open_points, write_labels

    source = open_points(path)
    write_labels(_labelled(path), source, seek(build_grid(source, BANDWIDTH)).label)


def prefix(path: Path) -> None:
    """Compare the labels of the first rows with those that the grid of all gives in memory."""
    import pyarrow.parquet as pq

    from meanshiftpp import seek
    from meanshiftpp.core.modes import fit_labels
    from meanshiftpp.io.streams import build_grid, open_points

    def first_rows(file: Path, columns: list[str]) -> np.ndarray:
        parts, rows = [], 0
        for batch in pq.ParquetFile(file).iter_batches(BATCH, columns=columns):
            parts.append(np.column_stack([column.to_numpy() for column in batch.columns]))
            rows += len(parts[-1])
            if rows >= PREFIX:
                break
        return np.concatenate(parts)[:PREFIX]

    points = first_rows(path, COLUMNS)
    labels = first_rows(_labelled(path), ["label"])[:, 0]
    source = open_points(path)
    modes = seek(build_grid(source, BANDWIDTH))
    assert np.array_equal(labels, modes.label(points)), "labels differ from those in memory"
    # And a file of the prefix alone is what a run in memory gives, grid and labels.
    part = path.with_name("prefix.parquet")
    import pyarrow as pa

    pq.write_table(pa.table(dict(zip(COLUMNS, points.T, strict=True))), part)
    kept, expected = fit_labels(points, BANDWIDTH)
    streamed = build_grid(open_points(part), BANDWIDTH)
    assert streamed == kept.grid, "the grid differs from that in memory"
    assert np.array_equal(seek(streamed).label(points), expected), "labels differ"


KINDS: dict[str, Callable[[Path], None]] = {
    "idle": lambda path: None,
    "iterate": iterate,
    "defaults": defaults,
    "build": build,
    "cluster": cluster,
    "prefix": prefix,
}


def child(kind: str, path: Path) -> dict[str, float]:
    """Run one kind in a process of its own; give seconds, CPU seconds and peak bytes."""
    command = [sys.executable, "-m", "benchmarks.scale", "--child", kind, "--file", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def measure(kind: str, path: Path) -> None:
    if kind != "idle":
        for module in ("pyarrow.parquet", "meanshiftpp.core.modes", "meanshiftpp.io.streams"):
            import_module(module)  # before the clock starts: how large the file is matters here
    start, cpu = perf_counter(), process_time()
    KINDS[kind](path)
    seconds, cpu = perf_counter() - start, process_time() - cpu
    # Of this program alone: getrusage would count what the parent held when it started this one.
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    peak = int(found[1]) * 1024 if found else 0
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak": peak}))


def run(path: Path, rows: int, repeats: int) -> int:
    """Take turns, print medians and what became of the goals."""
    idle = child("idle", path)["peak"]
    kinds = ["iterate", "build", "cluster"]
    if rows <= MOST_ROWS_BY_DEFAULTS:
        kinds.insert(1, "defaults")
    runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _ in range(repeats):
        for kind in kinds:
            runs[kind].append(child(kind, path))
    print(f"{rows:,} rows, {path.stat().st_size / 1e9:.2f} GB, {repeats} runs each, medians")
    print(f"{'':10} {'seconds':>9} {'CPU s':>9} {'ns/row':>8} {'to iterate':>11} {'peak MB':>9}")
    ratios = {}
    for kind, done in runs.items():
        seconds, cpu = (median(each[name] for each in done) for name in ("seconds", "cpu"))
        pairs = zip(done, runs["iterate"], strict=True)
        ratios[kind] = median(mine["seconds"] / other["seconds"] for mine, other in pairs)
        peak = max(each["peak"] for each in done) - idle
        print(
            f"{kind:10} {seconds:9.2f} {cpu:9.2f} {seconds / rows * 1e9:8.1f} "
            f"{ratios[kind]:10.2f}x {peak / 1e6:9.0f}"
        )
    child("prefix", path)
    print(f"labels of the first {min(PREFIX, rows):,} rows: as in memory")
    peak = max(each["peak"] for kind in ("build", "cluster") for each in runs[kind]) - idle
    within = f"build within {MOST_TIMES_ITERATING} x iterating"
    goals = {f"{within}, tuned": ratios["build"] <= MOST_TIMES_ITERATING}
    if "defaults" in ratios:
        times = ratios["build"] / ratios["defaults"]
        goals[f"{within}, by pyarrow's defaults"] = times <= MOST_TIMES_ITERATING
    goals[f"peak under {MOST_BYTES / 1e9} GB"] = peak < MOST_BYTES
    for what, good in goals.items():
        print(f"{'met' if good else 'MISSED':7} {what}")
    return 0


def _labelled(path: Path) -> Path:
    return path.with_name("labelled.parquet")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--large", action="store_true", help="1e9 rows, once")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the file is made; by default a new one")
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        measure(given.child, given.file)
        return 0
    rows = int(1e9 if given.large else given.rows)
    with TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "points.parquet"
        make(path, rows)
        return run(path, rows, 1 if given.large else given.repeats)


if __name__ == "__main__":
    sys.exit(main())
