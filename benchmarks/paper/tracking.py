"""Object tracking, with the benchmark `benchmarks.tracking`."""

from __future__ import annotations

from zlib import crc32

from benchmarks.common.result_cache import code_version
from benchmarks.paper import report
from benchmarks.paper.run import Run
from benchmarks.tracking import evaluation, plots
from benchmarks.tracking import report as tracking_report
from benchmarks.tracking.sequences import VideoSequence, load
from benchmarks.tracking.trackers import PAPER as ALGORITHM_3
from benchmarks.tracking.trackers import contenders, opencv_version


def section(run: Run) -> report.Section:
    """Compare trackers with true boxes, or state why the data is missing."""
    empty = report.Section(
        "tracking",
        "Object tracking",
        "Four scenes, judged by eye: OpenCV's mean shift on colour histograms is distracted by "
        "similar colours and by other objects; Algorithm 3 finds better windows and stops when "
        "nothing of the object is left. The paper prints no numbers.",
    )
    try:
        sequences = load(run.data / "tracking")
    except FileNotFoundError as error:
        empty.missing = str(error)
        return empty
    if run.quick:
        sequences = sorted(sequences, key=lambda sequence: len(sequence.files))[:1]
    run.log(f"tracking: {len(sequences)} sequences")
    state = crc32("".join(each.name + each.version for each in sequences).encode())
    data_key = f"{len(sequences)} sequences {state:08x}"
    trackers_key = f"{len(contenders())} trackers, {opencv_version()}"
    key = ("tracking", data_key, trackers_key, code_version())
    stored = run.cache.get_or_compute(*key, compute=lambda: fill(empty, run, sequences).as_json())
    return report.Section.from_json(stored)


def fill(section: report.Section, run: Run, sequences: list[VideoSequence]) -> report.Section:
    """Run the benchmark and add its figure, notes and tables to the section."""
    outcome = evaluation.run(sequences, contenders(), run.out, take_times=not run.quick)
    plots.draw_overview(outcome, run.out / "tracking.png")
    section.figures = [report.Figure("tracking.png", "Overlap with the truth, all sequences.")]
    section.notes = [
        f"**{ALGORITHM_3.name}** is the paper's Algorithm 3 with its update of the cells, "
        "**adapt=None** the same without the update, **meanShift** OpenCV's, with which the paper "
        "compares; **Tracker** is the robust default of this package. All start from the same "
        "box, not from a mask drawn by hand.",
        *tracking_report.notes(outcome),
    ]
    section.tables = [
        report.Table("Trackers", *tracking_report.scores_table(outcome)),
        report.Table("Sequences (* the best)", *tracking_report.sequences_table(outcome)),
    ]
    if outcome.timings is not None:
        timings = tracking_report.timings_table(outcome.timings)
        section.tables.append(report.Table("Times in turns", *timings))
    return section
