"""Run against each mutant the tests that can notice it, in forks of one process.

The first run of the tests traces which of them compute a value that a mutant would change. A mutant
is then run against those tests alone until one fails: the C++ tests first, because they compare
parts of the kernel with plain versions, then the fastest.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.mutation.sources import Mutant
from tests.mutation.switch import TRACE, Switch

TESTS = ("core", "laws", "images", "video", "tracking", "bandwidth", "estimators")
TESTS += ("docs/test_documents.py", "test_errors.py", "test_public_edges.py")
FOLDER = Path(__file__).parents[1]
MEMORY = 8 << 30
PASSED, FAILED = 0, 10
KERNEL = "kernel "  # begins the names of C++ tests


class Trials:
    """A plugin of pytest: it collects the tests, and runs them against mutants instead of once.

    Parameters
    ----------
    switch : Switch
        The switch of the rewritten sources.
    trace_file : Path
        The tests that can notice each mutant, kept until a source changes.
    program : Path or None
        The C++ test program with switches, if the kernel has any.
    budget : float
        The processor time of the tests of a mutant, in seconds, as measured without a mutant.
    """

    def __init__(
        self, switch: Switch, trace_file: Path, program: Path | None, budget: float
    ) -> None:
        self._active, self._noted = switch.active, switch.noted
        self._trace_file, self._program = trace_file, program
        package = FOLDER.parent / "src" / "meanshiftpp"
        built = [path for path in (switch.library, program) if path]
        self._inputs = [*built, *FOLDER.rglob("*.py"), *package.rglob("*.py")]
        self._budget = budget
        self._failed = False

    def run(self, work: Callable[[Trials], None]) -> None:
        """Collect the tests, and call the work with a runner of them."""
        import pytest  # after the kernel, which the tests import

        self._work = work
        options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        if pytest.main([*options, *(str(FOLDER / name) for name in TESTS)], plugins=[self]):
            sys.exit("the tests cannot be collected")

    def pytest_configure(self) -> None:  # after tests/conftest.py
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)  # a failure is enough; it need not be small
        profile = {"max_examples": 30, "derandomize": True, "database": None}
        settings.register_profile("mutants", **profile, phases=phases)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session) -> bool:
        self._tests = {item.nodeid: lambda item=item: self._passes(item) for item in session.items}
        for path in sorted((FOLDER / "kernel").glob("*.cpp")) if self._program else ():
            for name in re.findall(r"^TEST\((\w+)\)", path.read_text("utf-8"), re.M):
                self._tests[KERNEL + name] = lambda name=name: self._passes_program(name)
        self._read_trace()
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report) -> None:
        self._failed = self._failed or report.failed

    def _passes(self, item) -> bool:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self._failed

    def _passes_program(self, name: str) -> bool:
        environment = {**os.environ, "MSPP_MUTANT": str(self._active.value)}
        with tempfile.NamedTemporaryFile() as trace:
            environment["MSPP_MUTANT_TRACE"] = trace.name
            run = subprocess.run([self._program, name], env=environment, check=False)
            noted = Path(trace.name).read_bytes()
        for id in (id for id, flag in enumerate(noted) if flag):
            self._noted[id] = 1
        return run.returncode == 0

    def _read_trace(self) -> None:
        """Set the tests that can notice each mutant, in their order; trace them if necessary."""
        newest = max(path.stat().st_mtime for path in self._inputs)
        if not self._trace_file.exists() or self._trace_file.stat().st_mtime < newest:
            print(f"tracing {len(self._tests)} tests", flush=True)
            pid = os.fork()  # the tests cache results, which must not reach the trials
            if not pid:
                _exit_with(self._trace)
            if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
                sys.exit("the tests fail without a mutant, or cannot be traced")
        self._noticing = defaultdict(list)
        traced = json.loads(self._trace_file.read_text("utf-8"))
        order = sorted(traced, key=lambda name: (not name.startswith(KERNEL), traced[name][0]))
        for name in order:
            seconds, ids = traced[name]
            for id in ids:
                self._noticing[id].append((name, seconds))

    def _trace(self) -> int:
        _silence(1)
        traced = {}
        self._active.value = TRACE
        for name, passes in self._tests.items():
            ctypes.memset(self._noted, 0, len(self._noted))
            begin = time.process_time() + _children_time()
            if not passes():
                sys.stderr.write(f"fails without a mutant: {name}\n")
                return FAILED
            seconds = time.process_time() + _children_time() - begin
            traced[name] = seconds, [id for id, flag in enumerate(bytes(self._noted)) if flag]
        self._trace_file.write_text(json.dumps(traced), "utf-8")
        return PASSED

    def fates(self, mutants: list[Mutant], n_processes: int) -> Iterator[tuple[Mutant, str]]:
        """Run the tests of every mutant; return each with its fate."""
        running: dict[int, Mutant] = {}
        waiting = iter(mutants)
        while True:
            while len(running) < n_processes and (mutant := next(waiting, None)) is not None:
                if self._noticing[mutant.id]:
                    running[self._start(mutant)] = mutant
                else:
                    yield mutant, "no test"
            if not running:
                return
            pid, status = os.wait()
            if pid in running:
                yield running.pop(pid), _fate(status)

    def _start(self, mutant: Mutant) -> int:
        pid = os.fork()
        if not pid:
            _exit_with(lambda: self._survives(mutant.id))
        return pid

    def _survives(self, id: int) -> int:
        chosen, seconds = {}, 0.0
        for name, needed in self._noticing[id]:
            if chosen and seconds + needed > self._budget:
                break
            chosen[name] = needed
            seconds += needed
        signal.alarm(300 + 20 * int(seconds))  # on the clock, because a mutant may wait for ever
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _silence(1, 2)
        self._active.value = id
        passes = (self._passes_in_time(name, needed) for name, needed in chosen.items())
        return PASSED if all(passes) else FAILED

    def _passes_in_time(self, name: str, seconds: float) -> bool:
        """Run a test; a mutant that needs five times the processor time does not end."""
        limit = int(time.process_time() + 3 + 5 * seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        return self._tests[name]()


def load_kernel(path: Path) -> None:
    """Load a native module in the place of the installed one."""
    spec = importlib.util.spec_from_file_location("meanshiftpp._kernel", path)
    kernel = importlib.util.module_from_spec(spec)
    sys.modules["meanshiftpp._kernel"] = kernel
    spec.loader.exec_module(kernel)


def _exit_with(work: Callable[[], int]) -> None:
    """End a forked process with the result of the work."""
    status = 1
    try:
        status = work()
    finally:
        os._exit(status)


def _silence(*streams: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in streams:
        os.dup2(null, stream)


def _children_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _fate(status: int) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "timeout" if name in ("SIGALRM", "SIGXCPU", "SIGKILL") else name
    code = os.WEXITSTATUS(status)
    return {PASSED: "survived", FAILED: "killed"}.get(code, f"exit {code}")
