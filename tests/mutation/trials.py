"""Run the tests against a mutant, in a process of its own that starts with all modules imported."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

from tests.mutation.sources import Mutant

TIMEOUT = 120  # seconds of processor time; a mutant that needs more does not end
WAIT = 10 * TIMEOUT  # seconds on the clock; a mutant may wait for ever, or the machine be busy
MEMORY = 8 << 30
RECORDED_PARTS = {
    "bin": ("grids", "estimates"),
    "seek": ("searches",),
    "label": ("estimates",),
    "coarsen": ("grids", "estimates"),
    "regions": ("images",),
    "track": ("films",),
}
TESTS = {
    "bin": ("tests/core/test_binning.py", "tests/core/test_grid.py", "tests/laws/test_laws.py"),
    "seek": ("tests/laws/test_against_reference.py", "tests/core"),
    "label": ("tests/core", "tests/laws/test_against_reference.py"),
    "coarsen": ("tests/core/test_grid.py", "tests/core/test_periodic.py", "tests/laws"),
    "regions": ("tests/images",),
    "track": ("tests/tracking",),
}


def load_kernel(path: Path) -> ModuleType:
    """Load a native module in the place of the installed one."""
    spec = importlib.util.spec_from_file_location("meanshiftpp._kernel", path)
    assert spec is not None
    assert spec.loader is not None
    kernel = importlib.util.module_from_spec(spec)
    sys.modules["meanshiftpp._kernel"] = kernel
    spec.loader.exec_module(kernel)
    return kernel


class Trials:
    """The tests of each area, with a kernel of mutants and the kernel's own test program."""

    def __init__(self, module: Path, program: Path) -> None:
        load_kernel(module)
        self._active = ctypes.c_int.in_dll(ctypes.CDLL(str(module)), "mspp_mutant")
        self._program = program
        import pytest  # after the kernel, which these import
        from hypothesis import settings
        from tests.laws import recorded

        settings.register_profile("mutants", max_examples=30, derandomize=True, database=None)
        settings.load_profile("mutants")
        self._pytest = pytest
        self._parts = {part.__name__: part for part in recorded.PARTS}
        results = Path(__file__).parents[1] / "data" / "results.json"
        self._recorded = json.loads(results.read_text("utf-8"))

    def start(self, mutant: Mutant | None, area: str) -> int:
        """Start the tests against a mutant, and return the process."""
        pid = os.fork()
        if pid:
            return pid
        status = 1
        try:
            status = self._child(-1 if mutant is None else mutant.id, area)
        finally:
            os._exit(status)

    def _child(self, id: int, area: str) -> int:
        signal.alarm(WAIT)
        resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT, TIMEOUT))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        self._active.value = id
        stages: Iterable[Callable[[], bool]] = (
            lambda: self._passes_recorded(area),
            lambda: self._passes_program(id),
            lambda: self._passes_pytest(area),
        )
        for number, passes in enumerate(stages):
            if not passes():
                return 10 + number
        return 0

    def _passes_recorded(self, area: str) -> bool:
        parts = [self._parts[name] for name in RECORDED_PARTS[area]]
        return all(self._recorded[name] == value for part in parts for name, value in part())

    def _passes_program(self, id: int) -> bool:
        environment = {**os.environ, "MSPP_MUTANT": str(id)}
        try:
            subprocess.run([self._program], env=environment, timeout=WAIT / 2, check=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return False
        return True

    def _passes_pytest(self, area: str) -> bool:
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        return self._pytest.main([*options, *TESTS[area]]) == 0


def run_all(
    trials: Trials, mutants: Iterable[Mutant], n_processes: int
) -> Iterator[tuple[Mutant, str]]:
    """Run the tests of every mutant; return each with its fate."""
    running: dict[int, Mutant] = {}
    waiting = iter(mutants)
    while True:
        while len(running) < n_processes and (mutant := next(waiting, None)) is not None:
            running[trials.start(mutant, mutant.area)] = mutant
        if not running:
            return
        pid, status = os.waitpid(-1, 0)
        with contextlib.suppress(KeyError):
            yield running.pop(pid), _fate(status)


def _fate(status: int) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "timeout" if name in ("SIGALRM", "SIGXCPU", "SIGKILL") else name
    code = os.WEXITSTATUS(status)
    stages = {0: "survived", 10: "recorded results", 11: "kernel tests", 12: "pytest"}
    return stages.get(code, f"exit {code}")
