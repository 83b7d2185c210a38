"""Mutants of the kernel: a copy of its sources in which a switch selects one change at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.switch import MOST_MUTANTS

AREAS = {
    "bin": ("bin/*",),
    "seek": ("seek/*",),
    "label": ("query/find_cells.hpp", "cells/neighbours.hpp", "cells/points.hpp"),
    "coarsen": ("cells/coarsen.hpp", "cells/merge.hpp", "cells/periods.hpp"),
    "regions": (
        "image/absorb.hpp",
        "image/hierarchy.hpp",
        "image/pieces.hpp",
        "image/region_graph.hpp",
        "image/runs.hpp",
    ),
    "track": ("track/*",),
}
COMPARISONS = {
    "<": ("Less", "<", ">", "<="),
    "<=": ("AtMost", "<", ">", "<"),
    ">": ("More", ">", "<", ">="),
    ">=": ("AtLeast", ">", "<", ">"),
}
ARITHMETIC = {
    "+": ("Add", "-"),
    "-": ("Subtract", "+"),
    "*": ("Multiply", "+"),
    "/": ("Divide", "*"),
    "==": ("Equal", "!="),
    "!=": ("Differ", "=="),
}
TOKEN = re.compile(
    r"(?<=[\w)\]}]) (?P<operator><=|>=|==|!=|&&|\|\||\+=|-=|[-+*/<>])(?= \S|$)"
    r"|\bstd::(?P<extremum>min|max)(?P<type><[\w:]+>)?\((?!\{)"
    r"|(?<== )(?P<number>\d+\.\d+|\d+e-\d+)(?=[;,])"
    r"|\b(?P<test>if) \((?!constexpr)"
)
# These lines have no operators at run time, or ones that the switch cannot replace: directives,
# constants, sizes of arrays, vectors.
LEFT_OUT = re.compile(
    r"^\s*(#|//|static_assert|using |template|requires|case )|__attribute__|other\.of|\""
    r"|\bconstexpr [^()]* = |if constexpr \(.*\) \{$"
    r"|^\s*(?!return\b)[\w<>]+ \w+\[[^=]*\];|\(\*\w+\[|^ *(row \+= more|sum \+= row);"
)
SWITCH = "::mspp::mutation::"


@dataclass(frozen=True)
class Mutant:
    """One change of the sources: its place, and its line with the change in brackets."""

    id: int
    area: str
    file: str
    line: int
    text: str

    @property
    def key(self) -> str:
        """A name that stays the same when lines above are added or removed."""
        return f"{self.file}: {self.text}"


class Mutator:
    """Rewrites lines, and lists the mutants that it puts into them."""

    def __init__(self, first_id: int) -> None:
        self._first_id = first_id
        self.mutants: list[Mutant] = []

    def rewrite(self, area: str, file: str, source: str) -> str:
        """Return the source with a switch at each operator."""
        lines = source.split("\n")
        for number, line in enumerate(lines, 1):
            if not LEFT_OUT.search(line):
                lines[number - 1] = self._line(area, file, number, line)
        return "\n".join(['#include "kernel/mutant.hpp"', "#line 1", *lines])

    def _line(self, area: str, file: str, number: int, line: str) -> str:
        code, slashes, comment = line.partition("//")
        code = code.rstrip()
        edits: list[tuple[int, int, str]] = []  # start, end and new text
        for match in TOKEN.finditer(code):
            id = self._first_id + len(self.mutants)
            changed = _edit(match, code, id, edits)
            if changed:
                note = f"{code[: match.start()]} [{changed}]{code[match.start() :]}".strip()
                self.mutants.append(Mutant(id, area, file, number, note))
        for start, end, text in sorted(edits, reverse=True):
            code = code[:start] + text + code[end:]
        return f"{code}  {slashes}{comment}" if comment else code


def _edit(
    match: re.Match[str], code: str, id: int, edits: list[tuple[int, int, str]]
) -> str | None:
    """Add the edits of a mutant, and return the text of the change; None if there is none."""
    start, end, operator = match.start(), match.end(), match["operator"]
    if operator in COMPARISONS:
        name, left, right, changed = COMPARISONS[operator]
        text = f" {left} {SWITCH}{name}{{{id}}} {right}"
    elif operator in ARITHMETIC:
        name, changed = ARITHMETIC[operator]
        text = f" {operator} {SWITCH}{name}{{{id}}} {operator}"
    elif operator == "&&":
        text, changed = f" && !{SWITCH}on({id}) &&", "false"
    elif operator == "||":
        text, changed = f" || {SWITCH}on({id}) ||", "true"
    elif operator:
        text, changed = f" {operator} {SWITCH}Sign{{{id}}} *", "-"
    elif match["extremum"]:
        name, changed = {"min": ("least", "max"), "max": ("most", "min")}[match["extremum"]]
        text = f"{SWITCH}{name}{match['type'] or ''}({id}, "
    elif match["number"]:
        text, changed = f"{SWITCH}number({id}, {match['number']})", "1.1 *"
    else:
        close = _end_of_condition(code, end)
        if close is None:
            return None
        edits.append((close, close, ")"))
        text, changed = f"if ({SWITCH}on({id}) != static_cast<bool>(", "not"
    edits.append((start, end, text))
    return changed


def _end_of_condition(code: str, start: int) -> int | None:
    """Return the end of a condition, if it is an expression without declarations on one line."""
    depth = 1
    for end in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[end], 0)
        if depth == 0:
            declares = re.search(r";|[^=!<>]=[^=]", code[start:end])
            return None if declares else end
    return None


def copy_kernel(root: Path, target: Path, first_id: int) -> list[Mutant]:
    """Copy the native sources with switches, and return the mutants, numbered from `first_id`."""
    mutator = Mutator(first_id)
    kernel = root / "src" / "kernel"
    areas = {path: area for area, names in AREAS.items() for n in names for path in kernel.glob(n)}
    for path in sorted(kernel.rglob("*.?pp")):
        file = path.relative_to(kernel).as_posix()
        text = path.read_text("utf-8")
        if path in areas:
            text = mutator.rewrite(areas[path], file, text)
        _write(target / "src" / "kernel" / file, text)
    _write(
        target / "src" / "kernel" / "mutant.hpp", (Path(__file__).parent / "switch.hpp").read_text()
    )
    for folder in ("src/bindings", "tests/kernel", "tests/fuzz/kernel"):  # as CMake expects
        for path in (root / folder).iterdir():
            _write(target / folder / path.name, path.read_text("utf-8"))
    # Less optimisation compiles faster; checked subscripts stop a mutant that leaves its arrays.
    # The switches cause warnings that the kernel itself does not have.
    build = (root / "CMakeLists.txt").read_text("utf-8")
    build = build.replace("-O3", "-O1 -D_GLIBCXX_ASSERTIONS").replace("-Wall -Wextra", "-w")
    _write(target / "CMakeLists.txt", build)
    assert first_id + len(mutator.mutants) <= MOST_MUTANTS
    return mutator.mutants


def _write(path: Path, text: str) -> None:
    """Write a file if its text has changed, so that only changed files are compiled."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")
