"""Figure 3: a column of panels for each table, MeanShift++ blue, MeanShift orange."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.common.plots import frame, times
from meanshiftpp.plot.style import SOFT, STYLE

if TYPE_CHECKING:
    from benchmarks.paper.clustering import Outcome

OURS, THEIRS = "#0072B2", "#D55E00"
COLUMNS = 4


def curves(outcomes: list[Outcome], path: Path) -> None:
    """Draw ARI, AMI and time over the bandwidth."""
    blocks = [outcomes[k : k + COLUMNS] for k in range(0, len(outcomes), COLUMNS)]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.9 * COLUMNS, 5.0 * len(blocks)))
        panels = figure.subplots(3 * len(blocks), COLUMNS, squeeze=False)
        for panel in panels.flat[:]:
            panel.set_visible(False)
        for number, block in enumerate(blocks):
            for column, outcome in enumerate(block):
                _column(panels[3 * number : 3 * number + 3, column], outcome, column == 0)
        figure.tight_layout(h_pad=0.8, w_pad=1.0, rect=(0, 0, 1, 1 - 0.35 / figure.get_figheight()))
        for x, name, colour in ((0.06, "MeanShift++", OURS), (0.2, "MeanShift", THEIRS)):
            above = 1 - 0.22 / figure.get_figheight()
            figure.text(x, above, f"●  {name}", color=colour, size=11, weight="bold")
        figure.savefig(path)


def _column(panels, outcome: Outcome, first: bool) -> None:
    for panel, name in zip(panels, ("ari", "ami", "seconds"), strict=True):
        panel.set_visible(True)
        panel.set(xscale="log")
        for points, colour, wide in ((outcome.theirs, THEIRS, 1.6), (outcome.ours, OURS, 1.2)):
            values = [getattr(point, name) for point in points]
            dots = "o-" if points is outcome.theirs else "-"
            panel.plot([p.h for p in points], values, dots, color=colour, lw=wide, ms=3)
            if name != "seconds":
                best = max(points, key=lambda point: getattr(point, name))
                panel.plot(best.h, getattr(best, name), "o", color=colour, ms=7, mec="white")
        frame(panel)
        if name == "seconds":
            panel.set(yscale="log", xlabel="bandwidth")
            times(panel)
        else:
            panel.set_ylim(bottom=min(0, panel.get_ylim()[0]))
            panel.tick_params(axis="x", which="both", labelbottom=False, length=0)
        if first:
            panel.set_ylabel({"ari": "ARI", "ami": "AMI", "seconds": "time"}[name], color=SOFT)
    panels[0].set_title(f"{outcome.row.title}, n = {outcome.n:,}", loc="left", size=10.5)
