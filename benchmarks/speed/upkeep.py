"""The benchmarks of what is not computing: memory, and the time until something starts."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import asdict, replace
from statistics import median
from time import perf_counter

from benchmarks.common.data import Data
from benchmarks.speed.checks import WrongAnswerError
from benchmarks.speed.contenders import OURS, Case
from benchmarks.speed.goals import BY_KEY
from benchmarks.speed.lanes import DroppedOutError, Field, Lane, Row
from benchmarks.speed.suite import Result, Say, Scale, examined, sitting

CLOCK = "from time import perf_counter as t; s = t(); {}; print(t() - s)"
NUMPY, BARE, KERNEL = "import numpy", "import meanshiftpp", "from meanshiftpp import Grid, seek"
IMPORTS = (NUMPY, BARE, KERNEL, "from meanshiftpp import MeanShiftPP", "import sklearn.cluster")
PROCESSES = {
    "python -c pass": ["-c", "pass"],
    "meanshiftpp --help": ["-m", "meanshiftpp", "--help"],
}


def memory(scale: Scale, say: Say) -> Result:
    """Measure the peak of each contender, in a fresh process for every size."""
    title, extra = "Peak memory beyond points and labels (d=3, h=1)", {"limit": scale.limit}
    result = Result("memory", title, [], notes=[sitting(scale)], extra=extra)
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
            ari = lane.ask("agree", contender=contender, case=asdict(case))["ari"]
        except DroppedOutError as reason:
            if contender == OURS:
                raise WrongAnswerError(f"{case}: {reason}") from None
            return replace(row, note=str(reason))
        return examined(lane, row) if contender == OURS else replace(row, ari=ari)


def startup(scale: Scale, say: Say) -> Result:
    """Start fresh interpreters in turns; of an import, only the statement is timed."""
    times: dict[str, list[float]] = {name: [] for name in (*IMPORTS, *PROCESSES)}
    for turn in range(scale.starts + 1):
        for name, values in times.items():
            seconds = process(name) if name in PROCESSES else statement(name)
            if turn:  # the first may still write bytecode
                values.append(seconds)
    numpy = median(times[NUMPY])
    ratios = {name: median(values) / numpy for name, values in times.items()}
    rows = [Row(name, times=tuple(values)) for name, values in times.items()]
    for row in rows:
        say(row)
    return Result(
        "startup",
        "Imports and the command line",
        rows,
        {"import": ratios[BARE], "import-kernel": ratios[KERNEL]},
        ["Imports: the statement alone; python -c pass and --help: the whole process"],
        {"to_numpy": ratios},
    )


def statement(text: str) -> float:
    """Time a statement in a fresh interpreter."""
    return float(_output(["-c", CLOCK.format(text)]))


def process(name: str) -> float:
    """Time a fresh interpreter from its start to its end."""
    start = perf_counter()
    printed = _output(PROCESSES[name])
    seconds = perf_counter() - start
    if name.endswith("--help") and "cluster" not in printed:
        raise WrongAnswerError(f"{name} does not name the command `cluster`: {printed!r}")
    return seconds


def _output(arguments: list[str]) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
