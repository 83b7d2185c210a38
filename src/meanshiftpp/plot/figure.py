"""The picture of a clustering, ready for a report.

Two features make a plane, more make a triangle of planes with a histogram of each feature, one
makes a histogram. Up to 100,000 points are drawn one by one, more as a density. Mode seeking finds
every bump of the density, and a thousand clusters in a thousand colours are unreadable: up to 400
clusters of 0.5% of the points, or of a tenth of the largest cluster, have a colour, and so do
significant clusters of any size. The others are grey and share a row of the size panel. Of more
than 60 coloured clusters, the 20 largest are numbered.

Figures do not use pyplot: no global state, no window, nothing to close.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from meanshiftpp._support.checks import as_periods
from meanshiftpp._support.extras import need
from meanshiftpp._support.text import pluralize
from meanshiftpp.core.periods import nearest_copies
from meanshiftpp.core.tree.valleys import NO_VALLEY
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.plot.axes import label_axes, left_margin
from meanshiftpp.plot.panels import draw_histogram, draw_modes, draw_points, draw_sizes
from meanshiftpp.plot.scene import Scene, build_scene, checked_centers, checked_points
from meanshiftpp.plot.style import PAPER, SOFT, STYLE, font_families
from meanshiftpp.plot.tree import draw_tree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from meanshiftpp.estimators.condensed import CondensedTree

# Inches.
BELOW = 0.55  # for the numbers and the name of the lowest axis
TITLE_LEFT = 0.62
PANEL_SIZE = 2.2  # width and height of a panel in the triangle, with the gap to the next
GAP = 0.15
TREE_WIDTH, TREE_LEFT, TREE_RIGHT = 5.4, 0.85, 0.35  # of the tree and its margins


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
    tree: CondensedTree | None = None,
    noise: float | None = None,
    weighted: bool = False,
) -> Any:
    """Draw points in the colours of their clusters, the modes, and the cluster sizes.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points. If there are more than five features, the five that separate the clusters best
        are drawn.
    labels : array-like of shape (n,)
        Label of each point, numbered by falling cluster size; -1 is noise.
    centers : array-like of shape (k, d), default=None
        The modes; None uses the means of the clusters.
    weights : array-like of shape (k,), default=None
        The cluster sizes; None counts the points.
    columns : sequence of str, default=None
        Names of the features.
    periodic : sequence of d periods, each a number or None, default=None
        As in `Grid.from_points`: each mode is drawn at the copy nearest to the points.
    title, subtitle : str, default=None
        Two lines above the picture. If features are left out, the second line adds how many.
    tree : CondensedTree, default=None
        The tree of significant clusters, `MeanShiftPP.condensed_tree_`, which is drawn to the
        right. For a tree without a split, the second line adds "no significant valley".
    noise : float, default=None
        The size of the noise; None counts the points with label -1.
    weighted : bool, default=False
        Whether sizes are sums of weights instead of numbers of points, and are named so.

    Returns
    -------
    figure : matplotlib.figure.Figure
        ``figure.savefig(path)`` writes the picture; a notebook displays it.

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
    points, numbers = checked_points(X, labels)
    as_periods(periodic, points.shape[1])
    modes = checked_centers(centers, points, numbers)
    modes = None if modes is None else nearest_copies(modes, points, periodic)
    _check_texts(title=title, subtitle=subtitle)
    if tree is not None and not hasattr(tree, "nodes"):
        expected = "the condensed_tree_ of a fit, or None"
        raise InvalidInputError.for_parameter("tree", expected, tree)
    sizes: dict[str, Any] = {"noise": noise, "is_weighted": weighted}
    sizes["significant"] = tree is not None
    scene = build_scene(points, numbers, modes, weights, columns, **sizes)
    layouts = {1: _line_figure, 2: _plane_figure}
    with matplotlib.rc_context({**STYLE, "font.family": font_families()}):
        figure = layouts.get(scene.X.shape[1], _triangle_figure)(scene)
        if tree is not None and len(tree) > 1:
            _add_tree(figure, scene, tree)
        text = (subtitle or _summary(scene)) + _left_out(scene) + _no_valley(tree)
        _draw_heading(figure, title, text)
    return figure


def _check_texts(**texts: object) -> None:
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise InvalidInputError.for_parameter(name, "a text or None", text)


def _line_figure(scene: Scene) -> Any:
    """Lay out one feature: a histogram with the modes as triangles on its axis."""
    figure, panel = _figure_with_sizes(scene, height=4.6)
    draw_histogram(panel, scene, 0, max_bins=160)
    for x, colour in zip(scene.centers[: scene.n_coloured, 0], scene.colours, strict=False):
        panel.plot(x, 0, "^", ms=9, color=colour, mec=PAPER, mew=1.2, clip_on=False, zorder=5)
    label_axes(panel, scene.names[0])
    return figure


def _plane_figure(scene: Scene) -> Any:
    """Lay out two features: one plane."""
    figure, panel = _figure_with_sizes(scene, height=6.6)
    draw_points(panel, scene, 0, 1)
    draw_modes(panel, scene, 0, 1)
    label_axes(panel, scene.names[0], scene.names[1])
    return figure


def _figure_with_sizes(scene: Scene, height: float) -> tuple[Any, Any]:
    """Create a figure with an empty panel and, to its right, the cluster sizes."""
    left = left_margin(scene, 0.8)
    width = left + 8.6
    figure = need("matplotlib.figure", "plot").Figure(figsize=(width, height))
    low, high = BELOW / height, 1 - 0.82 / height
    panel = figure.add_axes((left / width, low, 6.5 / width, high - low))
    draw_sizes(figure.add_axes(((left + 7.05) / width, low, 1.4 / width, high - low)), scene)
    return figure, panel


def _triangle_figure(scene: Scene) -> Any:
    """Lay out more features: a triangle of panels, with the sizes in the free corner."""
    d = scene.X.shape[1]
    margin = left_margin(scene, TITLE_LEFT)
    width, height = margin + 0.08 + d * PANEL_SIZE, 1.3 + d * PANEL_SIZE
    figure = need("matplotlib.figure", "plot").Figure(figsize=(width, height))

    def add_panel(column: int, row: int, across: int = 1, up: int = 1, inset: float = 0) -> Any:
        left, low = margin + column * PANEL_SIZE + inset, BELOW + row * PANEL_SIZE
        across_inches, up_inches = across * PANEL_SIZE - GAP - inset, up * PANEL_SIZE - GAP
        return figure.add_axes(
            (left / width, low / height, across_inches / width, up_inches / height)
        )

    for i in range(d):
        for j in range(i + 1):
            _draw_in_triangle(add_panel(j, d - 1 - i), scene, j, i)
    free = d // 2
    draw_sizes(add_panel(d - free, free, across=free, up=d - free, inset=0.6), scene)
    figure.align_ylabels()
    return figure


def _draw_in_triangle(panel: Any, scene: Scene, j: int, i: int) -> None:
    """Draw features j and i; only the outer panels of the triangle have numbers and names."""
    if i == j:
        draw_histogram(panel, scene, j, max_bins=48)
    else:
        draw_points(panel, scene, j, i)
        draw_modes(panel, scene, j, i)
    lowest, leftmost = i == scene.X.shape[1] - 1, j == 0 and i > 0
    panel.tick_params(labelbottom=lowest, labelleft=leftmost)
    label_axes(panel, scene.names[j] if lowest else "", scene.names[i] if leftmost else "")


def _add_tree(figure: Any, scene: Scene, tree: CondensedTree) -> None:
    """Widen a figure, and draw the tree to the right of its panels in the colours of the points."""
    width, height = figure.get_size_inches()
    wider = width + TREE_WIDTH
    for panel in figure.axes:
        box = panel.get_position()
        panel.set_position((box.x0 * width / wider, box.y0, box.width * width / wider, box.height))
    figure.set_figwidth(wider)
    low, high = BELOW / height, 1 - 0.82 / height
    across = TREE_WIDTH - TREE_LEFT - TREE_RIGHT
    panel = figure.add_axes(((width + TREE_LEFT) / wider, low, across / wider, high - low))
    draw_tree(tree, panel, list(scene.colours), weighted=scene.is_weighted)
    panel.set_title("tree of the clusters", loc="left", size=9, color=SOFT, pad=3)


def _draw_heading(figure: Any, title: str | None, subtitle: str) -> None:
    left = TITLE_LEFT / figure.get_figwidth()
    height = figure.get_figheight()
    if title:
        figure.text(left, 1 - 0.22 / height, title, size=15, weight="bold", va="top")
    figure.text(left, 1 - 0.52 / height, subtitle, size=10, color=SOFT, va="top")


def _summary(scene: Scene) -> str:
    return f"{len(scene.X):,} points, {pluralize(len(scene.sizes), 'cluster')}"


def _no_valley(tree: CondensedTree | None) -> str:
    return f"; {NO_VALLEY}" if tree is not None and len(tree) == 1 else ""


def _left_out(scene: Scene) -> str:
    drawn = len(scene.names)
    return f"; {drawn} of {scene.n_features} features" if drawn < scene.n_features else ""
