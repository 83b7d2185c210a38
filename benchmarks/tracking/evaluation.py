"""Run the whole benchmark: every contender tracks every sequence, then they take turns."""

from __future__ import annotations

from pathlib import Path

from rich.progress import Progress, TaskID

from benchmarks.common.reporting import progress_bar
from benchmarks.tracking import report
from benchmarks.tracking.report import Outcome
from benchmarks.tracking.sequences import VideoSequence
from benchmarks.tracking.timing import measure_in_turns
from benchmarks.tracking.track_cache import TrackCache
from benchmarks.tracking.trackers import contenders, track


def run(sequences: list[VideoSequence], out: Path, *, take_times: bool = True) -> Outcome:
    """Track every sequence with every contender, then take times."""
    facts, cache = report.describe(), TrackCache(out / "tracking.jsonl")
    with progress_bar() as bar:
        updates = sum(len(sequence.files) - 1 for sequence in sequences)
        task = bar.add_task("tracking", total=updates * len(contenders()))
        for sequence in sequences:
            fill(cache, sequence, bar, task)
        timings = measure_in_turns(bar) if take_times else None
    tracks = {
        name: {sequence.name: cache.get(each, sequence) for sequence in sequences}
        for name, each in contenders().items()
    }
    return Outcome(facts, sequences, tracks, timings)


def fill(cache: TrackCache, sequence: VideoSequence, bar: Progress, task: TaskID) -> None:
    """Compute the missing tracks of one sequence; its frames are read only if there are any."""
    missing = [each for each in contenders().values() if cache.get(each, sequence) is None]
    bar.advance(task, (len(contenders()) - len(missing)) * (len(sequence.files) - 1))
    frames = sequence.frames() if missing else []
    for each in missing:
        bar.update(task, description=f"{sequence.name}, {each.name}")
        found = track(each, frames, sequence.start, lambda: bar.advance(task))
        cache.add(each, sequence, found)
