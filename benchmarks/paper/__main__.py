"""Repeat the paper's experiments and write one report, paper.html and paper.md (and paper.json)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from benchmarks.common import RESULTS, machine
from benchmarks.common.command_line import command_parser
from benchmarks.common.result_cache import ResultCache
from benchmarks.common.time_limit import LimitedProcess
from benchmarks.paper import (
    bsds,
    figure1,
    figure2,
    figure3,
    gallery,
    report,
    table2,
    theorem,
    tracking,
)
from benchmarks.paper.datasets import Library
from benchmarks.paper.run import LIMIT, QUICK_LIMIT, Run, duration
from meanshiftpp._support.files import atomic_path

SECTIONS: dict[str, Callable[[Run], report.Section]] = {
    "figure1": figure1.section,
    "figure2": figure2.section,
    "table2": table2.section,
    "figure3": figure3.section,
    "gallery": gallery.section,
    "bsds": bsds.section,
    "tracking": tracking.section,
    "theorem": theorem.section,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("paper", __doc__)
    parser.add_argument("data", type=Path, help="folder with tables/, bsds500/ and tracking/")
    parser.add_argument("--out", type=Path, default=RESULTS / "paper", help="folder for the report")
    parser.add_argument("--quick", action="store_true", help="small, to check that it runs")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="only some sections")
    parser.add_argument("--limit", type=float, help=f"seconds for one call of a peer ({LIMIT:g})")
    parser.add_argument(
        "--photos", type=int, default=100, help="photographs of BSDS500, 0 for all (100)"
    )
    parser.add_argument("--offline", action="store_true", help="download nothing")
    options = parser.parse_args(arguments)
    if not options.data.is_dir():
        parser.error(f"expected a folder, got {options.data}")
    if options.limit is None:
        options.limit = QUICK_LIMIT if options.quick else LIMIT
    if options.limit <= 0 or options.photos < 0:
        parser.error("--limit must be above 0 and --photos at least 0")
    write(build(options), options.out)
    print(options.out / "paper.html")
    return 0


def build(options: argparse.Namespace) -> report.Report:
    """Run the chosen sections in the paper's order; write the report after each of them."""
    options.out.mkdir(parents=True, exist_ok=True)
    facts, begin = machine.describe(), monotonic()
    cache = ResultCache(options.out / "results.jsonl")
    known_before = len(cache.entries)
    library = Library(options.data, options.out / "downloads", options.offline)
    chosen = [name for name in SECTIONS if name in (options.only or SECTIONS)]
    sections = []
    with LimitedProcess() as process:
        run = Run(
            options.data,
            options.out,
            cache,
            library,
            process,
            options.quick,
            options.limit,
            options.photos,
        )
        for number, name in enumerate(chosen, 1):
            run.log(f"== {name} ({number} of {len(chosen)})")
            sections.append(SECTIONS[name](run))
            write(report.Report(sections, facts, ["This run is not finished."]), options.out)
    remarks = run_remarks(options, monotonic() - begin, known_before)
    return report.Report(sections, facts, remarks)


def run_remarks(options: argparse.Namespace, seconds: float, known_before: int) -> list[str]:
    """Return remarks about the duration, the limit and the mode of a run."""
    reused = f"; {known_before} results are from an earlier run." if known_before else "."
    remarks = [
        f"This run took {duration(seconds)}{reused}",
        f"A fit of scikit-learn's MeanShift is limited to {options.limit:g} s; DNF means that it "
        "did not finish within that time.",
    ]
    if options.quick:
        remarks.append(
            "**Quick mode: small sizes, to check that it runs. The values mean nothing.**"
        )
    return remarks


def write(document: report.Report, folder: Path) -> None:
    """Write the report in all formats; each file is replaced atomically."""
    facts = {"machine": document.machine, "facts": document.remarks}
    facts |= {"sections": [section.as_json() for section in document.sections]}
    texts = {
        "paper.html": report.html(document, folder),
        "paper.md": report.markdown(document),
        "paper.json": json.dumps(facts, indent=1) + "\n",
    }
    for name, text in texts.items():
        with atomic_path(folder / name) as target:
            target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
