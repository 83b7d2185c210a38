"""Compare one process, Dask and Spark on the same cores and the same Parquet files.

    python -m benchmarks.engines                    # 20 million rows of 3 float32
    python -m benchmarks.engines --rows 1e8 --spark
    python -m benchmarks.engines --keep-memory      # Dask's workers keep freed memory
    python -m benchmarks.engines --tree             # also without a bandwidth

All engines have the same number of threads as the single process: Dask has two workers of one
thread each (a real cluster of processes), Spark two tasks at a time. They are started before the
measurement and take turns. The first round warms up; only its fits are reported. The steps are:

    first    the first fit of an engine: its workers import what their tasks need
    fit      read, bin and search
    labels   read again, label, and count the points of the heaviest cluster
    memory   fit on blocks that are already in the workers' memory, compared with one array in
             memory: this isolates the cost of the engine
    tree     fit without a bandwidth, compared with one array in memory: rows or cells travel

Every grid must have the same bits as that of the single process, and every count must be equal; so
must be the weights of the clusters without a bandwidth.
CPU seconds are those of all processes of an engine: they measure the additional work even on a
busy machine, where the wall clock is unreliable.
"""

from __future__ import annotations

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
from benchmarks.common.command_line import command_parser
from benchmarks.speed.checks import WrongResultError
from meanshiftpp import Grid, MeanShiftPP, Modes, seek
from meanshiftpp.stream import build_grid, open_points

COLUMNS = ["x", "y", "z"]
BANDWIDTH = 0.5
THREADS = 2
FILE_ROWS = 1 << 22
MALLOC_TRIM = "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_"
GOALS = {  # greatest time of a step of an engine, relative to one process
    ("Dask", "fit"): 1.3,
    ("Dask", "first"): 2.0,
    ("Spark", "fit"): 3.0,
}

Step = Callable[[], Any]
Cost = tuple[float, float]  # seconds and CPU seconds
Engine = dict[str, Step]  # fit and memory return a grid, labels a count, tree weights
Costs = dict[str, dict[str, list[Cost]]]  # by engine and step, one per round


def draw(number: int, rows: int) -> np.ndarray:
    """Draw rows of a mixture of five Gaussians, the same in every process."""
    rng = np.random.default_rng(number)
    points = rng.standard_normal((rows, 3), np.float32)
    points += rng.integers(0, 5, (rows, 1)).astype(np.float32) * 4
    return points


def file_sizes(rows: int) -> list[int]:
    return [min(FILE_ROWS, rows - start) for start in range(0, rows, FILE_ROWS)]


def write_files(folder: Path, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, n in enumerate(file_sizes(rows)):
        table = pa.table(list(draw(number, n).T), names=COLUMNS)
        pq.write_table(table, folder / f"{number:05}.parquet", row_group_size=1 << 20)


def single_process(folder: Path, rows: int) -> Engine:
    fitted: dict[str, Modes] = {}
    points = np.concatenate([draw(number, n) for number, n in enumerate(file_sizes(rows))])

    def fit() -> Grid:
        grid = build_grid(open_points(folder), BANDWIDTH, n_threads=THREADS)
        fitted["modes"] = seek(grid, n_threads=THREADS)
        return grid

    def labels() -> int:
        label = fitted["modes"].label
        parts = (label(chunk.points, n_threads=THREADS) for chunk in open_points(folder))
        return sum(int(np.count_nonzero(part == 0)) for part in parts)

    def memory() -> Grid:
        grid = Grid.from_points(points, BANDWIDTH, n_threads=THREADS)
        seek(grid, n_threads=THREADS)
        return grid

    def tree() -> list[float]:
        return MeanShiftPP(n_jobs=THREADS).fit(points).cluster_weights_.tolist()

    return {"fit": fit, "labels": labels, "memory": memory, "tree": tree}


@contextmanager
def dask_engine(folder: Path, rows: int, keep_memory: bool) -> Iterator[Engine]:
    import dask
    import dask.array as da
    import dask.dataframe as dd
    from distributed import Client, LocalCluster, wait

    from meanshiftpp import dask as engine

    model = engine.MeanShiftPP(bandwidth=BANDWIDTH)

    def block(block_id: tuple[int, int], block_info: Any = None) -> np.ndarray:
        return draw(block_id[0], block_info[None]["chunk-shape"][0])

    def fit() -> Grid:
        return model.fit(dd.read_parquet(folder)).grid_

    def labels() -> int:
        return int((model.labels_ == 0).sum().compute())

    settings = {MALLOC_TRIM: 1 << 30} if keep_memory else {}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=THREADS, threads_per_worker=1, dashboard_address=":0", memory_limit=None
        ) as cluster,
        Client(cluster),
    ):
        chunks = (tuple(file_sizes(rows)), (3,))
        drawn = da.map_blocks(block, chunks=chunks, dtype=np.float32)
        in_memory = []  # filled in the round of warm-up, after the first fit

        def memory() -> Grid:
            if not in_memory:
                in_memory.append(drawn.persist())
                wait(in_memory)
            return engine.MeanShiftPP(bandwidth=BANDWIDTH).fit(in_memory[0]).grid_

        def tree() -> list[float]:
            return engine.MeanShiftPP().fit(dd.read_parquet(folder)).cluster_weights_.tolist()

        yield {"fit": fit, "labels": labels, "memory": memory, "tree": tree}


@contextmanager
def spark_engine(folder: Path) -> Iterator[Engine]:
    from pyspark.sql import SparkSession

    from meanshiftpp import spark

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    session = SparkSession.builder.master(f"local[{THREADS}]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    df = session.read.parquet(str(folder))
    fitted: dict[str, Any] = {}

    def fit() -> Grid:
        fitted["model"] = spark.fit(df, COLUMNS, BANDWIDTH)
        return fitted["model"].grid

    def labels() -> int:
        return int(fitted["model"].transform(df).where("label = 0").count())

    def tree() -> list[float]:
        return spark.fit(df, COLUMNS).clusterWeights().tolist()

    yield {"fit": fit, "labels": labels, "tree": tree}
    session.stop()


def cpu_seconds() -> float:
    """Return the CPU time of this process and all its descendants."""
    import psutil

    process = psutil.Process()
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def timed(step: Step) -> tuple[Cost, Any]:
    start, cpu = perf_counter(), cpu_seconds()
    result = step()
    return (perf_counter() - start, cpu_seconds() - cpu), result


def measure(engines: dict[str, Engine], rounds: int) -> Costs:
    """Time the engines in turns; check every result. The first round yields the step `first`."""
    costs: Costs = {name: {} for name in engines}
    for turn in range(rounds + 1):
        expected: dict[str, Any] = {}
        for name, engine in engines.items():
            for step, call in engine.items():
                cost, result = timed(call)
                if expected.setdefault(step, result) != result:
                    raise WrongResultError(f"{step}: {name} and one process have different results")
                if turn or step == "fit":
                    costs[name].setdefault(step if turn else "first", []).append(cost)
    return costs


def ratios(costs: list[Cost], base: list[Cost]) -> tuple[float, float]:
    """Return the medians over the rounds of the ratios of wall times and of CPU times."""
    pairs = list(zip(costs, base, strict=True))
    wall, cpu = (median(cost[k] / other[k] for cost, other in pairs) for k in (0, 1))
    return wall, cpu


def report(costs: Costs, rows: int) -> None:
    """Print the medians, the ratios to one process, and the goals."""
    single = costs["one process"]
    print(f"\n{'':8}{'':12} {'seconds':>9} {'M rows/s':>9} {'CPU s':>8} {'time':>7} {'work':>7}")
    for step in single:
        for name, steps in costs.items():
            if step in steps:
                wall, cpu = (median(cost[k] for cost in steps[step]) for k in (0, 1))
                wall_ratio, cpu_ratio = ratios(steps[step], single[step])
                print(
                    f"{step:8}{name:12} {wall:9.2f} {rows / wall / 1e6:9.0f} {cpu:8.2f} "
                    f"{wall_ratio:6.2f}x {cpu_ratio:6.2f}x"
                )
    for (name, step), limit in GOALS.items():
        if name in costs:
            ratio, _ = ratios(costs[name][step], single[step])
            verdict = "met" if ratio <= limit else "MISSED"
            print(f"{verdict}: {name}, {step}, within {limit} times one process: {ratio:.2f}")


def main() -> int:
    parser = command_parser("engines", __doc__)
    parser.add_argument("--rows", type=float, default=2e7, help="rows of all files (2e7)")
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds (5)")
    parser.add_argument("--keep-memory", action="store_true", help="see docs/scale.md")
    parser.add_argument("--spark", action="store_true", help="also Spark, which needs Java")
    parser.add_argument("--tree", action="store_true", help="also fits without a bandwidth")
    parser.add_argument("--folder", type=Path, help="parent of the temporary folder for the files")
    options = parser.parse_args()
    rows = int(options.rows)
    print(*(f"{key}: {value}" for key, value in machine.describe().items()), sep="\n")
    with TemporaryDirectory(dir=options.folder) as folder, ExitStack() as stack:
        path = Path(folder)
        write_files(path, rows)
        engines = {"one process": single_process(path, rows)}
        engines["Dask"] = stack.enter_context(dask_engine(path, rows, options.keep_memory))
        if options.spark:
            engines["Spark"] = stack.enter_context(spark_engine(path))
        if not options.tree:
            for engine in engines.values():
                del engine["tree"]
        print(f"{rows:,} rows in {len(file_sizes(rows))} files, bandwidth {BANDWIDTH}, medians")
        report(measure(engines, options.rounds), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
