"""Figure 3: scores and times of the fits of Table 2, by bandwidth."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.common.plots import SOFT, STYLE, add_grid, use_durations
from benchmarks.paper import report
from benchmarks.paper.run import Run
from benchmarks.paper.table2 import Outcome, all_outcomes, best_fit

IN_FIGURE_3 = ("iris", "transplant", "user_knowledge", "wall_robot")  # others: in the appendix
OURS, PEER = "#0072B2", "#D55E00"
COLUMNS = 4


def section(run: Run) -> report.Section:
    """Draw Figure 3 and the figure of the appendix."""
    outcomes = {o.row.name: o for o in all_outcomes(run) if o.is_real and o.peer_fits}
    four = [outcomes[name] for name in IN_FIGURE_3 if name in outcomes]
    others = [outcome for name, outcome in outcomes.items() if name not in IN_FIGURE_3]
    figures = []
    for file, group, title in (
        ("figure3.png", four, "Four tables"),
        ("figure3_more.png", others, "The other tables, as in the paper's appendix"),
    ):
        if group:
            draw(group, run.out / file)
            caption = f"{title}: ARI, AMI and time of a fit on one core."
            figures.append(report.Figure(file, caption))
    return report.Section(
        "figure3",
        "Figure 3: scores and times by bandwidth",
        "Over a wide range of bandwidths MeanShift++ does as well as MeanShift or better, up to "
        "1000 times faster.",
        [
            "The bandwidth is the cell size for MeanShift++ and the radius of the ball for "
            "MeanShift. The curves are similar, and MeanShift's is farther to the right, because a "
            "window of three cells is wider than the bandwidth.",
        ],
        figures=figures,
        missing="" if figures else "there is no table on which both methods finished",
    )


def draw(outcomes: list[Outcome], path: Path) -> None:
    """Draw a column of panels for each table: MeanShift++ is blue, MeanShift orange."""
    blocks = [outcomes[k : k + COLUMNS] for k in range(0, len(outcomes), COLUMNS)]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.9 * COLUMNS, 5.0 * len(blocks)))
        panels = figure.subplots(3 * len(blocks), COLUMNS, squeeze=False)
        for panel in panels.flat[:]:
            panel.set_visible(False)
        for number, block in enumerate(blocks):
            for column, outcome in enumerate(block):
                draw_column(panels[3 * number : 3 * number + 3, column], outcome, column == 0)
        height = figure.get_figheight()
        figure.tight_layout(h_pad=0.8, w_pad=1.0, rect=(0, 0, 1, 1 - 0.35 / height))
        for x, name, colour in ((0.06, "MeanShift++", OURS), (0.2, "MeanShift", PEER)):
            figure.text(x, 1 - 0.22 / height, f"●  {name}", color=colour, size=11, weight="bold")
        figure.savefig(path)


def draw_column(panels, outcome: Outcome, first: bool) -> None:
    """Draw ARI, AMI and time of one table."""
    for panel, name in zip(panels, ("ari", "ami", "seconds"), strict=True):
        panel.set_visible(True)
        panel.set(xscale="log")
        for fits, style, colour, width in (
            (outcome.peer_fits, "o-", PEER, 1.6),
            (outcome.our_fits, "-", OURS, 1.2),
        ):
            values = [getattr(fit, name) for fit in fits]
            panel.plot([fit.h for fit in fits], values, style, color=colour, lw=width, ms=3)
            if name != "seconds":
                best = best_fit(fits, name)
                panel.plot(best.h, getattr(best, name), "o", color=colour, ms=7, mec="white")
        add_grid(panel)
        if name == "seconds":
            panel.set(yscale="log", xlabel="bandwidth")
            use_durations(panel)
        else:
            panel.set_ylim(bottom=min(0, panel.get_ylim()[0]))
            panel.tick_params(axis="x", which="both", labelbottom=False, length=0)
        if first:
            panel.set_ylabel({"ari": "ARI", "ami": "AMI", "seconds": "time"}[name], color=SOFT)
    panels[0].set_title(f"{outcome.row.title}, n = {outcome.n:,}", loc="left", size=10.5)
