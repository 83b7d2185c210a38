"""Print what no test executed in the kernel, and the totals of the package and the kernel.

`make coverage` runs this after the tests. Clang counts the conditions of the source; a line or a
side of a condition is covered if any instance of its template, and any copy of the loops for an
instruction set, executed it. Conditions that the compiler decides, such as `if constexpr`, are
not branches.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ["src/kernel", "src/bindings"]

FILE = re.compile(r"(/.*):$")
LINE = re.compile(r"[ |]*?(\d+)\| *([\d.kMGTPE]+)\|")
BRANCH = re.compile(r"[ |]*Branch \((\d+):(\d+)\): \[True: (\S+), False: (\S+)\]")

Sides = dict[tuple[int, int, bool], bool]


@dataclass
class Counts:
    """Whether each line and each side of a condition of one file was executed."""

    lines: dict[int, bool] = field(default_factory=dict)
    sides: Sides = field(default_factory=dict)


def main(clang: str, data: Path, programs: list[str]) -> None:
    """Read the counts in the folder `data`, made by the package's tests and by `programs`."""
    files = parse(show(clang, data, programs))
    for file, counts in sorted(files.items()):
        for place in missing(counts):
            print(f"{file}:{place}")
    package = json.loads((data / "package.json").read_text())["totals"]
    kernel_lines = [hit for counts in files.values() for hit in counts.lines.values()]
    kernel_sides = [hit for counts in files.values() for hit in counts.sides.values()]
    print_total("package", "lines", package["covered_lines"], package["num_statements"])
    print_total("package", "branches", package["covered_branches"], package["num_branches"])
    print_total("kernel", "lines", sum(kernel_lines), len(kernel_lines))
    print_total("kernel", "branches", sum(kernel_sides), len(kernel_sides))


def show(clang: str, data: Path, programs: list[str]) -> str:
    """Return the sources of the kernel with the counts of each instance, printed by llvm-cov."""
    profile = data / "kernel.profdata"
    # A process that a test stops while it writes its counts leaves an invalid file.
    merge = [tool(clang, "llvm-profdata"), "merge", "--sparse", "--failure-mode=all", "-o", profile]
    subprocess.run([*merge, *data.glob("*.profraw")], check=True)
    first, *others = programs
    objects = [part for program in others for part in ("--object", program)]
    command = [
        tool(clang, "llvm-cov"),
        "show",
        f"--instr-profile={profile}",
        "--show-branches=count",
    ]
    command += [first, *objects, *(str(ROOT / source) for source in SOURCES)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def tool(clang: str, name: str) -> str:
    """Return the path of an LLVM tool of the same version as Clang."""
    command = [clang, f"-print-prog-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def parse(text: str) -> dict[str, Counts]:
    """Return the counts of each file, the union over the instances of its templates."""
    files: dict[str, Counts] = {}
    counts = Counts()
    for row in text.splitlines():
        if match := FILE.match(row):
            counts = files[str(Path(match[1]).relative_to(ROOT))] = Counts()
        elif match := LINE.match(row):
            line = int(match[1])
            counts.lines[line] = counts.lines.get(line, False) or match[2] != "0"
        elif match := BRANCH.match(row):
            for side, count in ((True, match[3]), (False, match[4])):
                key = (int(match[1]), int(match[2]), side)
                counts.sides[key] = counts.sides.get(key, False) or count != "0"
    return files


def missing(counts: Counts) -> Iterator[str]:
    """Yield the lines that were not executed, then the sides of conditions in other lines."""
    yield from (f"{line}: line" for line, hit in counts.lines.items() if not hit)
    for (line, column, side), hit in counts.sides.items():
        if not hit and counts.lines.get(line, True):
            yield f"{line}:{column}: never {str(side).lower()}"


def print_total(part: str, unit: str, covered: int, total: int) -> None:
    """Print one total as a percentage."""
    print(f"{part:8} {unit:9} {100 * covered / total:6.2f} % of {total:,}")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
