"""Pictures: the curves of success, a bar for each sequence, and a strip of each to look at."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from benchmarks.tracking.data import Boxes, Film, Frame
from benchmarks.tracking.measures import THRESHOLDS, overlaps, success
from benchmarks.tracking.peers import OURS
from benchmarks.tracking.report import Outcome
from meanshiftpp.images.draw import contact_sheet
from meanshiftpp.images.picture import write
from meanshiftpp.plot.style import INK, SOFT, STYLE
from meanshiftpp.tracking.marks import box

BARS = (OURS.name, "CSRT", "KCF", "adapt=None")  # more would be unreadable
COLOURS = {
    OURS.name: "#0072B2",
    "CSRT": "#E69F00",
    "KCF": "#009E73",
    "adapt=None": "#56B4E9",
    'adapt="paper"': "#332288",
    "meanShift": "#CC79A7",
    "CamShift": "#D55E00",
}
SHOWN, COLUMNS, WIDE = 8, 4, 400
MOST_ZOOM = 10  # the strip is at least so many times as wide as the object
WHITE, BLUE, ORANGE = (255, 255, 255), (60, 160, 240), (240, 150, 0)


def overview(outcome: Outcome, path: Path) -> None:
    """Draw the curves beside the bars."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.0, 1.8 + 0.42 * max(len(outcome.films), 7)))
        curves, bars = figure.subplots(1, 2, width_ratios=(1, 1.2))
        _curves(curves, outcome)
        _bars(bars, outcome)
        figure.suptitle(f"Tracking, {len(outcome.films)} sequences", x=0.02, ha="left", size=13)
        figure.tight_layout(rect=(0, 0, 1, 0.98), w_pad=3)
        figure.savefig(path)


def _curves(panel: Axes, outcome: Outcome) -> None:
    best_first = sorted(outcome.found, key=lambda name: -outcome.mean(name).auc)
    for name in best_first:
        tracks = outcome.found[name]
        each = [success(overlaps(tracks[f.name].boxes, f.truth[1:])) for f in outcome.films]
        label = f"{name}  {outcome.mean(name).auc:.3f}"
        wide = 2.6 if name == OURS.name else 1.4
        panel.plot(THRESHOLDS, np.mean(each, axis=0), color=COLOURS[name], lw=wide, label=label)
    panel.set(xlim=(0, 1), ylim=(0, 1), xlabel="overlap of more than", ylabel="share of frames")
    panel.legend(frameon=False, fontsize=8.5, loc="upper right")
    panel.set_title("Success, and the area under it", loc="left", size=10, color=SOFT)


def _bars(panel: Axes, outcome: Outcome) -> None:
    names = [name for name in BARS if name in outcome.found]
    high = 0.84 / len(names)
    places = np.arange(len(outcome.films))[::-1]
    for number, name in enumerate(names):
        values = [scores.iou for scores in outcome.scores(name).values()]
        offset = (len(names) - 1) / 2 * high - number * high
        panel.barh(places + offset, values, high, color=COLOURS[name], label=name)
    panel.set_yticks(places, [film.name for film in outcome.films], color=INK)
    panel.set_xlim(0, 1)
    panel.tick_params(length=0)
    above = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.2}
    panel.legend(frameon=False, fontsize=8.5, ncols=len(names), columnspacing=1.2, **above)
    panel.margins(y=0.01)
    panel.set_title("Mean IoU", loc="left", size=10, color=SOFT)


def strips(outcome: Outcome, folder: Path) -> None:
    """Draw some frames of each sequence with truth (white), ours (blue) and CSRT (orange)."""
    folder.mkdir(parents=True, exist_ok=True)
    for film in outcome.films:
        write(folder / f"{film.name}.jpg", strip(outcome, film))


def strip(outcome: Outcome, film: Film) -> Frame:
    last = len(film.files) - 1
    panels = []
    for at in np.linspace(last / SHOWN, last, SHOWN).round().astype(int).tolist():
        panels.append((f"{film.name} {at}", _caption(outcome, film, at), _shot(outcome, film, at)))
    return contact_sheet(panels, COLUMNS, 12)


def _caption(outcome: Outcome, film: Film, at: int) -> str:
    words = []
    for name in (OURS.name, "CSRT"):
        if name in outcome.found:
            track = outcome.found[name][film.name]
            iou = overlaps(track.boxes[at - 1 : at], film.truth[at : at + 1])[0]
            words.append(f"{name} {iou:.2f}{'' if track.ok[at - 1] else ' lost'}")
    return ", ".join(words)


def _shot(outcome: Outcome, film: Film, at: int) -> Frame:
    """Draw the boxes into one frame, or, of an object that is small, into the part around it."""
    with Image.open(film.files[at]) as picture:
        left, top, wide, high = _view(film, at, picture.size)
        zoom = WIDE / wide
        part = picture.convert("RGB").crop((left, top, left + wide, top + high))
        size = (WIDE, round(WIDE * picture.height / picture.width))
        shot = np.asarray(part.resize(size, Image.Resampling.LANCZOS))
    boxes: list[tuple[Boxes, tuple[int, int, int], bool]] = [(film.truth[at], WHITE, False)]
    for name, colour in (("CSRT", ORANGE), (OURS.name, BLUE)):
        if name in outcome.found:
            track = outcome.found[name][film.name]
            boxes.append((track.boxes[at - 1], colour, not track.ok[at - 1]))
    for values, colour, dashed in boxes:
        if not np.isnan(values).any():
            seen = (values - (left, top, 0, 0)) * zoom
            x, y, w, h = seen.round().astype(int).tolist()
            shot = box(shot, (x, y, max(w, 1), max(h, 1)), colour, dashed=dashed)
    return shot


def _view(film: Film, at: int, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Choose the part of the frame to show, of the frame's shape and inside it."""
    x, y, w, h = film.truth[at] if not np.isnan(film.truth[at]).any() else film.truth[0]
    sides = np.sqrt(film.truth[:, 2] * film.truth[:, 3])
    wide = min(size[0], max(MOST_ZOOM * float(np.nanmedian(sides)), size[0] / 5))
    high = wide * size[1] / size[0]
    left = min(max(x + w / 2 - wide / 2, 0), size[0] - wide)
    top = min(max(y + h / 2 - high / 2, 0), size[1] - high)
    return left, top, wide, high
