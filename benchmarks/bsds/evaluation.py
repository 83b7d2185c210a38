"""Choose the settings, run them on everything, take the times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from numpy.typing import ArrayLike
from rich.progress import Progress

from benchmarks.bsds import report
from benchmarks.bsds.journal import Journal, Task
from benchmarks.bsds.photos import Photo, spread
from benchmarks.bsds.race import LARGE, Race, contenders, mosaics, race
from benchmarks.bsds.report import Outcome, Trial
from benchmarks.bsds.segmenters import METHODS, Method, Setting
from benchmarks.common.partitions import Scores, mean, score
from benchmarks.common.shown import progress

EVERY = 8  # photographs: the settings are chosen on one in so many
SHOWN = 20  # photographs on the contact sheet, which are those that are timed


def evaluate(segment: Callable[..., ArrayLike], photos: Iterable[Photo]) -> Scores:
    """Give the mean scores of a function from an image to labels."""
    return mean(score(segment(photo.image), photo.truths) for photo in photos)


def run(photos: list[Photo], jobs: int, out: Path, timed: int = SHOWN) -> Outcome:
    """Choose the settings, run them on everything, take the times."""
    where, journal = report.describe(), Journal(out / "bsds.jsonl")
    sample = photos[::EVERY]
    with progress() as bar:
        tasks = [Task(photo, name, [*m.grid]) for photo in sample for name, m in METHODS.items()]
        fill(journal, tasks, jobs, bar, "settings")
        trials = {m.name: tried(m, sample, journal) for m in METHODS.values()}
        chosen = {name: best(those) for name, those in trials.items()}
        every = {m.name: sample if m.sampled else photos for m in METHODS.values()}
        tasks = [Task(p, name, [chosen[name]]) for name in chosen for p in every[name]]
        fill(journal, tasks, jobs, bar, "all photographs")
        shown = spread(photos, timed)
        races = take_times(shown, chosen, bar)
    found = {
        name: {photo.name: journal.get(METHODS[name], chosen[name], photo) for photo in group}
        for name, group in every.items()
    }
    return Outcome(where, len(photos), EVERY, trials, chosen, found, shown, *races)


def fill(journal: Journal, tasks: list[Task], jobs: int, bar: Progress, title: str) -> None:
    work = bar.add_task(title, total=sum(len(task.settings) for task in tasks))
    journal.fill(tasks, jobs, lambda number: bar.advance(work, number))


def tried(method: Method, sample: list[Photo], journal: Journal) -> list[Trial]:
    """Average each setting over the sample."""
    return [
        Trial(setting, mean(journal.get(method, setting, photo).scores for photo in sample))
        for setting in method.grid
    ]


def best(trials: list[Trial]) -> Setting:
    return max(trials, key=lambda trial: trial.scores.goal).setting


def take_times(shown: list[Photo], chosen: dict[str, Setting], bar: Progress) -> tuple[Race, Race]:
    """Let all take turns on the photographs, and the fast ones on a megapixel."""
    calls, images = contenders(chosen), [photo.image for photo in shown]
    few = {name: call for name, call in calls.items() if name in LARGE}
    large = mosaics(shown)
    work = bar.add_task("times", total=len(images) * len(calls) + len(large) * len(few))
    return tuple(race(*what, lambda: bar.advance(work)) for what in ((images, calls), (large, few)))
