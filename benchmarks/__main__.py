"""Run benchmarks; print tables and what became of the goals; write JSON, Markdown and pictures.

A wrong answer ends its benchmark and makes the exit status 1. A missed goal is only printed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.common import RESULTS, machine
from benchmarks.speed import report, suite, upkeep
from benchmarks.speed.checks import WrongAnswerError
from benchmarks.speed.contenders import NOTHING
from benchmarks.speed.lanes import Row
from benchmarks.speed.suite import FULL, QUICK, Result, Say, Scale

BENCHMARKS: dict[str, Callable[[Scale, Say], Result]] = {
    "floor": suite.floor,
    "peers": suite.peers,
    "small": suite.small,
    "n": suite.sweep_n,
    "d": suite.sweep_d,
    "h": suite.sweep_h,
    "threads": suite.threads,
    "memory": upkeep.memory,
    "startup": upkeep.startup,
    "large": suite.large,
}
LARGE = 100_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes; most goals not judged")
    parser.add_argument("--large", action="store_true", help="also 1e8 points (1.2 GB)")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="folder for the results")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    if given.quick and given.large:
        parser.error("--quick and --large exclude each other")
    if "large" in given.names and not given.large:
        parser.error("the benchmark large needs --large")
    scale = QUICK if given.quick else FULL
    if given.large:
        scale = replace(scale, large=True, sizes=(*scale.sizes, LARGE))
    names = given.names or [name for name in BENCHMARKS if name != "large" or given.large]
    flags = ["--quick"] * given.quick + ["--large"] * given.large
    options = " ".join([*flags, *given.names])  # without the folder: results hold no path
    return run(names, scale, given.output, options)


def run(names: Sequence[str], scale: Scale, folder: Path, options: str = "") -> int:
    """Run benchmarks, print and write what they found."""
    screen, progress = console(), console(stderr=True)
    where = machine.describe()
    results: list[Result] = []
    failures: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        head = f"[bold]{name}[/] ({number} of {len(names)})"
        progress.print(head)
        start = perf_counter()
        with progress.status(head):
            try:
                results.append(BENCHMARKS[name](scale, teller(progress)))
            except WrongAnswerError as wrong:
                failures[name] = str(wrong)
                progress.print(f"WRONG ANSWER: {wrong}", style="bold red", markup=False)
        progress.print(f"  [dim]{perf_counter() - start:.0f} s[/]")
    drawn = [drawn_result(result, folder) for result in results]
    report.write(folder, drawn, failures, where, options)
    for result in drawn:
        show(screen, result.title, report.table(result), result.notes)
    header, lines = report.goals_table(drawn)
    show(screen, "Goals", (header[:-1], [line[:-1] for line in lines]), [])  # how is in the page
    screen.print(f"Results and pictures are in {folder.name}/", style="dim")
    for name, reason in failures.items():
        screen.print(f"WRONG ANSWER in {name}: {reason}", style="bold red", markup=False)
    return 1 if failures else 0


def console(stderr: bool = False) -> Console:
    """Make a console that leaves lines whole where nobody's window is too narrow for them."""
    wide = Console(stderr=stderr, highlight=False)
    return wide if wide.is_terminal else Console(stderr=stderr, highlight=False, width=180)


def teller(progress: Console) -> Say:
    """Make what says in a line how a contender did."""

    def say(row: Row) -> None:
        time = report.duration(row.median)
        runs = f"median of {len(row.times)}" if len(row.times) > 1 else ""
        threads = f"{row.case.threads} threads" if row.case.threads else ""
        size = "" if row.bytes is None else f"{row.bytes / 2**20:,.1f} MiB"
        case = "" if row.case is NOTHING else f"{row.case!s:40}"
        words = (f"{row.contender:>14}", case, threads, size or time, "" if size else runs)
        progress.print("  " + "  ".join(filter(None, (*words, row.note))), markup=False)

    return say


def drawn_result(result: Result, folder: Path) -> Result:
    from benchmarks.speed import plots

    return replace(result, extra=result.extra | {"picture": plots.draw(result, folder)})


def show(screen: Console, title: str, content: report.Table, notes: Sequence[str]) -> None:
    header, rows = content
    grid = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in header:
        words = name in ("work", "goal", "how", "contender", "note", "points", "")
        grid.add_column(name, justify="left" if words else "right")
    for row in rows:
        grid.add_row(*(cell.replace("[", r"\[") for cell in row))
    screen.print(grid)
    for note in notes:
        screen.print(f"  {note}", style="dim", markup=False)


if __name__ == "__main__":
    sys.exit(main())
