"""Two figures: wins, ties and losses as in the paper, and a contact sheet of segmentations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.bsds.report import TIE, Outcome
from benchmarks.bsds.segmenters import METHODS, OURS, PAPER, PEERS, Image, Labels
from benchmarks.common.partition_metrics import compare, score
from benchmarks.common.plots import GREY, INK, SOFT, STYLE

BLUE, ORANGE = "#0072B2", "#E69F00"
CELL, GAP, CAPTION, HEAD = 2.4, 0.08, 0.24, 0.8  # inches
TITLES = {
    OURS.name: "segment(image)",
    PAPER.name: 'space="rgb", regions=False',
    "MeanShift": "MeanShift (scikit-learn)",
}


# -- wins, ties and losses -------------------------------------------------------------------------


def draw_wins(outcome: Outcome, path: Path) -> None:
    """Draw bars of wins, ties and losses against each peer."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 5.0))
        panels = figure.subplots(2, 2, sharex=True, sharey=True)
        for row, own in zip(panels, (OURS, PAPER), strict=True):
            for panel, measure in zip(row, ("ari", "fm"), strict=True):
                _draw_bars(panel, outcome, own.name, measure)
        for panel, title in zip(panels[0], ("ARI", "Fowlkes-Mallows"), strict=True):
            panel.annotate(title, (0, 1), (0, 22), "axes fraction", "offset points", size=11)
        figure.subplots_adjust(0.155, 0.03, 0.98, 0.79, 0.06, 0.2)
        figure.text(0.02, 0.95, f"Wins on {outcome.photos} photographs of BSDS500", size=13)
        text = f"won (blue), tied within {TIE:.0%} (grey), lost (orange); best setting of each peer"
        figure.text(0.02, 0.905, text, size=9.5, color=SOFT)
        figure.savefig(path)


def _draw_bars(panel: Axes, outcome: Outcome, own: str, measure: str) -> None:
    for place, peer in enumerate(reversed(PEERS)):
        counts = outcome.wins(own, peer.name, measure)
        won, tied, lost = (count / sum(counts) for count in counts)
        panel.barh(place, 1, 0.72, color=ORANGE)
        panel.barh(place, won + tied, 0.72, color=GREY)
        panel.barh(place, won, 0.72, color=BLUE)
        if won > 0.06:
            panel.text(0.01, place, f"{won:.0%}", size=8, color="white", va="center")
        if lost > 0.06:
            panel.text(0.99, place, f"{lost:.0%}", size=8, color=INK, va="center", ha="right")
    panel.axvline(0.5, color="white", linewidth=1)
    panel.set_title(TITLES[own], loc="left", size=9, color=BLUE, pad=4)
    panel.set_yticks(range(len(PEERS)), [peer.name for peer in reversed(PEERS)])
    panel.set_xlim(0, 1)
    panel.set_xticks([])
    panel.tick_params(length=0, labelcolor=INK)
    panel.spines[:].set_visible(False)


# -- the contact sheet -----------------------------------------------------------------------------


def draw_contact_sheet(outcome: Outcome, path: Path) -> None:
    """Draw a row for each photograph: the image, a human segmentation, and that of every method."""
    upright = [_is_tall(photo.image) for photo in outcome.timed]
    wide = (2 + len(METHODS)) * (CELL + GAP) + GAP
    high = HEAD + sum(_height(tall) + CAPTION for tall in upright) + GAP
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(wide, high), dpi=100)
        top = high - HEAD
        for number in np.argsort(upright, kind="stable"):
            tall = _height(upright[number])
            for column, (picture, caption) in enumerate(_row_of_sheet(outcome, number)):
                left = GAP + column * (CELL + GAP)
                panel = figure.add_axes(
                    (left / wide, (top - tall) / high, CELL / wide, tall / high)
                )
                draw_picture(panel, picture, caption)
            top -= tall + CAPTION
        _draw_headings(figure, wide, high)
        figure.savefig(path)


def _is_tall(image: Image) -> bool:
    return image.shape[0] > image.shape[1]


def _height(tall: bool) -> float:
    return CELL if tall else CELL / 1.5


def _row_of_sheet(outcome: Outcome, number: int) -> Iterator[tuple[Image, str]]:
    """Yield the pictures of a row with their captions."""
    photo = outcome.timed[number]
    image, truths = photo.image, photo.truths
    yield image, photo.name
    truth = most_typical(truths)
    yield paint(image, truth), f"{len(np.unique(truth))} regions"
    for name in METHODS:
        labels = outcome.times.labels[name][number]
        caption = f"{len(np.unique(labels)):,} · ARI {score(labels, truths).ari:.2f}"
        yield paint(image, labels), caption


def draw_picture(panel: Axes, picture: Image, caption: str, caption_size: int = 8) -> None:
    panel.imshow(picture, interpolation="antialiased")
    panel.set_axis_off()
    below = {"ha": "center", "va": "top", "transform": panel.transAxes}
    panel.text(0.5, -0.02, caption, size=caption_size, color=SOFT, **below)


def _draw_headings(figure: Figure, wide: float, high: float) -> None:
    text = "every region in its mean colour; below: number of regions, mean ARI to all people"
    start = 2 * (CELL + GAP) + GAP
    figure.text(GAP / wide, 1 - 0.12 / high, "Segmentations of BSDS500", size=17, va="top")
    figure.text(start / wide, 1 - 0.19 / high, text, size=11, color=SOFT, va="top")
    titles = ["photograph", "people", *(TITLES.get(name, name) for name in METHODS)]
    for column, title in enumerate(titles):
        middle = GAP + column * (CELL + GAP) + CELL / 2
        colour = BLUE if column in (2, 3) else INK
        figure.text(middle / wide, 1 - 0.74 / high, title, size=11, color=colour, ha="center")


def most_typical(truths: list[Labels]) -> Labels:
    """Return the human segmentation that agrees most with the others."""
    return max(truths, key=lambda one: sum(compare(one, other).ari for other in truths))


def paint(image: Image, labels: Labels) -> Image:
    """Paint every region in its mean colour with a dark border."""
    codes = np.unique(labels, return_inverse=True)[1].ravel()
    pixels = image.reshape(-1, 3)
    sizes = np.bincount(codes)
    means = np.stack([np.bincount(codes, pixels[:, c]) / sizes for c in range(3)], axis=1)
    painted = means[codes].reshape(image.shape)
    painted[_borders(labels)] *= 0.35
    return painted.astype(np.uint8)


def _borders(labels: Labels) -> NDArray[np.bool_]:
    borders = np.zeros(labels.shape, bool)
    borders[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    borders[1:] |= labels[1:] != labels[:-1]
    return borders
