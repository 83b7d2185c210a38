"""Segmentations of BSDS500 held against what people drew: ours, the paper's own, and the peers.

    python -m benchmarks.bsds DATA_DIR              # all of it, about forty minutes on two cores
    python -m benchmarks.bsds DATA_DIR --limit 12   # to see that it runs

Every method with settings is tried with all of its grid on every eighth photograph; the one with
the highest mean of ARI, Fowlkes-Mallows and covering is then run on all of them. `segment` runs as
it ships. Then all take turns for their times. What was computed is kept: a second run only does
what is missing. It writes bsds.md, bsds.json, bsds.png (who wins) and bsds_sheet.png (to look at).

From Python, to try an idea:

    from benchmarks.bsds import evaluate, load
    print(evaluate(lambda image: segment(image, detail=1.2), load(DATA_DIR, 40)))
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from numpy.typing import ArrayLike
from rich.console import Console
from rich.progress import Progress

from benchmarks import bsds_plots, bsds_report
from benchmarks.bsds_report import Outcome, Trial
from benchmarks.journal import Journal, Task
from benchmarks.partitions import Scores, mean, score
from benchmarks.photos import Photo, load, spread
from benchmarks.race import LARGE, Race, contenders, mosaics, race
from benchmarks.segmenters import METHODS, Method, Setting
from benchmarks.shown import progress, show

__all__ = ["evaluate", "load", "main", "mean", "score", "spread"]

RESULTS = Path(__file__).parent / "results"
EVERY = 8  # photographs: the settings are chosen on one in so many
SHOWN = 20  # photographs on the contact sheet, which are those that are timed


def evaluate(segment: Callable[..., ArrayLike], photos: Iterable[Photo]) -> Scores:
    """Give the mean scores of a function from an image to labels."""
    return mean(score(segment(photo.image), photo.truths) for photo in photos)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; give the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bsds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="has images/ and groundTruth/")
    parser.add_argument("--limit", type=int, metavar="N", help="only N of the photographs")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args(arguments)
    if min(given.jobs, given.limit or 1) < 1:
        parser.error("--jobs and --limit must be at least 1")
    try:
        photos = load(given.data, given.limit)
    except FileNotFoundError as error:
        parser.error(str(error))
    outcome = run(photos, given.jobs, given.out)
    bsds_report.write(outcome, given.out)
    bsds_plots.wins(outcome, given.out / "bsds.png")
    bsds_plots.sheet(outcome, given.out / "bsds_sheet.png")
    show(bsds_report.tables(outcome), Console())
    return 0


def run(photos: list[Photo], jobs: int, out: Path, timed: int = SHOWN) -> Outcome:
    """Choose the settings, run them on everything, take the times."""
    where, journal = bsds_report.describe(), Journal(out / "bsds.jsonl")
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


if __name__ == "__main__":
    raise SystemExit(main())
