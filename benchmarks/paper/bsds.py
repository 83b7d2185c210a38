"""Segmentation of BSDS500, with the benchmark `benchmarks.bsds`."""

from __future__ import annotations

from zlib import crc32

from benchmarks.bsds import evaluation, plots
from benchmarks.bsds import report as bsds_report
from benchmarks.bsds.photos import Photo, load
from benchmarks.common.result_cache import code_version
from benchmarks.paper import report
from benchmarks.paper.published import BSDS_SECONDS
from benchmarks.paper.run import Run, duration

JOBS = 2
N_TIMED = 4  # photographs
NAMES_IN_PAPER = {
    "colour clusters": "MeanShift++",
    "MeanShift": "MeanShift",
    "slic": "SLIC",
    "quickshift": "QuickShift",
}


def section(run: Run) -> report.Section:
    """Compare segmentations with human drawings, or state why the data is missing."""
    empty = report.Section(
        "bsds",
        "Segmentation of BSDS500",
        "Over 500 images, MeanShift++ is on par or better than MeanShift, SLIC and QuickShift in "
        "ARI and Fowlkes-Mallows (wins, ties within 1 %, losses), and about 1000 times faster than "
        "MeanShift, both at half the size.",
    )
    try:
        photos = load(run.data / "bsds500", 2 if run.quick else run.photos or None)
    except FileNotFoundError as error:
        empty.missing = str(error)
        return empty
    run.log(f"BSDS500: {len(photos)} photographs")
    names = crc32("".join(photo.name for photo in photos).encode())
    key = ("bsds", f"{len(photos)} photographs {names:08x}", code_version())
    stored = run.cache.get_or_compute(*key, compute=lambda: fill(empty, run, photos).as_json())
    return report.Section.from_json(stored)


def fill(section: report.Section, run: Run, photos: list[Photo]) -> report.Section:
    """Run the benchmark and add its figure, notes and tables to the section."""
    outcome = evaluation.run(photos, JOBS, run.out, N_TIMED)
    plots.draw_wins(outcome, run.out / "bsds.png")
    caption = (
        "Wins, ties and losses; above for `segment`, below for the colour clusters, which are the "
        "paper's MeanShift++."
    )
    section.figures = [report.Figure("bsds.png", caption)]
    section.notes = [
        "`segment` is the pipeline of this package; **colour clusters** is MeanShift++ on RGB "
        "alone, as in the paper.",
        *bsds_report.notes(outcome),
    ]
    section.tables = [
        report.Table("Scores", *bsds_report.scores_table(outcome), text_columns=2),
        report.Table("Wins, ties and losses", *bsds_report.wins_table(outcome), text_columns=2),
        times_table(outcome),
    ]
    return section


def times_table(outcome: bsds_report.Outcome) -> report.Table:
    """Return the measured times with the paper's mean times in the last column."""
    header, rows = bsds_report.times_table(outcome)
    for row in rows:
        name = NAMES_IN_PAPER.get(row[0])
        row.append(duration(BSDS_SECONDS[name]) if name else "")
    return report.Table("Times", [*header, "mean time"], rows, [len(header)])
