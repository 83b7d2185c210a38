"""Panels of a picture: points or their density, modes, a histogram, and the cluster sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.plot.axes import set_ticks, size_in_inches
from meanshiftpp.plot.scene import Scene
from meanshiftpp.plot.style import GREY, INK, LINE, PAPER, SOFT

MAX_DOTS = 100_000  # more points than this are drawn as a density
MAX_MARKED = 60  # rings on more modes than this would hide the points
N_LARGEST = 20  # of more clusters, these have a ring; the others have a dot
FULL_WIDTH = 6.6  # inches: dots and rings shrink in a narrower panel
DENSITY_DPI = 100
SIZE_LABEL = 0.75  # inches to the right of a bar for its number


def draw_points(panel: Any, scene: Scene, j: int, i: int) -> None:
    """Draw features j (x axis) and i (y axis) of the points, as dots or as a density."""
    panel.set(xlim=scene.limits[j], ylim=scene.limits[i])
    set_ticks(panel, scene.limits[j], scene.limits[i])
    if len(scene.X) > MAX_DOTS:
        _draw_density(panel, scene, j, i)
    else:
        _draw_dots(panel, scene, j, i)


def _draw_dots(panel: Any, scene: Scene, j: int, i: int) -> None:
    panel.grid(color=LINE, linewidth=0.6)
    panel.set_axisbelow(True)
    # In random order no cluster covers all others; grey points go below the coloured ones.
    order = np.random.default_rng(0).permutation(len(scene.X))
    order = order[np.argsort(scene.labels[order] < scene.n_coloured, kind="stable")]
    scale = size_in_inches(panel)[0] / FULL_WIDTH
    panel.scatter(
        scene.X[order, j],
        scene.X[order, i],
        s=np.clip(scale * 2000 / len(order) ** 0.75, 1.2, 34),
        c=scene.colours[scene.labels[order]],
        alpha=0.75 if len(order) < 5000 else 0.5,
        linewidths=0,
        rasterized=True,
    )


def _draw_density(panel: Any, scene: Scene, j: int, i: int) -> None:
    """Draw the mean colour of the points in each pixel, stronger where there are more."""
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    width, height = (int(length * DENSITY_DPI) for length in size_in_inches(panel))
    column = ((scene.X[:, j] - left) * (width / (right - left))).astype(np.intp)
    row = ((scene.X[:, i] - low) * (height / (high - low))).astype(np.intp)
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    pixel = (row * width + column)[inside]
    image = _blend(pixel, scene.colours[scene.labels[inside]], width * height)
    panel.imshow(
        image.reshape(height, width, 3),
        origin="lower",
        extent=(left, right, low, high),
        aspect="auto",
        interpolation="antialiased",
    )


def _blend(
    pixel: NDArray[np.intp], colours: NDArray[np.float64], n_pixels: int
) -> NDArray[np.float64]:
    """Return the colour of every pixel, from the pixel and the colour of every point."""
    count = np.bincount(pixel, minlength=n_pixels)
    sums = np.stack([np.bincount(pixel, channel, n_pixels) for channel in colours.T], axis=1)
    mean = sums / np.maximum(count, 1)[:, None]
    full = np.percentile(count[count > 0], 99.7)
    tone = np.minimum(np.log1p(count) / np.log1p(full), 1)[:, None]
    opacity = np.where(tone > 0, 0.1 + 0.9 * tone, 0)
    paper = np.array(need("matplotlib.colors", "plot").to_rgb(PAPER))
    blended: NDArray[np.float64] = paper * (1 - opacity) + mean * (1 - 0.3 * tone**3) * opacity
    return blended


def draw_modes(panel: Any, scene: Scene, j: int, i: int) -> None:
    """Mark the modes of coloured clusters: a ring that grows with the size, and the label.

    If there are many, the smaller ones are marked by dots.
    """
    k = scene.n_coloured
    marked = k if k <= MAX_MARKED else N_LARGEST
    scale = size_in_inches(panel)[0] / FULL_WIDTH
    share = scene.sizes[:marked] / scene.sizes.sum()
    numbered = scale > 0.5
    panel.scatter(
        scene.centers[marked:k, j],
        scene.centers[marked:k, i],
        s=8 * scale,
        c=scene.colours[marked:k] * 0.6,
        linewidths=0,
        zorder=4,
    )
    panel.scatter(
        scene.centers[:marked, j],
        scene.centers[:marked, i],
        s=scale * ((105 if numbered else 45) + 420 * share),
        facecolors=PAPER,
        edgecolors=scene.colours[:marked] * 0.8,
        linewidths=1.5,
        zorder=4,
    )
    for label in range(marked if numbered else 0):
        at = scene.centers[label, [j, i]]
        panel.annotate(str(label), at, ha="center", va="center_baseline", size=6.5, zorder=5)


def draw_histogram(panel: Any, scene: Scene, j: int, max_bins: int) -> None:
    """Stack the clusters' histograms of feature j, the grey ones at the bottom.

    Of many clusters that may lie above each other, only the largest have a colour.
    """
    many = scene.n_coloured > MAX_MARKED and scene.X.shape[1] > 1
    k = N_LARGEST if many else scene.n_coloured
    bins = int(np.clip(3 * len(scene.X) ** (1 / 3), 10, max_bins))
    edges = np.linspace(*scene.limits[j], bins + 1)
    groups = np.minimum(scene.labels, k)
    counts = np.histogram2d(groups, scene.X[:, j], (np.arange(k + 2), edges))[0]
    base = np.zeros(bins)
    for group in [k, *range(k)]:
        colour = scene.colours[group] if group < k else GREY
        top = base + counts[group]
        panel.stairs(top, edges, baseline=base, fill=True, color=colour, alpha=0.85)
        base = top
    panel.set(xlim=(edges[0], edges[-1]), ylim=(0, base.max() * 1.08), yticks=[])
    panel.spines["left"].set_visible(False)
    set_ticks(panel, scene.limits[j])


def draw_sizes(panel: Any, scene: Scene) -> None:
    """Draw a bar for each of the largest clusters; list the others and noise below as totals."""
    width, height = size_in_inches(panel)
    n_rows = height / np.clip(height / (scene.n_coloured + 2), 0.22, 0.3)  # inches for each row
    n_bars = min(scene.n_coloured, int(n_rows) - 2)
    sizes = scene.sizes[:n_bars]
    panel.barh(np.arange(n_bars), sizes, height=0.6, color=scene.colours[:n_bars])
    rows = _size_rows(scene, n_bars)
    for row, (_, size) in enumerate(rows):
        panel.annotate(
            f"{size:,.0f}" if size >= 1000 else f"{size:g}",
            (size if row < n_bars else 0, row),
            (4, 0),
            textcoords="offset points",
            va="center",
            size=8,
            color=INK if row < n_bars else SOFT,
        )
    longest = (max(sizes, default=0) or 1) * width / (width - SIZE_LABEL)
    panel.set(xlim=(0, longest), ylim=(n_rows - 0.5, -0.7), xticks=[])
    panel.set_yticks(range(len(rows)), [name for name, _ in rows])
    panel.tick_params(axis="y", length=0, labelcolor=INK)
    panel.spines[["left", "bottom"]].set_visible(False)
    title = "weight of each cluster" if scene.is_weighted else "points in each cluster"
    panel.set_title(title, loc="left", size=9, color=SOFT, pad=3)


def _size_rows(scene: Scene, n_bars: int) -> list[tuple[str, float]]:
    """Return the name and the size of each row: clusters with a bar, the others, noise."""
    rows = [(str(label), float(size)) for label, size in enumerate(scene.sizes[:n_bars])]
    if len(scene.sizes) > n_bars:
        rows.append((f"{len(scene.sizes) - n_bars:,} more", float(scene.sizes[n_bars:].sum())))
    if scene.noise:
        rows.append(("noise", scene.noise))
    return rows
