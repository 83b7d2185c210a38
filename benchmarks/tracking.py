"""Trackers on sequences with a box for every frame: ours, the paper's Algorithm 3, and OpenCV's.

    python -m benchmarks.tracking DATA_DIR                      # all, some minutes for CSRT
    python -m benchmarks.tracking DATA_DIR --only Bird2 Couple  # to see that it runs
    python -m benchmarks.tracking DATA_DIR --backwards --out DIR  # from the last frames on

One pass over every sequence from the truth of its first frame, one setting for all. A track is
kept in a journal with what it depends on, so that a second run only does what is missing. Then a
race: a window of 100 x 100 in frames of 640 x 480, in turns, on one thread. It writes tracking.md,
tracking.json, tracking.png (curves and bars) and strips/NAME.jpg (to look at). Backwards, the
sequences are other films with other beginnings, if not independent ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks import tracking_plots, tracking_report
from benchmarks.notes import Notes
from benchmarks.shown import progress, show
from benchmarks.tracking_data import Film, load
from benchmarks.tracking_measures import Track
from benchmarks.tracking_peers import Contender, contenders, follow
from benchmarks.tracking_race import race
from benchmarks.tracking_report import Outcome

RESULTS = Path(__file__).parent / "results"


class Journal:
    """The tracks so far."""

    def __init__(self, path: Path) -> None:
        self._notes = Notes(path)

    def get(self, contender: Contender, film: Film) -> Track | None:
        noted = self._notes.get(*_key(contender, film))
        if noted is None:
            return None
        boxes, ok, seconds = noted
        return Track(np.array(boxes, float), np.array(ok, bool), seconds)

    def add(self, contender: Contender, film: Film, track: Track) -> None:
        value = [track.boxes.round(2).tolist(), track.ok.tolist(), track.seconds]
        self._notes.keep(*_key(contender, film), value=value)


def _key(contender: Contender, film: Film) -> tuple[str, ...]:
    return contender.name, contender.made_of, film.name, film.made_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; give the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tracking",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="has a folder a sequence")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="some sequences")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--backwards", action="store_true", help="play from the last frames on")
    parser.add_argument("--no-race", action="store_true", help="leave the race out")
    given = parser.parse_args(arguments)
    try:
        films = load(given.data, given.only, given.backwards)
    except (FileNotFoundError, ValueError) as error:
        parser.error(str(error))
    outcome = run(films, given.out, not given.no_race)
    tracking_report.write(outcome, given.out)
    tracking_plots.overview(outcome, given.out / "tracking.png")
    tracking_plots.strips(outcome, given.out / "strips")
    show(tracking_report.tables(outcome), Console())
    return 0


def run(films: list[Film], out: Path, racing: bool = True) -> Outcome:
    """Let every contender track every sequence, then race."""
    where, journal = tracking_report.describe(), Journal(out / "tracking.jsonl")
    with progress() as bar:
        updates = sum(len(film.files) - 1 for film in films)
        work = bar.add_task("tracking", total=updates * len(contenders()))
        for film in films:
            fill(journal, film, bar, work)
        times = race(bar) if racing else None
    found = {
        name: {film.name: journal.get(each, film) for film in films}
        for name, each in contenders().items()
    }
    return Outcome(where, films, found, times)


def fill(journal: Journal, film: Film, bar: Progress, work: int) -> None:
    """Do what is missing of one sequence; its frames are read only then."""
    missing = [each for each in contenders().values() if journal.get(each, film) is None]
    bar.advance(work, (len(contenders()) - len(missing)) * (len(film.files) - 1))
    frames = film.frames() if missing else []
    for each in missing:
        bar.update(work, description=f"{film.name}, {each.name}")
        track = follow(each, frames, film.start, lambda: bar.advance(work))
        journal.add(each, film, track)


if __name__ == "__main__":
    raise SystemExit(main())
