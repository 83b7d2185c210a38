"""The benchmark of files: grid and labels of Parquet, opening CSV, segmenting a photograph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np

from benchmarks import scale
from benchmarks.speed.checks import WrongResultError
from benchmarks.speed.presets import Preset
from benchmarks.speed.results import Measurement, OnMeasurement, Result

ROWS = 20_000_000
CSV_ROWS = 1_000_000
SIDES = 3000, 4000
BUILD, ITERATE, BIN = "build_grid of Parquet", "iterate by pyarrow", "bin in memory"
LABEL, ALONE = "label to Parquet", "the same with pyarrow alone"
OPEN, SEGMENT = "open CSV", "segment, 12 megapixels"


def files(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Measure in turns: CPU time for files, wall time for the photograph."""
    rows = max(ROWS // preset.goal_divisor, 10_000)
    with TemporaryDirectory() as folder:
        parquet, csv = Path(folder) / "points.parquet", Path(folder) / "points.csv"
        scale.make(parquet, rows)
        write_csv(csv, max(CSV_ROWS // preset.goal_divisor, 1_000))
        check_grid(parquet, rows)
        calls = {
            BUILD: (process_time, lambda: scale.build(parquet)),
            ITERATE: (process_time, lambda: scale.iterate(parquet)),
            BIN: (process_time, scale.bin_in_memory(parquet)),
            LABEL: (process_time, scale.label(parquet)),
            ALONE: (process_time, scale.label_alone(parquet)),
            OPEN: (process_time, lambda: open_csv(csv)),
            SEGMENT: (perf_counter, segmentation(preset.goal_divisor)),
        }
        times: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(min(preset.rounds, 5)):
            for name, (clock, call) in calls.items():
                start = clock()
                call()
                times[name].append(clock() - start)
    medians = {name: median(values) for name, values in times.items()}
    reached = {
        "grid-build": medians[BUILD] / (medians[ITERATE] + medians[BIN]),
        "label-parquet": medians[LABEL] / medians[ALONE],
        "csv-open": medians[OPEN] * 1e3,
        "segment": medians[SEGMENT] * 1e3,
    }
    measured = [Measurement(name, times=tuple(values)) for name, values in times.items()]
    for row in measured:
        on_measurement(row)
    title = f"Files: {rows:,} x 3 float32 in Parquet, a CSV file, a photograph"
    notes = ["CPU time, but for the photograph"]
    return Result("files", title, measured, reached if preset.full_size else {}, notes)


def check_grid(path: Path, rows: int) -> None:
    total = scale.find_modes(path).grid.total
    if total != rows:
        raise WrongResultError(f"the grid of the file holds {total:,} points of {rows:,}")


def write_csv(path: Path, rows: int) -> None:
    line = "0.123456,-1.234567,2.345678\n"
    path.write_text("x,y,z\n" + line * rows)


def open_csv(path: Path) -> None:
    from meanshiftpp.stream import open_points

    open_points(path)


def segmentation(divisor: int) -> Callable[[], object]:
    """Return the segmentation of smooth colours with noise."""
    from meanshiftpp import segment

    height, width = (max(side // int(divisor**0.5), 40) for side in SIDES)
    y, x = np.mgrid[:height, :width]
    waves = [np.sin(x / 97 + k) * np.cos(y / (61 + 7 * k)) for k in range(3)]
    noise = np.random.default_rng(0).normal(0, 3, (height, width, 3))
    image = (127 + 90 * np.stack(waves, axis=-1) + noise).clip(0, 255).astype(np.uint8)
    return lambda: segment(image)
