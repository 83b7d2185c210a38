"""Figures: success curves, a bar for each sequence, and a strip of frames for each sequence."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from benchmarks.common.plots import INK, SOFT, STYLE
from benchmarks.tracking.metrics import THRESHOLDS, overlaps, success_curve
from benchmarks.tracking.report import Outcome
from benchmarks.tracking.sequences import Boxes, Frame, VideoSequence
from benchmarks.tracking.trackers import OURS
from meanshiftpp.images.draw import contact_sheet
from meanshiftpp.images.picture import write
from meanshiftpp.tracking.marks import box

BARS = (OURS.name, "CSRT", "KCF", "adapt=None")  # more bars would be unreadable
COLOURS = {
    OURS.name: "#0072B2",
    "CSRT": "#E69F00",
    "KCF": "#009E73",
    "adapt=None": "#56B4E9",
    'adapt="paper"': "#332288",
    "meanShift": "#CC79A7",
    "CamShift": "#D55E00",
    "Nano": "#882255",
    "DaSiamRPN": "#999933",
}
N_FRAMES, COLUMNS, WIDTH = 8, 4, 400  # of a strip; the width of a frame in pixels
MIN_VIEW = 10  # a frame of a strip is at least this many times as wide as the object
WHITE, BLUE, ORANGE = (255, 255, 255), (60, 160, 240), (240, 150, 0)


def draw_overview(outcome: Outcome, path: Path) -> None:
    """Draw the curves beside the bars."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.0, 1.8 + 0.42 * max(len(outcome.sequences), 7)))
        curves, bars = figure.subplots(1, 2, width_ratios=(1, 1.2))
        _draw_curves(curves, outcome)
        _draw_bars(bars, outcome)
        figure.suptitle(f"Tracking, {len(outcome.sequences)} sequences", x=0.02, ha="left", size=13)
        figure.tight_layout(rect=(0, 0, 1, 0.98), w_pad=3)
        figure.savefig(path)


def _draw_curves(panel: Axes, outcome: Outcome) -> None:
    best_first = sorted(outcome.tracks, key=lambda name: -outcome.mean(name).auc)
    for name in best_first:
        tracks = outcome.tracks[name]
        each = [
            success_curve(overlaps(tracks[sequence.name].boxes, sequence.truth[1:]))
            for sequence in outcome.sequences
        ]
        label = f"{name}  {outcome.mean(name).auc:.3f}"
        width = 2.6 if name == OURS.name else 1.4
        panel.plot(THRESHOLDS, np.mean(each, axis=0), color=COLOURS[name], lw=width, label=label)
    panel.set(xlim=(0, 1), ylim=(0, 1), xlabel="overlap threshold", ylabel="share of frames")
    panel.legend(frameon=False, fontsize=8.5, loc="upper right")
    panel.set_title("Success curve and the area under it", loc="left", size=10, color=SOFT)


def _draw_bars(panel: Axes, outcome: Outcome) -> None:
    names = [name for name in BARS if name in outcome.tracks]
    height = 0.84 / len(names)
    places = np.arange(len(outcome.sequences))[::-1]
    for number, name in enumerate(names):
        values = [scores.iou for scores in outcome.scores(name).values()]
        offset = (len(names) - 1) / 2 * height - number * height
        panel.barh(places + offset, values, height, color=COLOURS[name], label=name)
    panel.set_yticks(places, [sequence.name for sequence in outcome.sequences], color=INK)
    panel.set_xlim(0, 1)
    panel.tick_params(length=0)
    above = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.2}
    panel.legend(frameon=False, fontsize=8.5, ncols=len(names), columnspacing=1.2, **above)
    panel.margins(y=0.01)
    panel.set_title("Mean IoU", loc="left", size=10, color=SOFT)


def draw_strips(outcome: Outcome, folder: Path) -> None:
    """Draw frames of each sequence with the boxes of truth (white), ours (blue), CSRT (orange)."""
    folder.mkdir(parents=True, exist_ok=True)
    for sequence in outcome.sequences:
        write(folder / f"{sequence.name}.jpg", make_strip(outcome, sequence))


def make_strip(outcome: Outcome, sequence: VideoSequence) -> Frame:
    last = len(sequence.files) - 1
    panels = []
    for index in np.linspace(last / N_FRAMES, last, N_FRAMES).round().astype(int).tolist():
        caption = _caption(outcome, sequence, index)
        frame = _draw_frame(outcome, sequence, index)
        panels.append((f"{sequence.name} {index}", caption, frame))
    return contact_sheet(panels, COLUMNS, 12)


def _caption(outcome: Outcome, sequence: VideoSequence, index: int) -> str:
    texts = []
    for name in (OURS.name, "CSRT"):
        if name in outcome.tracks:
            track = outcome.tracks[name][sequence.name]
            iou = overlaps(track.boxes[index - 1 : index], sequence.truth[index : index + 1])[0]
            texts.append(f"{name} {iou:.2f}{'' if track.ok[index - 1] else ' lost'}")
    return ", ".join(texts)


def _draw_frame(outcome: Outcome, sequence: VideoSequence, index: int) -> Frame:
    """Draw the boxes into one frame, cropped around the object if that is small."""
    with Image.open(sequence.files[index]) as image:
        left, top, width, height = _view(sequence, index, image.size)
        zoom = WIDTH / width
        part = image.convert("RGB").crop((left, top, left + width, top + height))
        size = (WIDTH, round(WIDTH * image.height / image.width))
        frame = np.asarray(part.resize(size, Image.Resampling.LANCZOS))
    boxes: list[tuple[Boxes, tuple[int, int, int], bool]] = [(sequence.truth[index], WHITE, False)]
    for name, colour in (("CSRT", ORANGE), (OURS.name, BLUE)):
        if name in outcome.tracks:
            track = outcome.tracks[name][sequence.name]
            boxes.append((track.boxes[index - 1], colour, not track.ok[index - 1]))
    for values, colour, dashed in boxes:
        if not np.isnan(values).any():
            scaled = (values - (left, top, 0, 0)) * zoom
            x, y, w, h = scaled.round().astype(int).tolist()
            frame = box(frame, (x, y, max(w, 1), max(h, 1)), colour, dashed=dashed)
    return frame


def _view(
    sequence: VideoSequence, index: int, size: tuple[int, int]
) -> tuple[float, float, float, float]:
    """Return the part of the frame to show; it has the aspect ratio of the frame."""
    truth = sequence.truth
    x, y, w, h = truth[index] if not np.isnan(truth[index]).any() else truth[0]
    sides = np.sqrt(truth[:, 2] * truth[:, 3])
    width = min(size[0], max(MIN_VIEW * float(np.nanmedian(sides)), size[0] / 5))
    height = width * size[1] / size[0]
    left = min(max(x + w / 2 - width / 2, 0), size[0] - width)
    top = min(max(y + h / 2 - height / 2, 0), size[1] - height)
    return left, top, width, height
