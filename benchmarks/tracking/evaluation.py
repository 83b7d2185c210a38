"""Let every contender track every sequence, then race."""

from __future__ import annotations

from pathlib import Path

from rich.progress import Progress

from benchmarks.common.shown import progress
from benchmarks.tracking import report
from benchmarks.tracking.data import Film
from benchmarks.tracking.journal import Journal
from benchmarks.tracking.peers import contenders, follow
from benchmarks.tracking.race import race
from benchmarks.tracking.report import Outcome


def run(films: list[Film], out: Path, racing: bool = True) -> Outcome:
    """Let every contender track every sequence, then race."""
    where, journal = report.describe(), Journal(out / "tracking.jsonl")
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
