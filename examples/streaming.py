"""
Points that keep coming
=======================

Grids add up, so a stream needs no window, no sample and no memory of its points: keep one grid, add
each chunk to it, search it whenever an answer is wanted. What is found is exactly what a fit to
all points so far would find.

Here sixty chunks arrive, drawn from fourteen sources. The sources do not all speak at once: new
ones turn up as time goes on.
"""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np

from meanshiftpp import Grid, seek

BANDWIDTH = 0.35
rng = np.random.default_rng(3)
angle = np.linspace(0, 4 * np.pi, 14)
sources = np.column_stack([np.cos(angle), np.sin(angle)]) * (3.5 + 0.9 * angle)[:, None]
width = rng.uniform(0.5, 0.9, len(sources))


def chunks() -> Iterator[np.ndarray]:
    """Give 60 chunks of 20,000 points; a source more every four chunks."""
    for now in range(60):
        speaks = rng.integers(0, min(1 + now // 4, len(sources)), 20_000)
        yield sources[speaks] + width[speaks, None] * rng.normal(size=(20_000, 2))


grid = Grid.empty(BANDWIDTH, 2)
shown = {}
for number, chunk in enumerate(chunks(), start=1):
    grid = grid + Grid.from_points(chunk, BANDWIDTH)
    if number in (5, 20, 60):
        shown[number] = (grid, seek(grid).keep(0.005 * grid.total))

# %%
# The cells of the grid are all that is kept. Circles are the clusters that have half a hundredth of
# the points at least, where and how heavy they are.

fig, axes = plt.subplots(1, 3, figsize=(12, 4.8), layout="constrained", facecolor="black")
for panel, (sofar, modes) in zip(axes, shown.values(), strict=True):
    image = np.zeros((100, 100))
    at = sofar.cells + 50
    inside = np.all((at >= 0) & (at < 100), axis=1)
    image[at[inside, 1], at[inside, 0]] = sofar.counts[inside]
    side = 50 * BANDWIDTH
    extent = (-side, side, -side, side)
    panel.imshow(np.log1p(image), origin="lower", cmap="magma", extent=extent)
    x, y = modes.centers.T
    share = modes.weights / sofar.total
    panel.scatter(x, y, s=80 + 900 * share, facecolors="none", edgecolors="white", linewidths=1.4)
    kept = len(sofar) * (8 + 16 * sofar.n_features) / 1e3
    panel.set_title(
        f"{sofar.total:,.0f} points, {len(modes)} clusters\n{len(sofar):,} cells, {kept:,.0f} kB",
        loc="left",
        color="white",
        fontsize=11,
    )
    panel.axis("off")
plt.show()
