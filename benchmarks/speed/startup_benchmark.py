"""The benchmark of start-up: imports and the command line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.speed.checks import WrongResultError
from benchmarks.speed.presets import Preset
from benchmarks.speed.results import Measurement, OnMeasurement, Result

TIMED_STATEMENT = "from time import process_time as t; s = t(); {}; print(t() - s)"
NUMPY, PACKAGE, KERNEL = "import numpy", "import meanshiftpp", "from meanshiftpp import Grid, seek"
IMPORTS = (NUMPY, PACKAGE, KERNEL, "from meanshiftpp import MeanShiftPP", "import sklearn.cluster")
HELP, CLUSTER = "meanshiftpp --help", "meanshiftpp cluster tiny.csv -b 1"
BLANK, NEEDED = "python -c pass", "import numpy, pyarrow.csv, typer"
PROCESSES = {
    BLANK: ["-c", "pass"],
    NEEDED: ["-c", NEEDED],  # of the commands: the least that `cluster` can take
    HELP: ["-m", *HELP.split()],
    CLUSTER: ["-m", *CLUSTER.split()],
}
TINY = "x,y\n" + "".join(f"{k % 2 * 9 + k / 100},{k % 7 / 7}\n" for k in range(100))


def startup(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Start fresh interpreters in turns; for imports, only the statement is timed."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "tiny.csv").write_text(TINY)
        return _measure(preset, on_measurement, Path(folder))


def _measure(preset: Preset, on_measurement: OnMeasurement, folder: Path) -> Result:
    times: dict[str, list[float]] = {name: [] for name in (*IMPORTS, *PROCESSES)}
    for turn in range(preset.startups + 1):
        for name, values in times.items():
            timed = time_process if name in PROCESSES else time_statement
            seconds = timed(name, folder)
            if turn:  # the first round writes bytecode
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
        {
            "import": ratios[PACKAGE],
            "import-kernel": ratios[KERNEL],
            "help": median(times[HELP]) * 1e3,
            "cluster-tiny": median(times[CLUSTER]) * 1e3,
        },
        ["CPU time: of the statement for imports, of the whole process for commands"],
        {"to_numpy": ratios},
    )


def time_statement(statement: str, folder: Path) -> float:
    """Return the CPU time of a statement in a fresh interpreter."""
    return float(_output(["-c", TIMED_STATEMENT.format(statement)], folder))


def time_process(name: str, folder: Path) -> float:
    """Return the CPU time of a fresh interpreter from its start to its end."""
    start = _cpu_seconds_of_children()
    printed = _output(PROCESSES[name], folder)
    seconds = _cpu_seconds_of_children() - start
    if name not in (BLANK, NEEDED) and "cluster" not in printed:
        raise WrongResultError(f"{name}: expected `cluster` in {printed!r}")
    return seconds


def _cpu_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _output(arguments: list[str], folder: Path) -> str:
    """Run Python in a folder, which also stores the bytecode, as an installation does."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=folder, env=environment
    )
    return done.stdout
