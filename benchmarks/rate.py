"""The theorem's rate, measured: how the largest error of GridDensity falls with more points.

    python -m benchmarks.rate [--most 1e7] [--picture docs/images/rate.png]

The densities are products of  c (1 - |t|^a)  over [-1, 1] along each of d axes: Hölder continuous
on the whole space with exponent a and no better one, because of the cusp at 0. The bandwidth is
n^(-1/(2a+d)). The estimate is constant in a cell and the density falls from the middle outwards,
so the error is largest at a corner of some cell: the supremum is computed, not sampled.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import GridDensity

CHUNK = 1_000_000
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Cusp:
    """The density: its exponent and its dimension."""

    a: float
    d: int

    @property
    def rate(self) -> float:
        return self.a / (2 * self.a + self.d)

    def bandwidth(self, n: float) -> float:
        return n ** (-1 / (2 * self.a + self.d))

    def bound(self, n: float) -> float:
        """Give the theorem's bound with C = 1 and delta = 1/e, at the bandwidth for n."""
        h = self.bandwidth(n)
        return h**self.a + np.sqrt((1 - np.log(h)) / (n * h**self.d))

    def guarantee(self, n: float, h: float, delta: float) -> float:
        """Give a bound on the error with nothing left open: it fails with probability delta.

        The first term is the most the density varies in a cell, the others are Bernstein's
        inequality for all the cells that the support can meet.
        """
        peak = self.along(np.zeros(1))[0] ** self.d
        cells = (2 * np.ceil(1 / h)) ** self.d
        log, filled = np.log(2 * cells / delta), n * h**self.d
        return peak * self.d * h**self.a + np.sqrt(2 * peak * log / filled) + 2 * log / 3 / filled

    def along(self, t: Reals) -> Reals:
        """Give the density along one axis."""
        return (self.a + 1) / (2 * self.a) * np.maximum(1 - np.abs(t) ** self.a, 0)

    def draw(self, n: int, random: np.random.Generator) -> Iterator[Reals]:
        """Draw n points, in chunks: uniform on [-s, s] along each axis, with s^(a+1) uniform."""
        for start in range(0, n, CHUNK):
            shape = (min(CHUNK, n - start), self.d)
            yield random.random(shape) ** (1 / (self.a + 1)) * random.uniform(-1, 1, shape)


def sup_error(model: GridDensity, truth: Cusp) -> float:
    """Give the supremum of |estimate - density| over the whole space, exactly."""
    sides = model.grid_.bandwidth
    reach = model.resolution_ + 1
    axes = [np.arange(-np.ceil(1 / h) - reach, np.ceil(1 / h) + reach) for h in sides]
    ends = [
        np.sort(np.abs([cells, cells + 1]), axis=0) * h
        for cells, h in zip(axes, sides, strict=True)
    ]
    highest, lowest = (
        reduce(np.multiply.outer, [truth.along(end[k]) for end in ends]).ravel() for k in (0, 1)
    )
    middles = np.meshgrid(
        *[(cells + 0.5) * h for cells, h in zip(axes, sides, strict=True)], indexing="ij"
    )
    points = np.stack([m.ravel() for m in middles], axis=1)
    estimate = np.exp(model.score_samples(points))
    return float(max(np.abs(estimate - highest).max(), np.abs(estimate - lowest).max()))


def errors(
    truth: Cusp,
    n: int,
    repeats: int,
    *,
    bandwidth: float | None = None,
    resolution: int = 0,
    seed: int = 0,
) -> list[float]:
    """Give the largest error of several fits, each to n points of its own."""
    found = []
    for repeat in range(repeats):
        random = np.random.default_rng([seed, repeat, n, truth.d])
        model = GridDensity(bandwidth or truth.bandwidth(n), resolution=resolution)
        for chunk in truth.draw(n, random):
            model.partial_fit(chunk)
        found.append(sup_error(model, truth))
    return found


def slope(n: Sequence[float], values: Iterable[float]) -> float:
    """Give the slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(n), np.log(list(values)), 1)[0])


# -- the figure -----------------------------------------------------------------------------------

CASES = [Cusp(a, d) for a in (1.0, 0.5) for d in (1, 2, 3)]
COLOURS = {1: "#0072B2", 2: "#D55E00", 3: "#009E73"}
Measured = dict[Cusp, dict[int, list[float]]]


def measure(sizes: Sequence[int], repeats: int, done: Callable[[int], None]) -> Measured:
    found: Measured = {truth: {} for truth in CASES}
    for n in sizes:
        for truth in CASES:
            found[truth][n] = errors(truth, n, repeats)
            done(n * truth.d)
    return found


def picture(found: Measured, path: Path) -> None:
    """Draw a panel for each exponent: what was measured, and the bound through its middle."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from benchmarks.common.plots import counts, frame, labelled
    from meanshiftpp.plot.style import SOFT, STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.8))
        figure.text(0.075, 0.955, "The largest error, and the bound", **TITLE)
        about = "points: medians, bars from least to largest; lines: the bound, its constant fitted"
        figure.text(0.075, 0.895, about, size=10, color=SOFT, va="top")
        for k, a in enumerate((1.0, 0.5)):
            panel = figure.add_axes((0.075 + 0.475 * k, 0.115, 0.36, 0.66))
            panel.set(xscale="log", yscale="log", xlabel="points")
            panel.set_title(f"a = {a:g}" + (" (Lipschitz)" if a == 1 else ""), size=11, loc="left")
            ends = []
            for truth in (t for t in CASES if t.a == a):
                ends.append(draw(panel, truth, found[truth]))
            panel.set_ylim(bottom=panel.get_ylim()[0] / 1.2)
            labelled(panel, ends)
            frame(panel)
            counts(panel.xaxis, found[CASES[0]])
            axis_of_errors(panel)
            if k == 0:
                panel.set_ylabel("largest error")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)


TITLE = {"size": 15, "weight": "bold", "va": "top"}


def draw(panel, truth: Cusp, found: dict[int, list[float]]):
    sizes, colour = list(found), COLOURS[truth.d]
    middle = np.array([np.median(found[n]) for n in sizes])
    off = np.array(
        [[m - min(found[n]), max(found[n]) - m] for n, m in zip(sizes, middle, strict=True)]
    ).T
    bound = np.array([truth.bound(n) for n in sizes])
    bound *= np.exp(np.log(middle / bound).mean())
    panel.plot(sizes, bound, color=colour, lw=1.4, alpha=0.6)
    panel.errorbar(sizes, middle, off, fmt="o", color=colour, ms=5, elinewidth=1.3)
    return (sizes[-1], middle[-1]), f"d = {truth.d}", colour


def axis_of_errors(panel) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def slopes(found: Measured) -> tuple[list[str], list[list[str]]]:
    """Give a header and rows: the slopes measured, and the theorem's."""
    rows = []
    for truth, by_size in found.items():
        sizes = list(by_size)
        measured = slope(sizes, (np.median(by_size[n]) for n in sizes))
        bound = slope(sizes, map(truth.bound, sizes))
        numbers = (measured, bound, -truth.rate)
        rows.append([f"{truth.a:g}", str(truth.d), *(f"{number:.3f}" for number in numbers)])
    return ["a", "d", "slope measured", "slope of the bound", "-a / (2a + d)"], rows


def table(found: Measured) -> str:
    header, rows = slopes(found)
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])


def main(arguments: Sequence[str] | None = None) -> int:
    from benchmarks.common.shown import progress

    parser = argparse.ArgumentParser(prog="python -m benchmarks.rate", description=__doc__)
    parser.add_argument("--most", type=float, default=1e7, help="points of the largest sample")
    parser.add_argument("--repeats", type=int, default=5, help="samples of each size")
    parser.add_argument("--picture", type=Path, default=Path("docs/images/rate.png"))
    given = parser.parse_args(arguments)
    if given.most < 1e4 or given.repeats < 1:
        parser.error("--most must be at least 1e4 and --repeats at least 1")
    sizes = [10**k for k in range(3, int(np.log10(given.most) + 1e-9) + 1)]
    with progress() as bar:
        work = bar.add_task("densities", total=sum(sizes) * sum(truth.d for truth in CASES))
        found = measure(sizes, given.repeats, lambda number: bar.advance(work, number))
    picture(found, given.picture)
    print(table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
