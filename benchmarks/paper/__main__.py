"""Run the paper's experiments and write one report, paper.html and paper.md (and paper.json)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from benchmarks.common import RESULTS, machine
from benchmarks.common.notes import Notes
from benchmarks.paper import clustering, gallery, others, page, plane
from benchmarks.paper.bounded import Bounded
from benchmarks.paper.setting import LIMIT, QUICK_LIMIT, Run, duration
from benchmarks.paper.tables import Library
from meanshiftpp._support.files import atomic_path

SECTIONS: dict[str, Callable[[Run], page.Section]] = {
    "figure1": plane.illustration,
    "figure2": plane.gaussians,
    "table2": clustering.section_table,
    "figure3": clustering.section_bandwidths,
    "gallery": gallery.gallery,
    "bsds": others.segmentation,
    "tracking": others.following,
    "theorem": others.theorem,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; give the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    parser.add_argument("data", type=Path, help="has tables/, bsds500/ and tracking/")
    parser.add_argument("--out", type=Path, default=RESULTS / "paper", help="folder for the report")
    parser.add_argument("--quick", action="store_true", help="small, to see that it runs")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="some sections")
    parser.add_argument("--limit", type=float, help=f"seconds for one call of a peer ({LIMIT:g})")
    parser.add_argument("--photos", type=int, default=100, help="of BSDS500 (100); 0: all")
    parser.add_argument("--offline", action="store_true", help="fetch nothing")
    given = parser.parse_args(arguments)
    if not given.data.is_dir():
        parser.error(f"{given.data} is no folder")
    given.limit = given.limit if given.limit is not None else QUICK_LIMIT if given.quick else LIMIT
    if given.limit <= 0 or given.photos < 0:
        parser.error("--limit must be above 0 and --photos at least 0")
    report = build(given, given.only or list(SECTIONS))
    write(report, given.out)
    print(given.out / "paper.html")
    return 0


def build(given: argparse.Namespace, names: Sequence[str]) -> page.Report:
    """Do the sections one after the other, in the paper's order."""
    given.out.mkdir(parents=True, exist_ok=True)
    where, begin = machine.describe(), monotonic()
    notes = Notes(given.out / "notes.jsonl")
    before = len(notes.known)
    library = Library(given.data, given.out / "fetched", given.offline)
    with Bounded() as peer:
        run = Run(
            given.data, given.out, notes, library, peer, given.quick, given.limit, given.photos
        )
        chosen = [name for name in SECTIONS if name in names]
        sections = []
        for number, name in enumerate(chosen, 1):
            run.say(f"== {name} ({number} of {len(chosen)})")
            sections.append(SECTIONS[name](run))
            write(page.Report(sections, where, ["This run is not finished."]), given.out)
    taken = duration(monotonic() - begin)
    facts = [
        f"This run took {taken}"
        + (f"; {before} results were known from an earlier one." if before else "."),
        f"scikit-learn's MeanShift is bounded by {given.limit:g} s for a fit: DNF means that it "
        "did not finish within that.",
    ]
    if given.quick:
        facts.append("**Quick mode: small sizes, to see that it runs. The figures mean nothing.**")
    return page.Report(sections, where, facts)


def write(report: page.Report, folder: Path) -> None:
    facts = {"machine": report.machine, "facts": report.facts}
    facts |= {"sections": [section.as_json() for section in report.sections]}
    texts = {
        "paper.html": page.html(report, folder),
        "paper.md": page.markdown(report),
        "paper.json": json.dumps(facts, indent=1) + "\n",
    }
    for name, text in texts.items():
        with atomic_path(folder / name) as target:
            target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
