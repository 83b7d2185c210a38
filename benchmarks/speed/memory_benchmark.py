"""The benchmark of peak memory."""

from __future__ import annotations

from dataclasses import asdict, replace
from time import perf_counter

from benchmarks.common.synthetic import Data
from benchmarks.speed.checks import WrongResultError
from benchmarks.speed.contenders import OURS, Case
from benchmarks.speed.goals import BY_KEY
from benchmarks.speed.presets import Preset
from benchmarks.speed.results import Measurement, OnMeasurement, Result
from benchmarks.speed.time_benchmarks import limit_note
from benchmarks.speed.timing import Excluded, examined
from benchmarks.speed.worker_client import ContenderFailedError, WorkerClient


def memory(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Measure the peak of each contender, in a fresh process for every size."""
    title = "Peak memory in addition to points and labels (d=3, h=1)"
    notes, extra = [limit_note(preset)], {"limit": preset.limit}
    result = Result("memory", title, [], notes=notes, extra=extra)
    goal = BY_KEY["large-memory"]
    excluded = Excluded(preset.peers)
    for n, next_n in zip(preset.sizes, (*preset.sizes[1:], None), strict=True):
        case = Case(Data(n))
        for contender in (OURS, *preset.peers):
            if reason := excluded.reasons.get(contender):
                row = Measurement(contender, case, note=reason)
            else:
                row = measure_peak(contender, case, preset.limit)
                excluded.add_failure(row)
            on_measurement(row)
            result.rows.append(row)
            if next_n:
                excluded.add_slow([row], next_n / n, preset.limit)
            if contender == OURS and case == goal.case and row.bytes is not None:
                result.reached[goal.key] = row.bytes / n
    return result


def measure_peak(contender: str, case: Case, limit: float) -> Measurement:
    """Run a contender once in a fresh process."""
    row = Measurement(contender, case)
    with WorkerClient() as worker:
        try:
            worker.load(case.data)
            worker.warm_up(contender, case)
            start = perf_counter()
            answer = worker.send("memory", limit, contender=contender, case=asdict(case))
            row = replace(row, bytes=answer["bytes"], times=(perf_counter() - start,))
            ari = worker.send("agreement", contender=contender, case=asdict(case))["ari"]
        except ContenderFailedError as reason:
            if contender == OURS:
                raise WrongResultError(f"{case}: {reason}") from None
            return replace(row, note=str(reason))
        return examined(worker, row) if contender == OURS else replace(row, ari=ari)
