"""The benchmarks of what is not computing: memory, and the time until something starts."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, replace
from statistics import median
from time import perf_counter

from benchmarks.contenders import OURS, Case
from benchmarks.data import Data
from benchmarks.goals import BY_KEY
from benchmarks.lanes import Field, Lane, Out, Row
from benchmarks.suite import Result, Say, Scale, examined

CLOCK = "from time import perf_counter as t; s = t(); {}; print(t() - s)"
STARTS = {
    "import numpy": [sys.executable, "-c", CLOCK.format("import numpy")],
    "import meanshiftpp": [sys.executable, "-c", CLOCK.format("import meanshiftpp")],
    "from meanshiftpp import Grid, seek": [
        sys.executable,
        "-c",
        CLOCK.format("from meanshiftpp import Grid, seek"),
    ],
    "from meanshiftpp import MeanShiftPP": [
        sys.executable,
        "-c",
        CLOCK.format("from meanshiftpp import MeanShiftPP"),
    ],
    "import sklearn.cluster": [sys.executable, "-c", CLOCK.format("import sklearn.cluster")],
    "python -c pass": [sys.executable, "-c", "pass"],
    "meanshiftpp --help": [sys.executable, "-m", "meanshiftpp", "--help"],
}


def memory(scale: Scale, say: Say) -> Result:
    """Measure the peak of each contender, in a fresh process for every size."""
    result = Result("memory", "Peak memory beyond points and labels (d=3, h=1)", [])
    goal = BY_KEY["large-memory"]
    field = Field(scale.peers)  # for who is out, and why; its lanes are not used
    for n, following in zip(scale.sizes, (*scale.sizes[1:], None), strict=True):
        case = Case(Data(n))
        for contender in (OURS, *scale.peers):
            row = taken(contender, case, field.out.get(contender), scale.limit)
            if row.note and contender not in field.out:
                field.out[contender] = f"not run: {row.note} at {case.data}"
            say(row)
            result.rows.append(row)
            if following:
                field.spare([row], following / n, scale.limit)
            if contender == OURS and case == goal.case and row.bytes is not None:
                result.reached[goal.key] = row.bytes / n
    return result


def taken(contender: str, case: Case, out: str | None, limit: float) -> Row:
    """Run once, in a process that has done nothing else."""
    row = Row(contender, case)
    if out:
        return replace(row, note=out)
    with Lane() as lane:
        try:
            lane.load(case.data)
            lane.warm(contender, case)
            start = perf_counter()
            answer = lane.ask("memory", limit, contender=contender, case=asdict(case))
            row = replace(row, bytes=answer["bytes"], times=(perf_counter() - start,))
            ari = lane.ask("agree", contender=contender)["ari"]
        except Out as reason:
            return replace(row, note=str(reason))
        return examined(lane, row) if contender == OURS else replace(row, ari=ari)


def startup(scale: Scale, say: Say) -> Result:
    """Start fresh interpreters in turns; of an import, only the statement is timed."""
    times: dict[str, list[float]] = {name: [] for name in STARTS}
    for turn in range(scale.starts + 1):
        for name, command in STARTS.items():
            seconds = started(command)
            if turn:  # the first may still write bytecode
                times[name].append(seconds)
    nothing = Case(Data(0))
    rows = [Row(name, nothing, tuple(values)) for name, values in times.items()]
    for row in rows:
        say(row)
    numpy = median(times["import numpy"])
    ratios = {name: median(values) / numpy for name, values in times.items()}
    reached = {
        "import": ratios["import meanshiftpp"],
        "import-kernel": ratios["from meanshiftpp import Grid, seek"],
    }
    notes = ["imports: the statement alone; the last two: the whole process"]
    return Result("startup", "Imports and the command line", rows, reached, notes, ratios)


def started(command: list[str]) -> float:
    """Give what the command says it took, or what it took until it ended."""
    start = perf_counter()
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = perf_counter() - start
    return float(run.stdout) if "perf_counter" in command[-1] else seconds
