"""Pictures of a clustering that one would show to others.

`clusters` draws them: two features are a plane, more are a corner of planes with a histogram
of each feature, one is a histogram. Up to 100,000 points are drawn one by one, more as a density.
Mode seeking finds every bump, and a thousand clusters in a thousand colours are confetti: those
that matter get a colour, the rest are grey and counted as one in the panel of sizes.

Figures are made without pyplot: no global state, no window, nothing to close.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.checks import as_periods
from meanshiftpp._support.extras import need
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["clusters", "in_period"]

# Okabe and Ito's colours, which people with any colour vision tell apart, without the yellow that
# paper swallows, and with three dark ones of Paul Tol's after them.
PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#332288",
    "#999933",
    "#882255",
)
PAPER, INK, SOFT, LINE, GREY = "#FCFCFA", "#22252A", "#70757D", "#E4E4DF", "#B9BCBE"
STYLE = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 1.0,
    "axes.labelsize": 10,
    "text.color": INK,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "axes.formatter.limits": (-3, 8),
    "axes.formatter.useoffset": False,  # a coordinate is read as it is, without an addition
    "font.family": "sans-serif",
    "font.size": 10,
    "figure.dpi": 160,
    "svg.fonttype": "none",
}
# Names may be in any script. Of these fonts those that are there help out.
FONTS = (
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "PingFang SC", "Hiragino Sans", "Microsoft YaHei"),
    *("Yu Gothic", "Malgun Gothic", "WenQuanYi Micro Hei", "Arial Unicode MS", "Noto Sans"),
)
DIGIT = 0.075  # inches that a digit on an axis takes
DIGITS = 6  # longer numbers keep away from the ends of their axis
MAX_DOTS = 100_000  # more points than this are drawn as a density
MAX_FEATURES = 5
MAX_NUMBERS = 60  # more numbers than this hide the points
SHARE = 0.005  # a cluster of a smaller part of the points is grey, and so are one or two points


@dataclass(frozen=True)
class _Scene:
    """What every panel draws from."""

    X: NDArray[np.float64]  # (n, d), the features shown
    labels: NDArray[np.intp]  # (n,), with k for noise instead of -1
    centers: NDArray[np.float64]  # (k, d)
    sizes: NDArray[np.float64]  # (k,)
    colours: NDArray[np.float64]  # (k + 1, 3); the last is noise
    shown: int  # the first so many clusters have a colour of their own
    names: tuple[str, ...]
    limits: list[tuple[float, float]]
    features: int  # there are


def clusters(
    X: ArrayLike,
    labels: ArrayLike,
    *,
    centers: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    columns: Sequence[str] | None = None,
    periodic: Sequence[float | None] | None = None,
    title: str | None = None,
    subtitle: str | None = None,
) -> Any:
    """Draw points in the colours of their clusters, the modes, and how large the clusters are.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points. Of more than five features the five that part the clusters best are shown.
    labels : array-like of shape (n,)
        Their labels, numbered by falling size; -1 is noise.
    centers : array-like of shape (k, d), default=None
        The modes; None takes the means of the clusters.
    weights : array-like of shape (k,), default=None
        The clusters' sizes; None counts the points.
    columns : sequence of str, default=None
        Names of the features.
    periodic : sequence of d periods, each a number or None, default=None
        As in `Grid.from_points`: the modes are drawn in the period that the points are in.
    title, subtitle : str, default=None
        Two lines over the picture. Where features are left out, the second says so.

    Returns
    -------
    figure : matplotlib.figure.Figure
        For `figure.savefig(path)`, or for a notebook to show.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import MeanShiftPP
    >>> from meanshiftpp.plot import clusters
    >>> X = np.random.default_rng(0).normal([[0, 0]] * 500 + [[9, 9]] * 500)
    >>> model = MeanShiftPP(bandwidth=2).fit(X)
    >>> figure = clusters(X, model.labels_, centers=model.cluster_centers_)
    >>> len(figure.axes)  # the plane and the sizes
    2
    """
    matplotlib = need("matplotlib", "plot")
    if centers is not None:
        centers = in_period(centers, X, periodic)
    scene = _scene(np.asarray(X), np.asarray(labels), centers, weights, columns)
    with matplotlib.rc_context({**STYLE, "font.family": _fonts()}):
        d = scene.X.shape[1]
        figure = _corner(scene) if d > 2 else _plane(scene) if d == 2 else _line(scene)
        _heading(figure, title, (subtitle or _summary(scene)) + _some(scene))
    return figure


def in_period(
    centers: ArrayLike, X: ArrayLike, periodic: Sequence[float | None] | None
) -> NDArray[np.float64]:
    """Bring modes into the period that the points are in: half of one to each side of their middle.

    Parameters
    ----------
    centers : array-like of shape (k, d)
        Where the modes are, in any period.
    X : array-like of shape (n, d)
        The points.
    periodic : sequence of d periods, each a number or None
        As in `Grid.from_points`.

    Returns
    -------
    ndarray of shape (k, d)
        The same places.

    Examples
    --------
    >>> from meanshiftpp.plot import in_period
    >>> in_period([[350.0, 5.0], [20.0, 5.0]], [[-170.0, 0.0], [175.0, 9.0]], [360, None])
    array([[-10.,   5.],
           [ 20.,   5.]])
    """
    points, places = np.asarray(X), np.array(centers, float)
    for j, period in enumerate(as_periods(periodic, points.shape[1])):
        if period and len(points):
            start = (float(points[:, j].min()) + float(points[:, j].max()) - period) / 2
            places[:, j] -= period * np.floor((places[:, j] - start) / period)
    return places


def _scene(
    X: NDArray[Any],
    labels: NDArray[Any],
    centers: ArrayLike | None,
    weights: ArrayLike | None,
    columns: Sequence[str] | None,
) -> _Scene:
    if X.ndim != 2 or labels.shape != X.shape[:1] or X.size == 0:
        raise InvalidInputError(
            f"expected points (n, d) and labels (n,), got shapes {X.shape} and {labels.shape}"
        )
    names = tuple(columns or [f"feature {j}" for j in range(X.shape[1])])
    k = max(int(labels.max()) + 1, 0 if centers is None else len(np.asarray(centers)))
    tags = np.where(labels < 0, k, labels).astype(np.intp)
    counts = np.bincount(tags, minlength=k + 1)[:k]
    middle = _means(X, tags, counts) if centers is None else np.asarray(centers, float)
    sizes = counts.astype(float) if weights is None else np.asarray(weights, float)
    chosen = _telling_features(X, middle, sizes)
    points = np.asarray(X[:, chosen], float)
    limits = [_limits(x) for x in points.T]
    # By a grid of other points, sizes need not fall.
    large = np.flatnonzero(sizes >= max(SHARE, min(2.5 / len(X), 0.1)) * sizes.sum())
    shown = int(large[-1]) + 1 if len(large) else 0
    colours = _colours(middle[:, chosen] / [high - low for low, high in limits], shown)
    shown_names = tuple(names[j] for j in chosen)
    centres = middle[:, chosen]
    return _Scene(points, tags, centres, sizes, colours, shown, shown_names, limits, X.shape[1])


def _fonts() -> list[str]:
    there = set(need("matplotlib.font_manager", "plot").get_font_names())
    return ["sans-serif", *(name for name in FONTS if name in there)]


def _limits(x: NDArray[np.float64]) -> tuple[float, float]:
    """Give the range of a feature, without the far outliers that would squeeze the rest."""
    low, high = np.percentile(x, [0.1, 99.9])
    room = 0.25 * (high - low)
    low, high = max(x.min(), low - room), min(x.max(), high + room)
    edge = 0.04 * (high - low) or 0.5
    return float(low - edge), float(high + edge)


def _means(X: NDArray[Any], tags: NDArray[np.intp], counts: NDArray[Any]) -> NDArray[np.float64]:
    sums = [np.bincount(tags, x, len(counts) + 1)[: len(counts)] for x in X.T]
    return np.asarray(np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None], float)


def _telling_features(
    X: NDArray[Any], centers: NDArray[np.float64], sizes: NDArray[np.float64]
) -> list[int]:
    """Return the features whose variance the clusters explain best, in their own order."""
    if X.shape[1] <= MAX_FEATURES or len(centers) == 0:
        return list(range(min(X.shape[1], MAX_FEATURES)))
    share = sizes / sizes.sum()
    between = share @ (centers - share @ centers) ** 2
    explained = between / np.maximum(X.var(axis=0), 1e-300)
    return sorted(np.argsort(-explained, kind="stable")[:MAX_FEATURES].tolist())


def _colours(centers: NDArray[np.float64], shown: int) -> NDArray[np.float64]:
    """Give the first clusters a colour each, taking one again only far from where it is used."""
    rgb = need("matplotlib.colors", "plot").to_rgb
    palette = np.array([rgb(colour) for colour in PALETTE])
    result = np.tile(rgb(GREY), (len(centers) + 1, 1))
    used: list[int] = []
    for i in range(shown):
        choice = i
        if i >= len(palette):
            apart = np.linalg.norm(centers[:i] - centers[i], axis=1)
            nearest = [apart[np.array(used) == c].min() for c in range(len(palette))]
            choice = int(np.argmax(nearest))
        used.append(choice)
        result[i] = palette[choice]
    return result


def _plane(scene: _Scene) -> Any:
    figure, panel = _with_sizes(scene, tall=6.6)
    _points(panel, scene, 0, 1)
    _modes(panel, scene, 0, 1)
    _name(panel, scene.names[0], scene.names[1])
    return figure


def _name(panel: Any, x: str, y: str = "") -> None:
    """Label the axes with column names, in which a dollar is only a dollar."""
    panel.set_xlabel(x, parse_math=False)
    panel.set_ylabel(y, parse_math=False)


def _line(scene: _Scene) -> Any:
    figure, panel = _with_sizes(scene, tall=4.6)
    _histogram(panel, scene, 0, most=160)
    for x, colour in zip(scene.centers[: scene.shown, 0], scene.colours, strict=False):
        panel.plot(x, 0, "^", ms=9, color=colour, mec=PAPER, mew=1.2, clip_on=False, zorder=5)
    _name(panel, scene.names[0])
    return figure


def _with_sizes(scene: _Scene, tall: float) -> tuple[Any, Any]:
    """Make a figure with room for one panel and the sizes beside it; lengths are inches."""
    left = _left(scene, 0.8)
    wide = left + 8.6
    figure = need("matplotlib.figure", "plot").Figure(figsize=(wide, tall))
    low, high = 0.55 / tall, 1 - 0.82 / tall
    panel = figure.add_axes((left / wide, low, 6.5 / wide, high - low))
    _sizes(figure.add_axes(((left + 7.05) / wide, low, 1.4 / wide, high - low)), scene)
    return figure, panel


def _corner(scene: _Scene) -> Any:
    """Make a triangle of panels, with the sizes in the corner that stays empty."""
    d, step = scene.X.shape[1], 2.2
    margin = _left(scene, 0.62)
    wide, tall = margin + 0.08 + d * step, 1.3 + d * step
    figure = need("matplotlib.figure", "plot").Figure(figsize=(wide, tall))

    def place(column: int, row: int, across: int = 1, up: int = 1, inset: float = 0) -> Any:
        left, low = margin + column * step + inset, 0.55 + row * step
        width, height = across * step - 0.15 - inset, up * step - 0.15
        return figure.add_axes((left / wide, low / tall, width / wide, height / tall))

    for i in range(d):
        for j in range(i + 1):
            panel = place(j, d - 1 - i)
            if i == j:
                _histogram(panel, scene, j, most=48)
            else:
                _points(panel, scene, j, i)
                _modes(panel, scene, j, i)
            panel.tick_params(labelbottom=i == d - 1, labelleft=j == 0 and i > 0)
            _name(
                panel,
                scene.names[j] if i == d - 1 else "",
                scene.names[i] if j == 0 and i > 0 else "",
            )
    free = d // 2
    _sizes(place(d - free, free, across=free, up=d - free, inset=0.6), scene)
    figure.align_ylabels()
    return figure


def _points(panel: Any, scene: _Scene, j: int, i: int) -> None:
    panel.set(xlim=scene.limits[j], ylim=scene.limits[i])
    panel.set_xticks(_apart(panel, scene.limits[j]))
    panel.set_yticks(_ticks(scene.limits[i], _most(panel)))
    if len(scene.X) > MAX_DOTS:
        _density(panel, scene, j, i)
        return
    panel.grid(color=LINE, linewidth=0.6)
    panel.set_axisbelow(True)
    order = np.random.default_rng(0).permutation(len(scene.X))  # no cluster lies over all others
    order = order[np.argsort(scene.labels[order] < scene.shown, kind="stable")]  # but grey below
    size = panel.get_position().width * panel.figure.get_figwidth() / 6.6
    area = np.clip(size * 2000 / len(order) ** 0.75, 1.2, 34)
    panel.scatter(
        scene.X[order, j],
        scene.X[order, i],
        s=area,
        c=scene.colours[scene.labels[order]],
        alpha=0.75 if len(order) < 5000 else 0.5,
        linewidths=0,
        rasterized=True,
    )


def _density(panel: Any, scene: _Scene, j: int, i: int) -> None:
    """Mix the colours of the points in a pixel, the stronger the more there are."""
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    box = panel.get_position()
    wide = int(box.width * panel.figure.get_figwidth() * 100)
    tall = int(box.height * panel.figure.get_figheight() * 100)
    column = ((scene.X[:, j] - left) * (wide / (right - left))).astype(np.intp)
    row = ((scene.X[:, i] - low) * (tall / (high - low))).astype(np.intp)
    inside = (column >= 0) & (column < wide) & (row >= 0) & (row < tall)
    pixel = (row * wide + column)[inside]
    count = np.bincount(pixel, minlength=wide * tall)
    paint = scene.colours[scene.labels[inside]]
    sums = np.stack([np.bincount(pixel, c, wide * tall) for c in paint.T], axis=1)
    mixed = sums / np.maximum(count, 1)[:, None]
    full = np.percentile(count[count > 0], 99.7)
    tone = np.minimum(np.log1p(count) / np.log1p(full), 1)[:, None]
    cover = np.where(tone > 0, 0.1 + 0.9 * tone, 0)
    paper = np.array(need("matplotlib.colors", "plot").to_rgb(PAPER))
    image = paper * (1 - cover) + mixed * (1 - 0.3 * tone**3) * cover
    panel.imshow(
        image.reshape(tall, wide, 3),
        origin="lower",
        extent=(left, right, low, high),
        aspect="auto",
        interpolation="antialiased",
    )


def _modes(panel: Any, scene: _Scene, j: int, i: int) -> None:
    """Mark the modes that have a colour: a ring that grows with the weight, and the number."""
    k = scene.shown
    size = panel.get_position().width * panel.figure.get_figwidth() / 6.6
    share = scene.sizes[:k] / scene.sizes.sum()
    numbered = size > 0.5 and k <= MAX_NUMBERS
    panel.scatter(
        scene.centers[:k, j],
        scene.centers[:k, i],
        s=size * ((105 if numbered else 45) + 420 * share),
        facecolors=PAPER,
        edgecolors=scene.colours[:k] * 0.8,
        linewidths=1.5,
        zorder=4,
    )
    for number in range(k if numbered else 0):
        at = scene.centers[number, [j, i]]
        panel.annotate(str(number), at, ha="center", va="center_baseline", size=6.5, zorder=5)


def _histogram(panel: Any, scene: _Scene, j: int, most: int) -> None:
    """Stack the clusters' histograms of one feature, the grey ones at the bottom."""
    bins = int(np.clip(3 * len(scene.X) ** (1 / 3), 10, most))
    edges = np.linspace(*scene.limits[j], bins + 1)
    groups = np.minimum(scene.labels, scene.shown)
    base = np.zeros(bins)
    for group in [scene.shown, *range(scene.shown)]:
        count = np.histogram(scene.X[groups == group, j], edges)[0]
        colour = scene.colours[group] if group < scene.shown else GREY
        panel.stairs(base + count, edges, baseline=base, fill=True, color=colour, alpha=0.85)
        base = base + count
    panel.set(xlim=(edges[0], edges[-1]), ylim=(0, base.max() * 1.08), yticks=[])
    panel.spines["left"].set_visible(False)
    panel.set_xticks(_apart(panel, scene.limits[j]))


def _most(panel: Any) -> int:
    """Say how many steps an axis may have."""
    return int(np.clip(_inches(panel) / 0.6, 3, 6))


def _inches(panel: Any) -> float:
    return float(panel.get_position().width * panel.figure.get_figwidth())


def _ticks(limits: tuple[float, float], most: int) -> NDArray[np.float64]:
    """Give the numbers on an axis, in at most so many steps."""
    how: Any = {"steps": [1, 2, 2.5, 5, 10], "min_n_ticks": min(most, 2)}
    locator = need("matplotlib.ticker", "plot").MaxNLocator(most, **how)
    ticks = np.asarray(locator.tick_values(*limits), float)
    return ticks[(ticks >= limits[0]) & (ticks <= limits[1])]


def _longest(ticks: NDArray[np.float64]) -> int:
    """Count the characters of the longest number."""
    return max((len(f"{tick:.10g}") for tick in ticks), default=0)


def _apart(panel: Any, limits: tuple[float, float]) -> NDArray[np.float64]:
    """Give numbers below an axis that do not run into each other, or into those of the next."""
    low, high = limits
    scale = _inches(panel) / (high - low)
    for most in range(_most(panel), 0, -1):
        ticks = _ticks(limits, most)
        wide = _longest(ticks) * DIGIT
        if len(ticks) < 2 or (ticks[1] - ticks[0]) * scale > wide + 0.12:
            break
    if wide <= DIGITS * DIGIT:
        return ticks
    inside = np.minimum(ticks - low, high - ticks) * scale > wide / 2 - 0.05
    return ticks[inside] if inside.any() else ticks[:1]


def _left(scene: _Scene, least: float) -> float:
    """Say how many inches the numbers and names to the left of all panels need."""
    longest = max((_longest(_ticks(limits, 6)) for limits in scene.limits[1:]), default=0)
    return max(longest * DIGIT + 0.34, least)


def _sizes(panel: Any, scene: _Scene) -> None:
    """Show the sizes: a bar for each of the largest clusters, a line for all the others."""
    tall = panel.get_position().height * panel.figure.get_figheight()
    rows = tall / np.clip(tall / (scene.shown + 2), 0.22, 0.3)  # so many fit; inches for each
    k = min(scene.shown, int(rows) - 2)
    sizes = scene.sizes[:k]
    panel.barh(np.arange(k), sizes, height=0.6, color=scene.colours[:k])
    entries = [(str(i), size) for i, size in enumerate(sizes)]
    if len(scene.sizes) > k:
        entries.append((f"{len(scene.sizes) - k:,} more", scene.sizes[k:].sum()))
    noise = np.sum(scene.labels == len(scene.sizes))
    if noise:
        entries.append(("noise", noise))
    for row, (_, size) in enumerate(entries):
        end = (size if row < k else 0, row)
        colour = INK if row < k else SOFT
        panel.annotate(
            f"{size:,.0f}" if size >= 1000 else f"{size:g}",
            end,
            (4, 0),
            textcoords="offset points",
            va="center",
            size=8,
            color=colour,
        )
    wide = panel.get_position().width * panel.figure.get_figwidth()
    longest = (
        max(sizes, default=1) * wide / (wide - 0.75)
    )  # which leaves 0.75 inches for its number
    panel.set(xlim=(0, longest), ylim=(rows - 0.5, -0.7), xticks=[])
    panel.set_yticks(range(len(entries)), [name for name, _ in entries])
    panel.tick_params(axis="y", length=0, labelcolor=INK)
    panel.spines[["left", "bottom"]].set_visible(False)
    panel.set_title("points in each cluster", loc="left", size=9, color=SOFT, pad=3)


def _heading(figure: Any, title: str | None, subtitle: str) -> None:
    left = 0.62 / figure.get_figwidth()
    tall = figure.get_figheight()
    if title:
        figure.text(left, 1 - 0.22 / tall, title, size=15, weight="bold", va="top")
    figure.text(left, 1 - 0.52 / tall, subtitle, size=10, color=SOFT, va="top")


def _summary(scene: _Scene) -> str:
    n, k = len(scene.X), len(scene.sizes)
    return f"{n:,} points, {k:,} cluster{'' if k == 1 else 's'}"


def _some(scene: _Scene) -> str:
    shown = len(scene.names)
    return f"; {shown} of {scene.features} features" if shown < scene.features else ""
