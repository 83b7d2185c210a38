"""The benchmarks of speed: what is run, at which sizes, with which check.

A benchmark takes a scale and a place to say how it goes, and gives a `Result`. Which sizes belong
to a quick run, a full one or the tests is the scale's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmarks.common import machine
from benchmarks.common.data import Data
from benchmarks.speed.checks import Facts, verify
from benchmarks.speed.contenders import FLOOR, OURS, Case
from benchmarks.speed.goals import BY_KEY, against
from benchmarks.speed.lanes import Entry, Field, Lane, Row, race

Say = Callable[[Row], None]
PEERS = ("KMeans", "DBSCAN", "fast-hdbscan", "HDBSCAN", "MeanShift")


@dataclass(frozen=True)
class Scale:
    """How large everything is."""

    sizes: tuple[int, ...]  # of the sweep over n, and of memory
    part: int  # goals are run at this part of their size; only 1 is judged
    across: int  # points in the sweep over d
    dimensions: tuple[int, ...]
    along: int  # points in the sweep over h
    bandwidths: tuple[float, ...]
    peers: tuple[str, ...] = PEERS
    rounds: int = 7
    starts: int = 15  # fresh interpreters of each kind
    budget: float = 10.0  # seconds after which a contender runs no further rounds
    limit: float = 20.0  # seconds a peer may take in a sweep
    long_limit: float = 180.0  # seconds a peer may take where a goal is against it
    large: bool = False


FULL = Scale(
    sizes=(1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    part=1,
    across=100_000,
    dimensions=tuple(range(1, 11)),
    along=1_000_000,
    bandwidths=(0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.0, 2.5),
)
QUICK = replace(
    FULL,
    sizes=(1_000, 10_000, 100_000),
    part=100,
    across=10_000,
    dimensions=(1, 2, 3, 5, 8),
    along=100_000,
    bandwidths=(0.2, 0.5, 1.0, 2.0),
    rounds=3,
    starts=5,
    budget=2.0,
    limit=5.0,
    long_limit=60.0,
)
TINY = replace(
    QUICK,
    sizes=(1_000, 2_000),
    part=5_000,
    across=2_000,
    dimensions=(1, 3),
    along=2_000,
    bandwidths=(0.5, 1.0),
    peers=("KMeans",),
    rounds=2,
    starts=1,
)


@dataclass(frozen=True)
class Result:
    """What a benchmark found."""

    name: str
    title: str
    rows: list[Row]
    reached: dict[str, float] = field(default_factory=dict)  # by the key of the goal
    notes: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)


def examined(lane: Lane, row: Row, **demands: bool) -> Row:
    """Check the last answer of ours in a lane, and put what was found into its row."""
    case = row.case
    facts = lane.ask("examine", contender=row.contender, case=asdict(case))
    verify(Facts(**facts), case, **demands)
    stopped = "" if facts["converged"] else f"stopped after {facts['steps']} steps"
    return replace(row, facts=facts, note=row.note or stopped)


def smaller(case: Case, part: int) -> Case:
    return replace(case, data=replace(case.data, n=max(case.data.n // part, 200)))


def floor(scale: Scale, say: Say) -> Result:
    """Take ours and X.sum() in turns, for every goal that is a ratio to it."""
    rows: list[Row] = []
    reached: dict[str, float] = {}
    with Lane() as lane:
        for goal in against(FLOOR):
            assert goal.case is not None
            case = smaller(goal.case, scale.part)
            entries = [Entry(lane, contender, case) for contender in (FLOOR, OURS)]
            base, mine = race(entries, 2 * scale.rounds, 4 * scale.budget, scale.long_limit)
            mine = examined(lane, mine, separated=goal.separated and scale.part == 1)
            rows += [base, mine]
            for row in rows[-2:]:
                say(row)
            if scale.part == 1 and mine.to_floor:
                reached[goal.key] = mine.to_floor
    return Result("floor", "Against reading the data once", rows, reached)


def peers(scale: Scale, say: Say) -> Result:
    """Race the peers that goals name, at the goal's size or, where that takes too long, below."""
    result = Result("peers", "Against a peer, at the size of the goal", [])
    for goal in against(*scale.peers):
        assert goal.case is not None
        assert goal.against is not None
        case = smaller(goal.case, scale.part)
        while True:
            rows = pair(goal.against, case, scale)
            for row in rows:
                say(row)
            result.rows.extend(rows)
            theirs = next(row for row in rows if row.contender == goal.against)
            if theirs.times or case.data.n < 1_000:
                break
            result.notes.append(f"{goal.against} at {case.data}: {theirs.note}; run at a tenth")
            case = smaller(case, 10)
        if theirs.to_ours and case == goal.case:
            result.reached[goal.key] = theirs.to_ours
    return result


def pair(peer: str, case: Case, scale: Scale) -> list[Row]:
    with Field([peer]) as field:
        rows = field.race(case, scale.rounds, scale.budget, scale.long_limit)
        return check_ours(field, rows, separated=scale.part == 1)


def check_ours(field: Field, rows: Iterable[Row], **demands: bool) -> list[Row]:
    return [
        examined(field.lane(OURS), row, **demands) if row.contender == OURS else row for row in rows
    ]


def sitting(scale: Scale) -> str:
    return f"A peer that takes more than {scale.limit:g} s is stopped, and sits out what is larger"


def sweep_n(scale: Scale, say: Say) -> Result:
    """Grow n tenfold and keep every peer as long as it is within the limit."""
    rows: list[Row] = []
    with Field(scale.peers) as field:
        for n, following in zip(scale.sizes, (*scale.sizes[1:], None), strict=True):
            found = field.race(Case(Data(n)), scale.rounds, scale.budget, scale.limit)
            rows += check_ours(field, found)
            for row in rows[-len(found) :]:
                say(row)
            if following:
                field.spare(found, following / n, scale.limit)
    title = "Time against the number of points (d=3, h=1)"
    return Result("n", title, rows, notes=[sitting(scale)], extra={"limit": scale.limit})


def sweep_d(scale: Scale, say: Say) -> Result:
    """Grow the dimension, with the two peers that can keep up with 100,000 points."""
    rows: list[Row] = []
    chosen = [peer for peer in ("KMeans", "fast-hdbscan") if peer in scale.peers]
    with Field(chosen) as field:
        for d in scale.dimensions:
            case = Case(Data(scale.across, d))
            found = field.race(case, scale.rounds, scale.budget / 2, scale.limit)
            rows += check_ours(field, found, separated=scale.part == 1)
            for row in rows[-len(found) :]:
                say(row)
    title = f"Time against the dimension (n={scale.across:,}, h=1)"
    return Result("d", title, rows, notes=[sitting(scale)])


def sweep_h(scale: Scale, say: Say) -> Result:
    """Vary the bandwidth: from nearly every point its own cell to a handful of cells."""
    rows: list[Row] = []
    with Lane() as lane:
        for h in scale.bandwidths:
            case = Case(Data(scale.along), bandwidth=h)
            entries = [Entry(lane, contender, case) for contender in (FLOOR, OURS)]
            base, mine = race(entries, scale.rounds, scale.budget, scale.long_limit)
            fair = 0.7 <= h <= 2 and scale.part == 1
            rows += [base, examined(lane, mine, separated=fair, ends=fair)]
            for row in rows[-2:]:
                say(row)
    return Result("h", f"Time against the bandwidth (n={scale.along:,}, d=3)", rows)


def threads(scale: Scale, say: Say) -> Result:
    """Vary the threads, where binning takes the time (h=1) and where the search does (h=0.2)."""
    cores, rows = machine.cores(), []
    counts = sorted({1, 2, cores, 2 * cores, *(2**i for i in range(cores.bit_length()))})
    with Lane() as lane:
        for n, h in ((10 * scale.along, 1.0), (scale.along, 0.2)):
            case = Case(Data(n), bandwidth=h)
            entries = [Entry(lane, OURS, replace(case, threads=t)) for t in counts]
            found = race(entries, scale.rounds, scale.budget, scale.long_limit)
            separated = h == 1 and scale.part == 1
            rows += [examined(lane, found[0], separated=separated), *found[1:]]
            for row in rows[-len(counts) :]:
                say(row)
    return Result("threads", "Time against the number of threads (d=3)", rows)


def small(scale: Scale, say: Say) -> Result:
    """Cluster Iris: what a call costs when there is nothing to do."""
    keys = {"iris-kernel": "kernel", "iris-estimator": OURS}
    case = BY_KEY["iris-estimator"].case
    assert case is not None
    with Lane() as lane:
        entries = [Entry(lane, name, case) for name in (*keys.values(), FLOOR)]
        rows = race(entries, 5 * scale.rounds, scale.budget, scale.limit)
        rows = [
            examined(lane, row, separated=False) if row.contender in keys.values() else row
            for row in rows
        ]
    for row in rows:
        say(row)
    medians = {row.contender: row.median for row in rows}
    reached = {key: 1e6 * value for key, name in keys.items() if (value := medians[name])}
    return Result("small", "A small table: Iris, h=0.7", rows, reached)


def large(scale: Scale, say: Say) -> Result:
    """Take 1e8 points and the first tenth of them in turns."""
    goal = BY_KEY["large-time"]
    assert goal.case is not None
    whole = smaller(goal.case, scale.part)
    tenth = replace(whole, rows=whole.data.n // 10)
    with Lane() as lane:
        entries = [Entry(lane, c, case) for case in (tenth, whole) for c in (FLOOR, OURS)]
        few_read, few, read, many = race(entries, scale.rounds, 4 * scale.budget, scale.long_limit)
        many = examined(lane, many, separated=scale.part == 1)
    rows = [read, many, few_read, few]
    for row in rows:
        say(row)
    reached = {}
    if scale.part == 1 and many.median and few.median:
        reached[goal.key] = many.median / few.median
    return Result("large", f"{whole.data.n:.0e} points".replace("e+0", "e"), rows, reached)
