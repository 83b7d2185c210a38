"""The benchmark of start-up: imports and the command line."""

from __future__ import annotations

import subprocess
import sys
from statistics import median
from time import perf_counter

from benchmarks.speed.checks import WrongResultError
from benchmarks.speed.presets import Preset
from benchmarks.speed.results import Measurement, OnMeasurement, Result

TIMED_STATEMENT = "from time import perf_counter as t; s = t(); {}; print(t() - s)"
NUMPY, PACKAGE, KERNEL = "import numpy", "import meanshiftpp", "from meanshiftpp import Grid, seek"
IMPORTS = (NUMPY, PACKAGE, KERNEL, "from meanshiftpp import MeanShiftPP", "import sklearn.cluster")
PROCESSES = {
    "python -c pass": ["-c", "pass"],
    "meanshiftpp --help": ["-m", "meanshiftpp", "--help"],
}


def startup(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Start fresh interpreters in turns; for imports, only the statement is timed."""
    times: dict[str, list[float]] = {name: [] for name in (*IMPORTS, *PROCESSES)}
    for turn in range(preset.startups + 1):
        for name, values in times.items():
            seconds = time_process(name) if name in PROCESSES else time_statement(name)
            if turn:  # the first round may still write bytecode
                values.append(seconds)
    numpy_time = median(times[NUMPY])
    ratios = {name: median(values) / numpy_time for name, values in times.items()}
    rows = [Measurement(name, times=tuple(values)) for name, values in times.items()]
    for row in rows:
        on_measurement(row)
    return Result(
        "startup",
        "Imports and the command line",
        rows,
        {"import": ratios[PACKAGE], "import-kernel": ratios[KERNEL]},
        ["Imports: the statement alone; python -c pass and --help: the whole process"],
        {"to_numpy": ratios},
    )


def time_statement(statement: str) -> float:
    """Time a statement in a fresh interpreter."""
    return float(_output(["-c", TIMED_STATEMENT.format(statement)]))


def time_process(name: str) -> float:
    """Time a fresh interpreter from its start to its end."""
    start = perf_counter()
    printed = _output(PROCESSES[name])
    seconds = perf_counter() - start
    if name.endswith("--help") and "cluster" not in printed:
        raise WrongResultError(f"{name}: expected the command `cluster` in {printed!r}")
    return seconds


def _output(arguments: list[str]) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
