"""A small coverage-guided fuzzer: it mutates inputs that reached new lines of the package."""

from __future__ import annotations

import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.parsers import TARGETS, Target

from meanshiftpp.errors import MeanShiftPPError

CORPUS = Path(__file__).parent / "corpus"
Line = tuple[CodeType, int]


class FindingError(Exception):
    """An input that broke a parser."""

    def __init__(self, data: bytes) -> None:
        super().__init__(f"input {data.hex() if len(data) < 2000 else data[:40].hex() + '...'}")
        self.data = data


def read_corpus(path: Path) -> list[bytes]:
    """Read a text file of inputs in hexadecimal digits, one in each line; # begins a comment."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [bytes.fromhex(line) for line in lines if not line.startswith("#")]


def run_once(target: Target, data: bytes) -> None:
    """Run a parser; raise `FindingError` for a warning or an error of another package."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "the search still moved")
        try:
            target.run(data, Path(folder))
        except (MeanShiftPPError, MemoryError):
            pass
        except Exception as error:
            raise FindingError(data) from error


def traced(call: Callable[[], None]) -> set[Line]:
    """Call a function and return the lines of the package that ran."""
    lines: set[Line] = set()

    def local(frame: FrameType, event: str, _: Any) -> Any:
        lines.add((frame.f_code, frame.f_lineno))
        return local

    def enter(frame: FrameType, event: str, _: Any) -> Any:
        return local if "meanshiftpp" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(before)
    return lines


def fuzz(name: str, seconds: float, seed: int) -> int:
    """Fuzz a parser for some seconds; return the number of runs."""
    target, rng = TARGETS[name], random.Random(seed)
    seen: set[Line] = set()
    pool = [*target.seeds(), *read_corpus(CORPUS / f"{name}.hex")]
    end, runs = time.monotonic() + seconds, 0
    for data in pool:
        seen |= traced(lambda data=data: run_once(target, data))
    while time.monotonic() < end:
        data = target.mutate(rng.choice(pool), rng)
        new = traced(lambda data=data: run_once(target, data)) - seen
        runs += 1
        if new:
            seen |= new
            pool.append(data)
    return runs
