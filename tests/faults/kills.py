"""Kill runs of `meanshiftpp cluster` at random moments, and compare what later runs write.

    python -m tests.faults.kills 200

Every run is a fork of this process, which has loaded the program, so the kill meets the work and
not the start. A killed run leaves the old output or the whole new one. The run that is not killed
continues from the checkpoint, if there is one, writes the same bytes as a run that was never
interrupted, and removes the temporary files of the killed ones.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet  # noqa: F401 - loaded before the forks

from meanshiftpp.apps.cli.app import app
from meanshiftpp.apps.cli.cluster import run  # noqa: F401 - loaded before the forks
from meanshiftpp.io import sources
from meanshiftpp.io.tables import formats

ROWS = 20_000
OLD = b"the output of an earlier run"
KILLS_BEFORE_END = 4  # of one output, at most
Options = tuple[str, ...]  # with a bandwidth, or without


@dataclass
class Result:
    """The number of runs that were killed, and of those with a checkpoint; and the failures."""

    killed: int = 0
    with_checkpoint: int = 0
    resumed: int = 0
    failures: list[str] = field(default_factory=list)


def start(arguments: list[str]) -> int:
    """Run the program in a fork; return its process id."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, 1)
        os.dup2(devnull, 2)
        app(arguments, standalone_mode=False)
        status = 0
    finally:
        os._exit(status)


def finish(child: int) -> int:
    """Wait for a process; return its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_after(child: int, seconds: float) -> bool:
    """Kill a process after a time; return whether it still ran."""
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return finish(child) == -signal.SIGKILL


def command(source: Path, output: Path, checkpoint: Path | None, options: Options) -> list[str]:
    """Return the arguments of a run that reads many chunks and saves after each."""
    arguments = ["cluster", str(source), *options, "--stream", "-o", str(output)]
    if checkpoint is not None:
        arguments += ["--checkpoint", str(checkpoint), "--checkpoint-every", "0"]
    return arguments


def kill_runs(count: int, seed: int = 0) -> Result:
    """Kill at least `count` runs, half of them with a checkpoint."""
    sources.MAX_ROWS = sources.MIN_ROWS = 1000  # many chunks, and so many checkpoints
    formats._CSV_BLOCK = formats._CSV_HEAD_BLOCK = 1 << 15
    chance, result = random.Random(seed), Result()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "in.csv"
        points = np.random.default_rng(seed).normal(size=(ROWS, 2)).cumsum(axis=0) / 9
        np.savetxt(source, points, "%.6f", ",", header="x,y", comments="")
        numbers = iter(range(10**9))
        while result.killed < count and not result.failures:
            number = next(numbers)
            suffix = (".npy", ".csv", ".parquet")[number % 3]
            options = ("-b", "0.5") if number % 4 < 2 else ()
            _kill_and_resume(folder, source, suffix, number % 2 == 0, options, chance, result)
    return result


def _kill_and_resume(
    folder: Path,
    source: Path,
    suffix: str,
    resumes: bool,
    options: Options,
    chance: random.Random,
    result: Result,
) -> None:
    """Kill a few runs, let the last one finish, and check every output."""
    expected, seconds = _undisturbed(folder, source, suffix, resumes, options)
    work = folder / "work"
    work.mkdir()
    output, checkpoint = work / f"out{suffix}", work / "checkpoint" if resumes else None
    output.write_bytes(OLD)
    arguments = command(source, output, checkpoint, options)
    for _ in range(chance.randint(1, KILLS_BEFORE_END)):
        if kill_after(start(arguments), chance.uniform(0, seconds)):
            result.killed += 1
            result.with_checkpoint += resumes
            result.resumed += checkpoint is not None and checkpoint.exists()
        if output.read_bytes() not in (OLD, expected):
            result.failures.append(f"{suffix}: a killed run left a partial output")
    if finish(start(arguments)):
        result.failures.append(f"{suffix}: the last run failed, checkpoint {resumes}")
    elif output.read_bytes() != expected:
        result.failures.append(f"{suffix}: the last run wrote other bytes, checkpoint {resumes}")
    left = sorted(path.name for path in work.iterdir())
    if left != [output.name]:
        result.failures.append(f"{suffix}: files were left behind: {left}")
    for path in work.iterdir():
        path.unlink()
    work.rmdir()


_EXPECTED: dict[tuple[str, bool, Options], tuple[bytes, float]] = {}


def _undisturbed(
    folder: Path, source: Path, suffix: str, resumes: bool, options: Options
) -> tuple[bytes, float]:
    """Return the output of a run that is not killed, and its seconds."""
    key = suffix, resumes, options
    if key not in _EXPECTED:
        output = folder / f"expected{suffix}"
        begin = time.monotonic()
        checkpoint = folder / "c" if resumes else None
        assert finish(start(command(source, output, checkpoint, options))) == 0
        _EXPECTED[key] = output.read_bytes(), time.monotonic() - begin
    return _EXPECTED[key]


if __name__ == "__main__":
    done = kill_runs(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    print(
        f"{done.killed} runs killed, {done.with_checkpoint} with a checkpoint, "
        f"{done.resumed} of them left one to continue from"
    )
    sys.exit("\n".join(done.failures) or None)
