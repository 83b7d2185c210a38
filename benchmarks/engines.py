"""Engines: one process, Dask and Spark on the same cores and the same Parquet files.

    python -m benchmarks.engines                    # 20 million rows of 3 float32
    python -m benchmarks.engines --rows 1e8 --spark
    python -m benchmarks.engines --keep-memory      # Dask's workers keep what they freed

Each engine has as many threads as the one process: Dask two workers of one thread each (a real
cluster of processes), Spark two tasks at a time. They are started and warmed up before; the rounds
take turns. `fit` reads, bins and searches; `labels` reads again, labels, and counts those of the
heaviest cluster. Every grid must be that of the one process, bit for bit, and so must every count.
`memory` is `fit` on blocks that are in the workers' memory already, against one array in memory:
there nothing hides what the engine itself costs. CPU seconds are those of all processes of an
engine: they say how much more is done, also where a busy machine makes the clock unreliable.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.common import machine
from benchmarks.speed.checks import WrongAnswerError
from meanshiftpp import Grid, Modes, seek
from meanshiftpp.io.streams import build_grid, open_points

COLUMNS = ["x", "y", "z"]
BANDWIDTH = 0.5
THREADS = 2
FILE_ROWS = 1 << 22
TRIM = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
MOST_TIMES_ONE = 1.3  # the goal for Dask

Step = Callable[[], Any]
Cost = tuple[float, float]  # seconds, and CPU seconds
Engine = dict[str, Step]  # what it can do: fit gives a grid, labels a count, memory a grid


def draw(number: int, rows: int) -> np.ndarray:
    """Rows of a mixture of five Gaussians, the same wherever they are drawn."""
    rng = np.random.default_rng(number)
    points = rng.standard_normal((rows, 3), np.float32)
    points += rng.integers(0, 5, (rows, 1)).astype(np.float32) * 4
    return points


def sizes(rows: int) -> list[int]:
    return [min(FILE_ROWS, rows - start) for start in range(0, rows, FILE_ROWS)]


def make(folder: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, n in enumerate(sizes(rows)):
        table = pa.table(list(draw(number, n).T), names=COLUMNS)
        pq.write_table(table, folder / f"{number:05}.parquet", row_group_size=1 << 20)


def one_process(folder: Path, rows: int) -> Engine:
    found: dict[str, Modes] = {}
    whole = np.concatenate([draw(number, n) for number, n in enumerate(sizes(rows))])

    def fit() -> Grid:
        grid = build_grid(open_points(folder), BANDWIDTH, n_threads=THREADS)
        found["modes"] = seek(grid, n_threads=THREADS)
        return grid

    def labels() -> int:
        label = found["modes"].label
        parts = (label(chunk.points, n_threads=THREADS) for chunk in open_points(folder))
        return sum(int(np.count_nonzero(part == 0)) for part in parts)

    def memory() -> Grid:
        grid = Grid.from_points(whole, BANDWIDTH, n_threads=THREADS)
        seek(grid, n_threads=THREADS)
        return grid

    return {"fit": fit, "labels": labels, "memory": memory}


@contextmanager
def with_dask(folder: Path, rows: int, keep_memory: bool) -> Iterator[Engine]:
    import dask
    import dask.array as da
    import dask.dataframe as dd
    from distributed import Client, LocalCluster, wait

    from meanshiftpp.engines.dask import MeanShiftPP

    model = MeanShiftPP(bandwidth=BANDWIDTH)

    def block(block_id: tuple[int, int], block_info: Any = None) -> np.ndarray:
        return draw(block_id[0], block_info[None]["chunk-shape"][0])

    def fit() -> Grid:
        return model.fit(dd.read_parquet(folder)).grid_

    def labels() -> int:
        return int((model.labels_ == 0).sum().compute())

    keep = {TRIM: 1 << 30} if keep_memory else {}
    with (
        dask.config.set(keep),
        LocalCluster(
            n_workers=THREADS, threads_per_worker=1, dashboard_address=":0", memory_limit=None
        ) as cluster,
        Client(cluster),
    ):
        held = da.map_blocks(block, chunks=(tuple(sizes(rows)), (3,)), dtype=np.float32).persist()
        wait(held)
        yield {
            "fit": fit,
            "labels": labels,
            "memory": lambda: MeanShiftPP(bandwidth=BANDWIDTH).fit(held).grid_,
        }


@contextmanager
def with_spark(folder: Path, rows: int) -> Iterator[Engine]:
    from pyspark.sql import SparkSession

    from meanshiftpp import spark

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    session = SparkSession.builder.master(f"local[{THREADS}]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    df = session.read.parquet(str(folder))
    found: dict[str, Any] = {}

    def fit() -> Grid:
        found["model"] = spark.fit(df, COLUMNS, BANDWIDTH)
        return found["model"].grid

    def labels() -> int:
        return int(found["model"].transform(df).where("label = 0").count())

    yield {"fit": fit, "labels": labels}
    session.stop()


def cpu_seconds() -> float:
    """CPU time of this process and all that it started."""
    import psutil

    here = psutil.Process()
    times = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def timed(step: Step) -> tuple[Cost, Any]:
    start, cpu = perf_counter(), cpu_seconds()
    result = step()
    return (perf_counter() - start, cpu_seconds() - cpu), result


def race(engines: dict[str, Engine], rounds: int) -> dict[str, dict[str, list[Cost]]]:
    """Let the engines take turns, `rounds` and one to warm up; compare every answer."""
    costs: dict[str, dict[str, list[Cost]]] = {name: {} for name in engines}
    for turn in range(rounds + 1):
        expected: dict[str, Any] = {}
        for name, engine in engines.items():
            for step, work in engine.items():
                cost, answer = timed(work)
                if expected.setdefault(step, answer) != answer:
                    raise WrongAnswerError(f"{step}: {name} does not give what one process gives")
                if turn:
                    costs[name].setdefault(step, []).append(cost)
    return costs


def ratios(mine: list[Cost], others: list[Cost]) -> tuple[float, float]:
    """Medians over the rounds of how much longer, and how much more work."""
    pairs = list(zip(mine, others, strict=True))
    wall, cpu = (median(m[k] / o[k] for m, o in pairs) for k in (0, 1))
    return wall, cpu


def report(costs: dict[str, dict[str, list[Cost]]], rows: int) -> None:
    one = costs["one process"]
    print(f"\n{'':8}{'':12} {'seconds':>9} {'M rows/s':>9} {'CPU s':>8} {'time':>7} {'work':>7}")
    for step in one:
        for name, steps in costs.items():
            if step in steps:
                wall, cpu = (median(cost[k] for cost in steps[step]) for k in (0, 1))
                longer, more = ratios(steps[step], one[step])
                print(
                    f"{step:8}{name:12} {wall:9.2f} {rows / wall / 1e6:9.0f} {cpu:8.2f} "
                    f"{longer:6.2f}x {more:6.2f}x"
                )
    ratio, _ = ratios(costs["Dask"]["fit"], one["fit"])
    word = "met" if ratio <= MOST_TIMES_ONE else "MISSED"
    print(f"\n{word}: Dask within {MOST_TIMES_ONE} times one process: {ratio:.2f} (fit)")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep-memory", action="store_true", help="see docs/scale.md")
    parser.add_argument("--spark", action="store_true", help="Spark too: needs Java")
    parser.add_argument(
        "--folder", type=Path, help="where the files are made; by default a new one"
    )
    given = parser.parse_args()
    rows = int(given.rows)
    print(*(f"{key}: {value}" for key, value in machine.describe().items()), sep="\n")
    with TemporaryDirectory(dir=given.folder) as folder, ExitStack() as stack:
        path = Path(folder)
        make(path, rows)
        engines = {"one process": one_process(path, rows)}
        engines["Dask"] = stack.enter_context(with_dask(path, rows, given.keep_memory))
        if given.spark:
            engines["Spark"] = stack.enter_context(with_spark(path, rows))
        print(f"{rows:,} rows in {len(sizes(rows))} files, bandwidth {BANDWIDTH}, medians")
        report(race(engines, given.rounds), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
