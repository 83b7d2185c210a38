"""The stages of a command add up to its time."""

import time

from meanshiftpp.apps.cli.shared import clock
from meanshiftpp.apps.cli.shared.clock import Stages


def test_stages_and_gaps_add_up(monkeypatch):
    now = iter([10.0, 11.0, 13.0, 17.0, 25.0, 41.0, 73.0, 100.0])
    monkeypatch.setattr(clock, "perf_counter", lambda: next(now))
    stages = Stages(first="start", between="describe")
    for stage in ("read", "write", "read"):
        with stages(stage):
            pass
    stages.close_gap()
    assert stages.seconds == {"start": 1, "read": 2 + 32, "describe": 4 + 16 + 27, "write": 8}
    assert sum(stages.seconds.values()) == 100 - 10


def test_a_program_counts_from_the_start_of_its_process(monkeypatch):
    monkeypatch.setattr(clock, "_program_start", None)
    clock.start_program()
    age = clock._process_age()
    assert age >= time.process_time() / 64  # of all threads
    stages = Stages(first="start", between="describe")
    stages.close_gap()
    assert stages.seconds["start"] >= age


def test_a_system_that_does_not_report_the_start(monkeypatch):
    monkeypatch.delattr(clock.time, "clock_gettime", raising=False)
    assert clock._process_age() == 0
