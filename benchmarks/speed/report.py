"""The report: tables for the screen and for Markdown, JSON with every time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.common.reporting import (
    Table,
    digits,
    duration,
    machine_table,
    markdown_table,
    write_report,
)
from benchmarks.speed.contenders import NO_CASE, Case
from benchmarks.speed.goals import GOALS, verdict
from benchmarks.speed.results import Measurement, Result

Cell = Callable[[Measurement], str]


def ratio(value: float | None) -> str:
    return "" if value is None else f"{digits(value)}x"


def _fact(name: str) -> Cell:
    return lambda row: f"{row.facts[name]:,}" if row.facts else ""


def _of_case(get: Callable[[Case], str]) -> Cell:
    return lambda row: "" if row.case is NO_CASE else get(row.case)


def _points(case: Case) -> str:
    return str(case.data) if case.rows is None else f"its first {case.rows:,} rows"


COLUMNS: dict[str, Cell] = {
    "points": _of_case(_points),
    "h": _of_case(lambda case: f"{case.bandwidth:.3g}"),
    "threads": _of_case(lambda case: str(case.threads or "")),
    "contender": lambda row: row.contender,
    "best": lambda row: duration(row.best),
    "median": lambda row: duration(row.median),
    "runs": lambda row: str(len(row.times) or ""),
    "to X.sum()": lambda row: ratio(row.to_floor),
    "to ours": lambda row: ratio(row.to_ours),
    "memory": lambda row: "" if row.bytes is None else f"{digits(row.bytes / 2**20)} MiB",
    "bytes per point": lambda row: "" if row.bytes is None else digits(row.bytes / row.case.data.n),
    "ARI": lambda row: _ari(row),
    "cells": _fact("cells"),
    "steps": _fact("steps"),
    "clusters": _fact("clusters"),
    "note": lambda row: row.note,
}


def _ari(row: Measurement) -> str:
    value = row.facts["ari"] if row.facts else row.ari
    return "" if value is None else f"{value:.3f}"


def table(result: Result) -> Table:
    """Return the table of a benchmark without its empty columns."""
    columns = {name: [get(row) for row in result.rows] for name, get in COLUMNS.items()}
    if to_numpy := result.extra.get("to_numpy"):
        columns["to import numpy"] = [ratio(to_numpy[row.contender]) for row in result.rows]
    if any(row.bytes is not None for row in result.rows):  # the memory benchmark measures no time
        columns |= {name: [] for name in ("best", "median", "runs", "h")}
    columns = {name: cells for name, cells in columns.items() if any(cells)}
    return list(columns), [list(cells) for cells in zip(*columns.values(), strict=True)]


def goals_table(results: Iterable[Result]) -> Table:
    """Return the goals with the measured values."""
    reached = {key: value for result in results for key, value in result.reached.items()}
    rows = []
    for goal in GOALS:
        value = reached.get(goal.key)
        measured = "" if value is None else digits(value)
        rows.append([goal.work, goal.target_text, measured, verdict(goal, value), goal.how])
    return ["work", "goal", "measured", "", "how"], rows


def markdown(
    results: Sequence[Result], failures: dict[str, str], facts: dict[str, str], command: str
) -> str:
    """Return the whole report as Markdown."""
    lines = ["# Benchmarks", "", f"`python -m benchmarks {command}`".replace(" `", "`"), ""]
    lines += markdown_table(machine_table(facts))
    lines += ["", "Times are of one call; ratios are of medians; contenders took turns.", ""]
    lines += ["## Goals", "", *markdown_table(goals_table(results))]
    for name, reason in failures.items():
        lines += ["", f"## {name}: WRONG RESULT", "", reason]
    for result in results:
        lines += ["", f"## {result.title}", "", *markdown_table(table(result))]
        lines += [f"\n{note}." for note in result.notes]
        if (picture := f"{result.name}.png") and result.extra.get("picture"):
            lines += ["", f"![{result.title}]({picture})"]
    return "\n".join(lines) + "\n"


def as_json(
    results: Sequence[Result], failures: dict[str, str], facts: dict[str, str], command: str
) -> dict[str, Any]:
    """Return all measurements, every single time included."""
    reached = {key: value for result in results for key, value in result.reached.items()}
    return {
        "options": command,
        "machine": facts,
        "failures": failures,
        "goals": [
            {
                "key": goal.key,
                "work": goal.work,
                "goal": goal.target_text,
                "how": goal.how,
                "measured": reached.get(goal.key),
                "verdict": verdict(goal, reached.get(goal.key)),
            }
            for goal in GOALS
        ],
        "benchmarks": {
            result.name: {
                "title": result.title,
                "notes": result.notes,
                "rows": [_as_dict(row) for row in result.rows],
            }
            for result in results
        },
    }


def _as_dict(row: Measurement) -> dict[str, Any]:
    return asdict(row) | {"best": row.best, "median": row.median}


def write(
    folder: Path,
    results: Sequence[Result],
    failures: dict[str, str],
    facts: dict[str, str],
    command: str,
) -> None:
    """Write results.md and results.json."""
    parts = (results, failures, facts, command)
    write_report(folder, "results", markdown(*parts), as_json(*parts))
