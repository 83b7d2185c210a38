"""Run the speed benchmarks; print tables and goals; write JSON, Markdown and plots.

A wrong result ends its benchmark, and the exit status is 1. A missed goal is only reported.
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

from benchmarks.common import machine
from benchmarks.common.command_line import add_output_option
from benchmarks.speed import (
    density_benchmark,
    features_benchmark,
    files_benchmark,
    memory_benchmark,
    report,
    startup_benchmark,
    time_benchmarks,
)
from benchmarks.speed.checks import WrongResultError
from benchmarks.speed.contenders import NO_CASE
from benchmarks.speed.presets import FULL, QUICK, Preset
from benchmarks.speed.results import Measurement, OnMeasurement, Result

BENCHMARKS: dict[str, Callable[[Preset, OnMeasurement], Result]] = {
    "floor": time_benchmarks.floor,
    "peers": time_benchmarks.peers,
    "small": time_benchmarks.small,
    "n": time_benchmarks.sweep_n,
    "d": time_benchmarks.sweep_d,
    "h": time_benchmarks.sweep_h,
    "bandwidths": time_benchmarks.bandwidths,
    "features": features_benchmark.features,
    "density": density_benchmark.density,
    "files": files_benchmark.files,
    "threads": time_benchmarks.threads,
    "memory": memory_benchmark.memory,
    "startup": startup_benchmark.startup,
    "large": time_benchmarks.large,
}
LARGE = 100_000_000
TEXT_COLUMNS = ("work", "goal", "how", "contender", "note", "points", "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names_help = f"some of: {', '.join(BENCHMARKS)} (default: all)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=names_help)
    parser.add_argument("--quick", action="store_true", help="small sizes; skips most goals")
    parser.add_argument("--large", action="store_true", help="also 1e8 points (1.2 GB)")
    add_output_option(parser, "-o", "--output")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}; choose from {', '.join(BENCHMARKS)}")
    if options.quick and options.large:
        parser.error("--quick and --large exclude each other")
    if "large" in options.names and not options.large:
        parser.error("the benchmark 'large' needs --large")
    preset = QUICK if options.quick else FULL
    if options.large:
        preset = replace(preset, sizes=(*preset.sizes, LARGE))
    names = options.names or [name for name in BENCHMARKS if name != "large" or options.large]
    flags = ["--quick"] * options.quick + ["--large"] * options.large
    command = " ".join([*flags, *options.names])  # without the folder: results contain no path
    return run(names, preset, options.output, command)


def run(names: Sequence[str], preset: Preset, folder: Path, command: str = "") -> int:
    """Run benchmarks, print and write their results, and return the exit status."""
    screen, progress = make_console(), make_console(stderr=True)
    facts = machine.describe()
    results: list[Result] = []
    failures: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        heading = f"[bold]{name}[/] ({number} of {len(names)})"
        progress.print(heading)
        start = perf_counter()
        with progress.status(heading):
            try:
                results.append(BENCHMARKS[name](preset, measurement_printer(progress)))
            except WrongResultError as error:
                failures[name] = str(error)
                progress.print(f"WRONG RESULT: {error}", style="bold red", markup=False)
        progress.print(f"  [dim]{perf_counter() - start:.0f} s[/]")
    results = [with_plot(result, folder) for result in results]
    report.write(folder, results, failures, facts, command)
    print_results(screen, results, failures)
    screen.print(f"Results and plots are in {folder.name}/", style="dim")
    return 1 if failures else 0


def make_console(stderr: bool = False) -> Console:
    """Return a console that is 180 columns wide if the output is not a terminal."""
    console = Console(stderr=stderr, highlight=False)
    return console if console.is_terminal else Console(stderr=stderr, highlight=False, width=180)


def measurement_printer(progress: Console) -> OnMeasurement:
    """Return a callback that prints one line for each measurement."""

    def print_line(row: Measurement) -> None:
        case = "" if row.case is NO_CASE else f"{row.case!s:40}"
        threads = f"{row.case.threads} threads" if row.case.threads else ""
        if row.bytes is None:
            figure = report.duration(row.median)
            runs = f"median of {len(row.times)}" if len(row.times) > 1 else ""
        else:
            figure, runs = f"{row.bytes / 2**20:,.1f} MiB", ""
        parts = (f"{row.contender:>14}", case, threads, figure, runs, row.note)
        progress.print("  " + "  ".join(filter(None, parts)), markup=False)

    return print_line


def with_plot(result: Result, folder: Path) -> Result:
    """Draw the plot of a result if it has one, and record that."""
    from benchmarks.speed import plots

    return replace(result, extra=result.extra | {"picture": plots.draw(result, folder)})


def print_results(screen: Console, results: Sequence[Result], failures: dict[str, str]) -> None:
    for result in results:
        print_table(screen, result.title, report.table(result), result.notes)
    header, rows = report.goals_table(results)
    print_table(screen, "Goals", (header[:-1], [row[:-1] for row in rows]))  # "how" is too wide
    for name, reason in failures.items():
        screen.print(f"WRONG RESULT in {name}: {reason}", style="bold red", markup=False)


def print_table(
    screen: Console, title: str, content: report.Table, notes: Sequence[str] = ()
) -> None:
    header, rows = content
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for name in header:
        table.add_column(name, justify="left" if name in TEXT_COLUMNS else "right")
    for row in rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    screen.print(table)
    for note in notes:
        screen.print(f"  {note}", style="dim", markup=False)


if __name__ == "__main__":
    sys.exit(main())
