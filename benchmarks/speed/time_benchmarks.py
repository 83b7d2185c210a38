"""The benchmarks of speed: which contenders run at which sizes, with which checks.

Each takes a preset and a callback for progress, and returns a `Result`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.common import machine
from benchmarks.common.synthetic import Data
from benchmarks.speed.contenders import (
    AUTOMATIC,
    DEFAULT_SWEEP,
    FEW_SWEEP,
    FLOOR,
    JOINED,
    OURS,
    SWEEP,
    Case,
)
from benchmarks.speed.goals import BY_KEY, goals_of, goals_with
from benchmarks.speed.presets import Preset
from benchmarks.speed.results import Measurement, OnMeasurement, Result
from benchmarks.speed.timing import Contest, Runner, examined, measure_in_turns
from benchmarks.speed.worker_client import WorkerClient

MIN_POINTS = 200
FAST_PEERS = ("KMeans", "fast-hdbscan")  # fast enough for 100,000 points in every dimension
SEPARATED_FROM, SEPARATED_TO = 0.7, 2  # bandwidths at which the true clusters can be found


def divide_points(case: Case, divisor: int) -> Case:
    return replace(case, data=replace(case.data, n=max(case.data.n // divisor, MIN_POINTS)))


def report_all(rows: Iterable[Measurement], on_measurement: OnMeasurement) -> None:
    for row in rows:
        on_measurement(row)


def limit_note(preset: Preset) -> str:
    return f"A peer that takes more than {preset.limit:g} s is stopped and skips larger sizes"


def floor(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Measure ours and X.sum() in turns for every goal that is a ratio to X.sum()."""
    result = Result("floor", "Compared with reading the data once", [])
    with WorkerClient() as worker:
        for goal in goals_with(FLOOR):
            assert goal.case is not None
            case = divide_points(goal.case, preset.goal_divisor)
            runners = [Runner(worker, contender, case) for contender in (FLOOR, OURS)]
            base, ours = measure_in_turns(
                runners, 2 * preset.rounds, 4 * preset.budget, preset.goal_limit
            )
            ours = examined(worker, ours, separated=goal.separated and preset.full_size)
            report_all((base, ours), on_measurement)
            result.rows.extend((base, ours))
            if preset.full_size and ours.to_floor:
                result.reached[goal.key] = ours.to_floor
    return result


def peers(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Measure the peers that goals name, at the size of the goal or, if too slow, at a tenth."""
    result = Result("peers", "Compared with a peer, at the size of the goal", [])
    for goal in goals_with(*preset.peers):
        assert goal.case is not None
        assert goal.peer is not None
        case = divide_points(goal.case, preset.goal_divisor)
        while True:
            with Contest([goal.peer]) as contest:
                limits = (preset.rounds, preset.budget, preset.goal_limit)
                rows = contest.measure(case, *limits, separated=preset.full_size)
            report_all(rows, on_measurement)
            result.rows.extend(rows)
            peer = next(row for row in rows if row.contender == goal.peer)
            if peer.times or case.data.n < 1_000:
                break
            result.notes.append(f"{goal.peer} at {case.data}: {peer.note}; repeated at a tenth")
            case = divide_points(case, 10)
        if peer.to_ours and case == goal.case:
            result.reached[goal.key] = peer.to_ours
    return result


def sweep_n(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Increase n tenfold; every peer runs while it is within the limit."""
    rows: list[Measurement] = []
    with Contest(preset.peers) as contest:
        for n, next_n in zip(preset.sizes, (*preset.sizes[1:], None), strict=True):
            found = contest.measure(Case(Data(n)), preset.rounds, preset.budget, preset.limit)
            report_all(found, on_measurement)
            rows += found
            if next_n:
                contest.excluded.add_slow(found, next_n / n, preset.limit)
    title = "Time by number of points (d=3, h=1)"
    return Result("n", title, rows, notes=[limit_note(preset)], extra={"limit": preset.limit})


def sweep_d(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Increase the dimension, with the two fastest peers."""
    rows: list[Measurement] = []
    with Contest(peer for peer in FAST_PEERS if peer in preset.peers) as contest:
        for d in preset.dimensions:
            case = Case(Data(preset.d_sweep_points, d))
            limits = (preset.rounds, preset.budget / 2, preset.limit)
            found = contest.measure(case, *limits, separated=preset.full_size)
            report_all(found, on_measurement)
            rows += found
    title = f"Time by dimension (n={preset.d_sweep_points:,}, h=1)"
    return Result("d", title, rows, notes=[limit_note(preset)])


def sweep_h(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Vary the bandwidth: from about one point per cell to a handful of cells."""
    rows: list[Measurement] = []
    with WorkerClient() as worker:
        for h in preset.bandwidths:
            case = Case(Data(preset.h_sweep_points), bandwidth=h)
            runners = [Runner(worker, contender, case) for contender in (FLOOR, OURS)]
            base, ours = measure_in_turns(runners, preset.rounds, preset.budget, preset.goal_limit)
            strict = SEPARATED_FROM <= h <= SEPARATED_TO and preset.full_size
            ours = examined(worker, ours, separated=strict, must_converge=strict)
            report_all((base, ours), on_measurement)
            rows += [base, ours]
    return Result("h", f"Time by bandwidth (n={preset.h_sweep_points:,}, d=3)", rows)


def bandwidths(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Measure sweeps and the automatic choice in turns with fits at one bandwidth."""
    result = Result("bandwidths", "Many bandwidths, and the automatic choice", [])
    with WorkerClient() as worker:
        judged_here = (SWEEP, DEFAULT_SWEEP, AUTOMATIC, FEW_SWEEP, JOINED)
        for full_case, goals in goals_of(*judged_here).items():
            case = divide_points(full_case, preset.goal_divisor)
            judged = [name for goal in goals for name in (goal.contender, goal.peer) if name]
            runners = [Runner(worker, name, case) for name in dict.fromkeys([OURS, *judged])]
            ours, *others = measure_in_turns(
                runners, preset.rounds, preset.budget, preset.goal_limit
            )
            rows = [examined(worker, ours, separated=False, must_converge=False), *others]
            report_all(rows, on_measurement)
            result.rows.extend(rows)
            medians = {row.contender: row.median for row in rows}
            for goal in goals if preset.full_size else ():
                base = medians[goal.peer] if goal.peer else 1.0
                if (median := medians[goal.contender]) and base:
                    result.reached[goal.key] = median / base
    return result


def threads(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Vary the threads where binning takes most of the time (h=1) and where the search does."""
    cores = machine.cores()
    counts = sorted({1, 2, cores, 2 * cores, *(2**i for i in range(cores.bit_length()))})
    rows: list[Measurement] = []
    with WorkerClient() as worker:
        for n, h in ((10 * preset.h_sweep_points, 1.0), (preset.h_sweep_points, 0.2)):
            case = Case(Data(n), bandwidth=h)
            runners = [Runner(worker, OURS, replace(case, threads=t)) for t in counts]
            first, *others = measure_in_turns(
                runners, preset.rounds, preset.budget, preset.goal_limit
            )
            first = examined(worker, first, separated=h == 1 and preset.full_size)
            report_all((first, *others), on_measurement)
            rows += [first, *others]
    return Result("threads", "Time by number of threads (d=3)", rows)


def small(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Cluster Iris: the overhead of a call with almost no data."""
    keys = {"iris-kernel": "kernel", "iris-estimator": OURS}
    case = BY_KEY["iris-estimator"].case
    assert case is not None
    with WorkerClient() as worker:
        runners = [Runner(worker, name, case) for name in (*keys.values(), FLOOR)]
        rows = measure_in_turns(runners, 5 * preset.rounds, preset.budget, preset.limit)
        rows = [
            row if row.contender == FLOOR else examined(worker, row, separated=False)
            for row in rows
        ]
    report_all(rows, on_measurement)
    medians = {row.contender: row.median for row in rows}
    reached = {key: 1e6 * value for key, name in keys.items() if (value := medians[name])}
    return Result("small", "A small table: Iris, h=0.7", rows, reached)


def large(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Measure 1e8 points and the first tenth of them in turns."""
    goal = BY_KEY["large-time"]
    assert goal.case is not None
    whole = divide_points(goal.case, preset.goal_divisor)
    tenth = replace(whole, rows=whole.data.n // 10)
    with WorkerClient() as worker:
        runners = [Runner(worker, c, case) for case in (tenth, whole) for c in (FLOOR, OURS)]
        tenth_floor, tenth_ours, whole_floor, whole_ours = measure_in_turns(
            runners, preset.rounds, 4 * preset.budget, preset.goal_limit
        )
        whole_ours = examined(worker, whole_ours, separated=preset.full_size)
    rows = [whole_floor, whole_ours, tenth_floor, tenth_ours]
    report_all(rows, on_measurement)
    reached = {}
    if preset.full_size and whole_ours.median and tenth_ours.median:
        reached[goal.key] = whole_ours.median / tenth_ours.median
    return Result("large", f"{whole.data.n:.0e} points".replace("e+0", "e"), rows, reached)
