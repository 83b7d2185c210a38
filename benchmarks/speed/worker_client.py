"""The parent's side of a worker process: it starts the process and sends requests to it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from threading import Event, Timer
from typing import Any, Self

from benchmarks.common.synthetic import Data
from benchmarks.speed.contenders import Case

ROOT = Path(__file__).parents[2]
REQUEST_LIMIT = 300.0  # seconds for drawing arrays, importing and compiling


class ContenderFailedError(Exception):
    """A contender failed or was too slow; the message is the reason."""


class WorkerClient:
    """A worker process; it is killed on exit."""

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in __exit__)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.speed.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            cwd=ROOT,
        )
        self.data: Data | None = None
        self.checksum = 0
        self.warmed_up: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            if file is not None:
                file.close()

    def send(self, request: str, limit: float = REQUEST_LIMIT, **arguments: Any) -> dict[str, Any]:
        """Send a request and return the answer; kill the worker after `limit` seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        too_late = Event()

        def stop() -> None:
            too_late.set()
            self.process.kill()

        timer = Timer(limit, stop)
        timer.start()
        try:
            print(json.dumps([request, arguments]), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if too_late.is_set():
            raise ContenderFailedError(f"more than {limit:g} s")
        if not line:
            raise ContenderFailedError(f"the process ended ({self._last_error_line()})")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ContenderFailedError(answer["error"])
        return answer

    def load(self, data: Data) -> None:
        if data != self.data:
            self.checksum = self.send("load", data=asdict(data))["checksum"]
            self.data = data

    def warm_up(self, contender: str, case: Case) -> None:
        if contender not in self.warmed_up:
            self.send("warm_up", contender=contender, case=asdict(case))
            self.warmed_up.add(contender)

    def _last_error_line(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "no message")
