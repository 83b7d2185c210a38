"""Fuzz the kernel, the parsers, the grid and the laws: `make fuzz SECONDS=600`.

    python -m tests.fuzz all SECONDS          every target for an equal part of the time
    python -m tests.fuzz target NAME SECONDS  one target
    python -m tests.fuzz replay NAME FILE     run a parser with one input
    python -m tests.fuzz keep NAME FILE       add an input to the corpus, after the defect is fixed

A finding is written to build/fuzz/findings, and the command that repeats it is printed.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import time
from pathlib import Path

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.fuzz.engine import CORPUS, FindingError, fuzz, read_corpus, run_once
from tests.fuzz.grid_machine import GridMachine
from tests.fuzz.parsers import TARGETS
from tests.laws.picture_relations import PICTURE_PAIRS, TRACKER_PAIRS, check_picture, check_tracker
from tests.laws.relations import PAIRS, check

BUILD = Path("build/fuzz")
FINDINGS = BUILD / "findings"
HARNESSES = sorted(path.stem for path in Path(__file__).parent.glob("kernel/*.cpp"))
HARNESSES.remove("replay")
LEAST_RELATIONS = 20_000  # that are checked, whatever the time
LIMITS = [
    "-max_len=600",
    "-timeout=100",
    "-entropic=0",
    "-len_control=0",
    "-rss_limit_mb=4096",
    "-print_final_stats=1",
]


def fuzz_kernel(name: str, seconds: float) -> int:
    """Run libFuzzer with a harness; return the number of executions."""
    folder = BUILD / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    for k, data in enumerate(read_corpus(CORPUS / f"{name}.hex")):
        (folder / f"seed-{k}").write_bytes(data)
    prefix = FINDINGS / f"{name}-"
    options = [*LIMITS, f"-max_total_time={max(1, round(seconds))}", f"-artifact_prefix={prefix}"]
    program = BUILD / f"fuzz_{name}"
    log = subprocess.run([program, *options, folder], capture_output=True, text=True, check=False)
    if log.returncode:
        print(log.stderr[-5000:])
        path = re.search(r"written to (\S+)", log.stderr)
        raise SystemExit(f"{name}: repeat with\n  {program} {path[1] if path else folder}")
    return int(re.search(r"number_of_executed_units:\s*(\d+)", log.stderr)[1])


def fuzz_parser(name: str, seconds: float) -> int:
    """Run the fuzzer of parsers; return the number of executions."""
    try:
        return fuzz(name, seconds, seed=time.time_ns())
    except FindingError as finding:
        path = FINDINGS / f"{name}-{hash(finding.data) & 0xFFFFFFFF:08x}"
        path.write_bytes(finding.data)
        print(f"{name}: repeat with\n  {sys.executable} -m tests.fuzz replay {name} {path}")
        raise


def fuzz_grids(seconds: float) -> int:
    """Run the stateful test of grids; return the number of grids that were compared."""
    end, before = time.monotonic() + seconds, GridMachine.steps
    few = settings(max_examples=5, stateful_step_count=30, deadline=None, print_blob=True)
    while time.monotonic() < end:
        run_state_machine_as_test(GridMachine, settings=few)
    return GridMachine.steps - before


def fuzz_relations(seconds: float) -> int:
    """Check relations on data of new seeds; return the number of checks."""
    tables = ((check, PAIRS), (check_picture, PICTURE_PAIRS), (check_tracker, TRACKER_PAIRS))
    end, seed, runs = time.monotonic() + seconds, time.time_ns() % 2**40, 0
    while time.monotonic() < end or runs < LEAST_RELATIONS:
        for function, pairs in tables:
            for pair in pairs:
                try:
                    function(*pair, seed)
                except Exception:
                    call = f"{function.__name__}(*{pair!r}, {seed})"
                    place = f"from {function.__module__} import {function.__name__}"
                    print(f'relations: repeat with\n  {sys.executable} -c "{place}; {call}"')
                    raise
                runs += 1
        seed += 1
    return runs


def fuzz_target(name: str, seconds: float) -> None:
    """Fuzz one target and print a line about it."""
    begin = time.monotonic()
    if name in HARNESSES:
        runs = fuzz_kernel(name, seconds)
    elif name == "grids":
        runs = fuzz_grids(seconds)
    elif name == "relations":
        runs = fuzz_relations(seconds)
    else:
        runs = fuzz_parser(name, seconds)
    took = time.monotonic() - begin
    rate = f"{runs / took:10,.0f} per second"
    print(f"{name:16} {runs:12,} executions {took:8.0f} s {rate}", flush=True)


def main(action: str, *arguments: str) -> None:
    """Run one of the commands above."""
    logging.disable()  # libraries report damaged files there too
    FINDINGS.mkdir(parents=True, exist_ok=True)
    if action == "all":
        names = [*HARNESSES, *TARGETS, "grids", "relations"]
        for name in names:
            fuzz_target(name, float(arguments[0]) / len(names))
    elif action == "target":
        fuzz_target(arguments[0], float(arguments[1]))
    elif action == "replay":
        run_once(TARGETS[arguments[0]], Path(arguments[1]).read_bytes())
    elif action == "keep":
        with (CORPUS / f"{arguments[0]}.hex").open("a") as file:
            file.write(Path(arguments[1]).read_bytes().hex() + "\n")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])
