"""
Points that keep coming
=======================

Grids add up, so a stream needs no sliding window, no sample and no stored points: keep one grid,
add each chunk to it, and search it when you need a result. The result equals that of a fit to all
points so far.

Here sixty chunks arrive, drawn from fourteen sources. A new source starts every four chunks.
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
    """Yield 60 chunks of 20,000 points, with one more source every four chunks."""
    for number in range(60):
        source = rng.integers(0, min(1 + number // 4, len(sources)), 20_000)
        yield sources[source] + width[source, None] * rng.normal(size=(20_000, 2))


grid = Grid.empty(BANDWIDTH, 2)
shown = {}
for number, chunk in enumerate(chunks(), start=1):
    grid = grid + Grid.from_points(chunk, BANDWIDTH)
    if number in (5, 20, 60):
        shown[number] = (grid, seek(grid).keep(0.005 * grid.total))

# %%
# Only the cells of the grid are stored. Circles mark the clusters of at least 0.5 % of the points;
# their area shows the weight.

fig, axes = plt.subplots(1, 3, figsize=(12, 4.8), layout="constrained", facecolor="black")
for panel, (snapshot, modes) in zip(axes, shown.values(), strict=True):
    image = np.zeros((100, 100))
    pixels = snapshot.cells + 50
    inside = np.all((pixels >= 0) & (pixels < 100), axis=1)
    image[pixels[inside, 1], pixels[inside, 0]] = snapshot.counts[inside]
    half = 50 * BANDWIDTH
    extent = (-half, half, -half, half)
    panel.imshow(np.log1p(image), origin="lower", cmap="magma", extent=extent)
    x, y = modes.centers.T
    share = modes.weights / snapshot.total
    panel.scatter(x, y, s=80 + 900 * share, facecolors="none", edgecolors="white", linewidths=1.4)
    size = len(snapshot) * (8 + 16 * snapshot.n_features) / 1e3
    panel.set_title(
        f"{snapshot.total:,.0f} points, {len(modes)} clusters\n"
        f"{len(snapshot):,} cells, {size:,.0f} kB",
        loc="left",
        color="white",
        fontsize=11,
    )
    panel.axis("off")
plt.show()
