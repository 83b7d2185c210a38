"""Run the whole benchmark: choose settings, score all photographs, take times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from numpy.typing import ArrayLike
from rich.progress import Progress

from benchmarks.bsds import report
from benchmarks.bsds.photos import Photo, evenly_spaced
from benchmarks.bsds.report import Outcome, Trial
from benchmarks.bsds.score_cache import ScoreCache, Task
from benchmarks.bsds.segmenters import METHODS, Method, Setting
from benchmarks.bsds.timing import LARGE, Timings, contenders, measure_in_turns, mosaics
from benchmarks.common.partition_metrics import Scores, mean, score
from benchmarks.common.reporting import progress_bar

SAMPLE_STEP = 8  # settings are chosen on every eighth photograph
TIMED = 20  # photographs that are timed and shown on the contact sheet


def evaluate(segment: Callable[..., ArrayLike], photos: Iterable[Photo]) -> Scores:
    """Return the mean scores of a function from an image to labels."""
    return mean(score(segment(photo.image), photo.truths) for photo in photos)


def run(photos: list[Photo], jobs: int, out: Path, n_timed: int = TIMED) -> Outcome:
    """Choose the settings, score all photographs and take the times."""
    facts, cache = report.describe(), ScoreCache(out / "bsds.jsonl")
    sample = photos[::SAMPLE_STEP]
    with progress_bar() as bar:
        tasks = [Task(photo, name, [*m.grid]) for photo in sample for name, m in METHODS.items()]
        fill(cache, tasks, jobs, bar, "settings")
        trials = {m.name: mean_trials(m, sample, cache) for m in METHODS.values()}
        chosen = {name: best_setting(those) for name, those in trials.items()}
        scored = {m.name: sample if m.sample_only else photos for m in METHODS.values()}
        tasks = [Task(p, name, [chosen[name]]) for name in chosen for p in scored[name]]
        fill(cache, tasks, jobs, bar, "all photographs")
        timed = evenly_spaced(photos, n_timed)
        timings = take_times(timed, chosen, bar)
    segmentations = {
        name: {photo.name: cache.get(METHODS[name], chosen[name], photo) for photo in group}
        for name, group in scored.items()
    }
    return Outcome(facts, len(photos), SAMPLE_STEP, trials, chosen, segmentations, timed, *timings)


def fill(cache: ScoreCache, tasks: list[Task], jobs: int, bar: Progress, title: str) -> None:
    progress = bar.add_task(title, total=sum(len(task.settings) for task in tasks))
    cache.fill(tasks, jobs, lambda amount: bar.advance(progress, amount))


def mean_trials(method: Method, sample: list[Photo], cache: ScoreCache) -> list[Trial]:
    """Average each setting over the sample."""
    return [
        Trial(setting, mean(cache.get(method, setting, photo).scores for photo in sample))
        for setting in method.grid
    ]


def best_setting(trials: list[Trial]) -> Setting:
    return max(trials, key=lambda trial: trial.scores.selection_score).setting


def take_times(
    photos: list[Photo], chosen: dict[str, Setting], bar: Progress
) -> tuple[Timings, Timings]:
    """Time all methods on the photographs, and the fast ones on a megapixel."""
    calls, images = contenders(chosen), [photo.image for photo in photos]
    fast_calls = {name: call for name, call in calls.items() if name in LARGE}
    large = mosaics(photos)
    total = len(images) * len(calls) + len(large) * len(fast_calls)
    progress = bar.add_task("times", total=total)

    def advance() -> None:
        bar.advance(progress)

    return measure_in_turns(images, calls, advance), measure_in_turns(large, fast_calls, advance)
