"""Run the whole benchmark: every contender tracks every sequence, then they take turns.

Each makes one pass over a sequence, and one that starts again after a failure (`restarts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.progress import Progress, TaskID

from benchmarks.common.reporting import progress_bar
from benchmarks.tracking import report
from benchmarks.tracking.report import Outcome
from benchmarks.tracking.restarts import track_segments
from benchmarks.tracking.sequences import VideoSequence
from benchmarks.tracking.timing import measure_in_turns
from benchmarks.tracking.track_cache import TrackCache
from benchmarks.tracking.trackers import Contender, track


def run(
    sequences: list[VideoSequence],
    trackers: Mapping[str, Contender],
    out: Path,
    *,
    take_times: bool = True,
) -> Outcome:
    """Track every sequence with every contender, then take times."""
    facts, cache = report.describe(), TrackCache(out / "tracking.jsonl")
    with progress_bar() as bar:
        updates = sum(len(sequence.files) - 1 for sequence in sequences)
        task = bar.add_task("tracking", total=2 * updates * len(trackers))
        for sequence in sequences:
            fill(cache, sequence, trackers, bar, task)
        timings = measure_in_turns(trackers, bar) if take_times else None
    tracks = {
        name: {sequence.name: cache.get(each, sequence) for sequence in sequences}
        for name, each in trackers.items()
    }
    segments = {
        name: [
            segment
            for sequence in sequences
            for segment in cache.get_segments(each, sequence) or []
        ]
        for name, each in trackers.items()
    }
    return Outcome(facts, sequences, tracks, segments, timings)


def fill(
    cache: TrackCache,
    sequence: VideoSequence,
    trackers: Mapping[str, Contender],
    bar: Progress,
    task: TaskID,
) -> None:
    """Compute the missing tracks of one sequence; its frames are read only if there are any."""
    done = bar.tasks[task].completed + 2 * len(trackers) * (len(sequence.files) - 1)
    passes = [each for each in trackers.values() if cache.get(each, sequence) is None]
    restarts = [each for each in trackers.values() if cache.get_segments(each, sequence) is None]
    frames = sequence.frames() if passes or restarts else []
    for each in passes:
        bar.update(task, description=f"{sequence.name}, {each.name}")
        found = track(each, frames, sequence.start, lambda: bar.advance(task))
        cache.add(each, sequence, found)
    for each in restarts:
        bar.update(task, description=f"{sequence.name}, {each.name}, with restarts")
        segments = track_segments(each, frames, sequence.truth, lambda: bar.advance(task))
        cache.add_segments(each, sequence, segments)
    bar.update(task, completed=done)
