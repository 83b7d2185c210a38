"""BSDS500, tracking and the theorem: they have benchmarks of their own, which are run here."""

from __future__ import annotations

from zlib import crc32

from benchmarks import rate
from benchmarks.bsds import evaluation as segmenting
from benchmarks.bsds import plots as bsds_plots
from benchmarks.bsds import report as bsds_report
from benchmarks.bsds.photos import load as load_photos
from benchmarks.common.notes import own_code
from benchmarks.paper import page
from benchmarks.paper.printed import BSDS_SECONDS
from benchmarks.paper.setting import Run, duration
from benchmarks.tracking import evaluation as tracking
from benchmarks.tracking import plots as tracking_plots
from benchmarks.tracking import report as tracks
from benchmarks.tracking.data import load as load_films
from benchmarks.tracking.peers import PAPER as ALGORITHM_3
from benchmarks.tracking.peers import contenders, opencv

JOBS = 2
TIMED = 4  # photographs
IN_THE_PAPER = {  # whose times it prints, by the name of the method here
    "colour clusters": "MeanShift++",
    "MeanShift": "MeanShift",
    "slic": "SLIC",
    "quickshift": "QuickShift",
}

# -- BSDS500 ---------------------------------------------------------------------------------------


def segmentation(run: Run) -> page.Section:
    """Hold segmentations against what people drew."""
    section = page.Section(
        "bsds",
        "Segmentation of BSDS500",
        "Over 500 images, MeanShift++ is on par or better than MeanShift, SLIC and QuickShift in "
        "ARI and Fowlkes-Mallows (wins, ties within 1 %, losses), and about 1000 times faster than "
        "MeanShift, both at half the size.",
    )
    try:
        photos = load_photos(run.data / "bsds500", 2 if run.quick else run.photos or None)
    except FileNotFoundError as error:
        section.missing = str(error)
        return section
    made_of = crc32("".join(photo.name for photo in photos).encode())
    key = ("bsds", f"{len(photos)} photographs {made_of:08x}", own_code())
    run.say(f"BSDS500: {len(photos)} photographs")

    def make() -> dict[str, object]:
        outcome = segmenting.run(photos, JOBS, run.out, TIMED)
        bsds_plots.wins(outcome, run.out / "bsds.png")
        section.figures = [
            page.Figure(
                "bsds.png",
                "Wins, ties and losses; above for `segment`, below for the "
                "colour clusters, which are the paper's MeanShift++.",
            )
        ]
        section.notes = [
            "`segment` is this package's own pipeline; **colour clusters** is MeanShift++ on RGB "
            "alone, as in the paper.",
            *bsds_report.notes(outcome),
        ]
        section.tables = [
            page.Table("Scores", *bsds_report.scores_table(outcome), words=2),
            page.Table("Who wins", *bsds_report.wins_table(outcome), words=2),
            _times(outcome),
        ]
        return section.as_json()

    return page.Section.from_json(run.notes.once(*key, make=make))


def _times(outcome: bsds_report.Outcome) -> page.Table:
    header, rows = bsds_report.times_table(outcome)
    for row in rows:
        name = IN_THE_PAPER.get(row[0])
        row.append(duration(BSDS_SECONDS[name]) if name else "")
    return page.Table("Times", [*header, "mean time"], rows, [len(header)])


# -- tracking --------------------------------------------------------------------------------------


def following(run: Run) -> page.Section:
    """Hold trackers against boxes."""
    section = page.Section(
        "tracking",
        "Object tracking",
        "Four scenes, by eye: OpenCV's mean shift on colour histograms is distracted by similar "
        "colours and by other objects; Algorithm 3 finds better windows and stops when nothing of "
        "the object is left. No figures are printed.",
    )
    try:
        films = load_films(run.data / "tracking")
    except FileNotFoundError as error:
        section.missing = str(error)
        return section
    if run.quick:
        films = sorted(films, key=lambda film: len(film.files))[:1]
    state = crc32("".join(film.name + film.made_of for film in films).encode())
    run.say(f"tracking: {len(films)} sequences")

    def make() -> dict[str, object]:
        outcome = tracking.run(films, run.out, racing=not run.quick)
        tracking_plots.overview(outcome, run.out / "tracking.png")
        section.figures = [page.Figure("tracking.png", "Overlap with the truth, all sequences.")]
        section.notes = [
            f"**{ALGORITHM_3.name}** is the paper's Algorithm 3 with its update of the cells, "
            "**adapt=None** the same without it, **meanShift** OpenCV's, against which the paper "
            "compares; **Tracker** is this package's default, made to be robust. All start from "
            "the same box, not from a mask drawn by hand.",
            *tracks.notes(outcome),
        ]
        section.tables = [
            page.Table("Trackers", *tracks.scores_table(outcome)),
            page.Table("Sequences (* the best)", *tracks.sequences_table(outcome)),
        ]
        if outcome.race is not None:
            section.tables.append(page.Table("Race", *tracks.race_table(outcome.race)))
        return section.as_json()

    known = f"{len(contenders())} trackers, {opencv()}"
    key = ("tracking", f"{len(films)} sequences {state:08x}", known, own_code())
    return page.Section.from_json(run.notes.once(*key, make=make))


# -- the theorem -----------------------------------------------------------------------------------


def theorem(run: Run) -> page.Section:
    """Measure how fast the largest error of the density falls."""
    sizes = [10**k for k in range(3, 5 if run.quick else 7)]
    repeats = 2 if run.quick else 5

    def make() -> list[list[object]]:
        found = rate.measure(sizes, repeats, lambda _: None)
        return [[t.a, t.d, [[n, e] for n, e in by_n.items()]] for t, by_n in found.items()]

    run.say(f"theorem: samples of {sizes[0]:,} to {sizes[-1]:,}")
    key = ("theorem", str(sizes), str(repeats), own_code())
    noted = run.notes.once(*key, make=make)
    found = {rate.Cusp(a, d): dict(by_n) for a, d, by_n in noted}
    rate.picture(found, run.out / "rate.png")
    header, rows = rate.slopes(found)
    return page.Section(
        "theorem",
        "The theorem's rate",
        "With h of n^(-1/(2a+d)) the largest error of the cell-count density falls as "
        "n^(-a/(2a+d)) up to logarithms, where a is the Hölder exponent: minimax optimal.",
        [
            "The densities are Hölder continuous with exactly this exponent, and the supremum is "
            "computed, not sampled. The bound falls a little slower than its rate because of its "
            "logarithm."
        ],
        [page.Table("Slopes of log error over log n", header, rows, words=2, paper=[4])],
        [page.Figure("rate.png", f"{repeats} samples of each size.")],
    )
