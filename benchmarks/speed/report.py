"""What was found, for people (Markdown, the screen) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.common.shown import Table, digits, duration, markdown_table
from benchmarks.speed.contenders import NOTHING, Case
from benchmarks.speed.goals import GOALS, verdict
from benchmarks.speed.lanes import Row
from benchmarks.speed.suite import Result


def ratio(value: float | None) -> str:
    return "" if value is None else f"{digits(value)}x"


def _fact(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row.facts[name]:,}" if row.facts else ""


def _of_case(get: Callable[[Case], str]) -> Callable[[Row], str]:
    return lambda row: "" if row.case is NOTHING else get(row.case)


def _points(case: Case) -> str:
    return str(case.data) if case.rows is None else f"its first {case.rows:,} rows"


COLUMNS: dict[str, Callable[[Row], str]] = {
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
    "bytes a point": lambda row: "" if row.bytes is None else digits(row.bytes / row.case.data.n),
    "ARI": lambda row: _ari(row),
    "cells": _fact("cells"),
    "steps": _fact("steps"),
    "clusters": _fact("clusters"),
    "note": lambda row: row.note,
}


def _ari(row: Row) -> str:
    value = row.facts["ari"] if row.facts else row.ari
    return "" if value is None else f"{value:.3f}"


def table(result: Result) -> Table:
    """Make the table of a benchmark, without the columns it has nothing in."""
    columns = {name: [get(row) for row in result.rows] for name, get in COLUMNS.items()}
    if to_numpy := result.extra.get("to_numpy"):
        columns["to import numpy"] = [ratio(to_numpy[row.contender]) for row in result.rows]
    if any(row.bytes is not None for row in result.rows):  # there, time is not what is measured
        columns |= {name: [] for name in ("best", "median", "runs", "h")}
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    return list(kept), [list(cells) for cells in zip(*kept.values(), strict=True)]


def goals_table(results: Iterable[Result]) -> Table:
    """Set what was measured beside what was aimed at."""
    reached = {key: value for result in results for key, value in result.reached.items()}
    rows = []
    for goal in GOALS:
        value = reached.get(goal.key)
        figure = "" if value is None else digits(value)
        rows.append([goal.work, goal.aim, figure, verdict(goal, value), goal.how])
    return ["work", "goal", "measured", "", "how"], rows


def markdown(
    results: Sequence[Result], failures: dict[str, str], where: dict[str, str], options: str
) -> str:
    """Write all of it as one page."""
    lines = ["# Benchmarks", "", f"`python -m benchmarks {options}`".replace(" `", "`"), ""]
    lines += markdown_table((["machine", ""], [[k, v] for k, v in where.items()]))
    lines += ["", "Times are of one call; ratios are of medians; runs took turns.", ""]
    lines += ["## Goals", "", *markdown_table(goals_table(results))]
    for name, reason in failures.items():
        lines += ["", f"## {name}: WRONG ANSWER", "", reason]
    for result in results:
        lines += ["", f"## {result.title}", "", *markdown_table(table(result))]
        lines += [f"\n{note}." for note in result.notes]
        if (picture := f"{result.name}.png") and result.extra.get("picture"):
            lines += ["", f"![{result.title}]({picture})"]
    return "\n".join(lines) + "\n"


def as_json(
    results: Sequence[Result], failures: dict[str, str], where: dict[str, str], options: str
) -> dict[str, Any]:
    """Give everything measured, every single time included."""
    reached = {key: value for result in results for key, value in result.reached.items()}
    return {
        "options": options,
        "machine": where,
        "failures": failures,
        "goals": [
            {
                "key": goal.key,
                "work": goal.work,
                "goal": goal.aim,
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


def _as_dict(row: Row) -> dict[str, Any]:
    return asdict(row) | {"best": row.best, "median": row.median}


def write(
    folder: Path,
    results: Sequence[Result],
    failures: dict[str, str],
    where: dict[str, str],
    options: str,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps(as_json(results, failures, where, options), indent=1, ensure_ascii=False)
    (folder / "results.json").write_text(content + "\n", encoding="utf-8")
    page = markdown(results, failures, where, options)
    (folder / "results.md").write_text(page, encoding="utf-8")
