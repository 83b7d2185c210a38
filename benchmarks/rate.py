"""Measure the theorem's rate: how the largest error of GridDensity falls with more points.

    python -m benchmarks.rate [--most 1e7] [--picture docs/images/rate.png]

The densities are products of  c (1 - |t|^a)  over [-1, 1] along each of d axes. They are Hölder
continuous on the whole space with exponent a and, because of the cusp at 0, with no larger one.
The bandwidth is n^(-1/(2a+d)). The estimate is constant within a cell and the density falls from
the centre outwards, so the error is largest at a corner of some cell: the supremum is computed
exactly, not sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.command_line import command_parser
from benchmarks.common.reporting import Table, markdown_table, progress_bar
from meanshiftpp import GridDensity

CHUNK = 1_000_000
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Cusp:
    """A density, defined by its exponent and its dimension."""

    a: float
    d: int

    @property
    def rate(self) -> float:
        return self.a / (2 * self.a + self.d)

    def bandwidth(self, n: float) -> float:
        return n ** (-1 / (2 * self.a + self.d))

    def bound(self, n: float) -> float:
        """Return the theorem's bound with C = 1 and delta = 1/e, at the bandwidth for n."""
        h = self.bandwidth(n)
        return h**self.a + np.sqrt((1 - np.log(h)) / (n * h**self.d))

    def guarantee(self, n: float, h: float, delta: float) -> float:
        """Return a bound on the error, all constants included, that fails with probability delta.

        The first term is the largest variation of the density within a cell. The other terms are
        Bernstein's inequality for all cells that intersect the support.
        """
        peak = self.along_axis(np.zeros(1))[0] ** self.d
        cells = (2 * np.ceil(1 / h)) ** self.d
        log, expected = np.log(2 * cells / delta), n * h**self.d
        variation = peak * self.d * h**self.a
        return variation + np.sqrt(2 * peak * log / expected) + 2 * log / 3 / expected

    def along_axis(self, t: Reals) -> Reals:
        """Return the density along one axis."""
        return (self.a + 1) / (2 * self.a) * np.maximum(1 - np.abs(t) ** self.a, 0)

    def draw(self, n: int, random: np.random.Generator) -> Iterator[Reals]:
        """Yield n points in chunks: uniform on [-s, s] along each axis, with s^(a+1) uniform."""
        for start in range(0, n, CHUNK):
            shape = (min(CHUNK, n - start), self.d)
            yield random.random(shape) ** (1 / (self.a + 1)) * random.uniform(-1, 1, shape)


def sup_error(model: GridDensity, truth: Cusp) -> float:
    """Return the exact supremum of |estimate - density| over the whole space."""
    cell_size = model.grid_.bandwidth
    margin = model.resolution_ + 1
    axes = [np.arange(-np.ceil(1 / h) - margin, np.ceil(1 / h) + margin) for h in cell_size]
    ends = [
        np.sort(np.abs([cells, cells + 1]), axis=0) * h
        for cells, h in zip(axes, cell_size, strict=True)
    ]
    highest, lowest = (
        reduce(np.multiply.outer, [truth.along_axis(end[k]) for end in ends]).ravel()
        for k in (0, 1)
    )
    centres = np.meshgrid(
        *[(cells + 0.5) * h for cells, h in zip(axes, cell_size, strict=True)], indexing="ij"
    )
    points = np.stack([c.ravel() for c in centres], axis=1)
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
    """Return the largest error of several fits, each to a new sample of n points."""
    found = []
    for repeat in range(repeats):
        random = np.random.default_rng([seed, repeat, n, truth.d])
        model = GridDensity(bandwidth or truth.bandwidth(n), resolution=resolution)
        for chunk in truth.draw(n, random):
            model.partial_fit(chunk)
        found.append(sup_error(model, truth))
    return found


def slope(n: Sequence[float], values: Iterable[float]) -> float:
    """Return the slope of a straight line fitted to the logarithms."""
    return float(np.polyfit(np.log(n), np.log(list(values)), 1)[0])


# -- the figure ------------------------------------------------------------------------------------

CASES = [Cusp(a, d) for a in (1.0, 0.5) for d in (1, 2, 3)]
COLOURS = {1: "#0072B2", 2: "#D55E00", 3: "#009E73"}
TITLE = {"size": 15, "weight": "bold", "va": "top"}
Measured = dict[Cusp, dict[int, list[float]]]  # errors by density and sample size


def measure(sizes: Sequence[int], repeats: int, on_progress: Callable[[int], None]) -> Measured:
    """Return the errors of all densities; report the coordinates processed after each."""
    found: Measured = {truth: {} for truth in CASES}
    for n in sizes:
        for truth in CASES:
            found[truth][n] = errors(truth, n, repeats)
            on_progress(n * truth.d)
    return found


def picture(found: Measured, path: Path) -> None:
    """Draw a panel for each exponent: the measured errors, and the bound fitted to them."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from benchmarks.common.plots import SOFT, STYLE, add_grid, label_lines, use_counts

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 4.8))
        figure.text(0.075, 0.955, "The largest error, and the bound", **TITLE)
        subtitle = "points: medians, bars: smallest to largest; lines: the bound, constant fitted"
        figure.text(0.075, 0.895, subtitle, size=10, color=SOFT, va="top")
        for k, a in enumerate((1.0, 0.5)):
            panel = figure.add_axes((0.075 + 0.475 * k, 0.115, 0.36, 0.66))
            panel.set(xscale="log", yscale="log", xlabel="points")
            panel.set_title(f"a = {a:g}" + (" (Lipschitz)" if a == 1 else ""), size=11, loc="left")
            ends = [draw_errors(panel, truth, found[truth]) for truth in CASES if truth.a == a]
            panel.set_ylim(bottom=panel.get_ylim()[0] / 1.2)
            label_lines(panel, ends)
            add_grid(panel)
            use_counts(panel.xaxis, found[CASES[0]])
            use_plain_numbers(panel)
            if k == 0:
                panel.set_ylabel("largest error")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)


def draw_errors(panel, truth: Cusp, found: dict[int, list[float]]):
    """Draw the errors and the bound of one density; return the labelled end of the line."""
    sizes, colour = list(found), COLOURS[truth.d]
    median = np.array([np.median(found[n]) for n in sizes])
    spread = np.array(
        [[m - min(found[n]), max(found[n]) - m] for n, m in zip(sizes, median, strict=True)]
    ).T
    bound = np.array([truth.bound(n) for n in sizes])
    bound *= np.exp(np.log(median / bound).mean())
    panel.plot(sizes, bound, color=colour, lw=1.4, alpha=0.6)
    panel.errorbar(sizes, median, spread, fmt="o", color=colour, ms=5, elinewidth=1.3)
    return (sizes[-1], median[-1]), f"d = {truth.d}", colour


def use_plain_numbers(panel) -> None:
    """Label a logarithmic y axis at 1, 2 and 5 times the powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def slopes_table(found: Measured) -> Table:
    """Return the measured slopes and the theorem's."""
    rows = []
    for truth, by_size in found.items():
        sizes = list(by_size)
        measured = slope(sizes, (np.median(by_size[n]) for n in sizes))
        bound = slope(sizes, map(truth.bound, sizes))
        numbers = (measured, bound, -truth.rate)
        rows.append([f"{truth.a:g}", str(truth.d), *(f"{number:.3f}" for number in numbers)])
    return ["a", "d", "slope measured", "slope of the bound", "-a / (2a + d)"], rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("rate", __doc__)
    parser.add_argument(
        "--most", type=float, default=1e7, help="points of the largest sample (1e7)"
    )
    parser.add_argument("--repeats", type=int, default=5, help="samples of each size (5)")
    default = Path("docs/images/rate.png")
    parser.add_argument("--picture", type=Path, default=default, help=f"output file ({default})")
    options = parser.parse_args(arguments)
    if options.most < 1e4 or options.repeats < 1:
        parser.error("--most must be at least 1e4 and --repeats at least 1")
    sizes = [10**k for k in range(3, int(np.log10(options.most) + 1e-9) + 1)]
    with progress_bar() as bar:
        task = bar.add_task("densities", total=sum(sizes) * sum(truth.d for truth in CASES))
        found = measure(sizes, options.repeats, lambda amount: bar.advance(task, amount))
    picture(found, options.picture)
    print("\n".join(markdown_table(slopes_table(found))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
