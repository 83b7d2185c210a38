"""
Blood cells without gates
=========================

A flow cytometer measures how strongly each cell of a blood sample fluoresces in several colours,
one for each marker on its surface. Cell types are bumps in that space, usually gated by hand, two
markers at a time. `MeanShiftPP` finds them in all markers at once, without a parameter, and the
centre of a cluster shows its type.

The sample is synthetic: seven populations, among them some debris, with the shares and the spread
of healthy blood, and fluorescence that spills over from one detector to the next.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from meanshiftpp import MeanShiftPP
from meanshiftpp.plot import PALETTE

MARKERS = ["CD3", "CD4", "CD8", "CD19", "CD14"]
# share of the events, and the mean of log10(intensity) in each marker
POPULATIONS = {
    "CD4 T cells": (0.36, [3.9, 4.0, 1.9, 1.8, 1.7]),
    "CD8 T cells": (0.20, [3.8, 1.8, 4.3, 1.8, 1.8]),
    "double negative T": (0.03, [3.7, 1.9, 2.2, 1.7, 1.8]),
    "B cells": (0.12, [1.7, 1.8, 1.8, 4.0, 1.7]),
    "monocytes": (0.17, [1.9, 2.9, 1.9, 1.9, 4.2]),
    "NK cells": (0.10, [1.8, 1.8, 2.7, 1.7, 1.9]),
    "debris": (0.02, [1.2, 1.2, 1.2, 1.2, 1.2]),
}

rng = np.random.default_rng(0)
shares = np.array([share for share, _ in POPULATIONS.values()])
means = np.array([mean for _, mean in POPULATIONS.values()])
source = rng.choice(len(POPULATIONS), 300_000, p=shares / shares.sum())
size = rng.normal(0, 0.10, (len(source), 1))  # a large cell is brighter in every colour
light = 10 ** (means[source] + size + rng.normal(0, 0.17, (len(source), len(MARKERS))))
spill = np.eye(5) + 0.004 * (np.eye(5, k=1) + np.eye(5, k=-1))
measured = light @ spill + rng.normal(0, 25, light.shape)  # detector noise, also below zero

# %%
# The usual scale is linear near zero and logarithmic above. `MeanShiftPP` then finds the clusters
# that significant valleys divide, also the rare ones of 2 % and 3 %.

X = np.arcsinh(measured / 50)
model = MeanShiftPP()
labels = model.fit_predict(X)

high = model.cluster_centers_ > 2.4
for i, (weight, signs) in enumerate(zip(model.cluster_weights_, high, strict=True)):
    names = " ".join(f"{m}{'+' if up else '-'}" for m, up in zip(MARKERS, signs, strict=True))
    print(f"{i}  {weight / len(X):5.1%}  {names}")

# %%

colours = np.array([to_rgb(colour) for colour in PALETTE])


def draw(panel: plt.Axes, j: int, i: int) -> None:
    """Mix the colours of the events in each pixel, stronger where there are more events."""
    edges = [np.linspace(-2, 8.5, 241)] * 2
    layers = np.array(
        [np.histogram2d(X[labels == c, i], X[labels == c, j], edges)[0] for c in range(len(high))]
    )
    total = layers.sum(axis=0)
    tone = np.clip(np.log1p(total) / np.log1p(np.percentile(total[total > 0], 99)), 0, 1)[..., None]
    mixed = np.einsum("cyx,cr->yxr", layers, colours[: len(high)]) / np.maximum(total, 1)[..., None]
    panel.imshow(1 - tone + mixed * tone, origin="lower", extent=(-2, 8.5, -2, 8.5))
    panel.set(xlabel=MARKERS[j], ylabel=MARKERS[i], xticks=[], yticks=[])
    for number, center in enumerate(model.cluster_centers_):
        panel.annotate(
            str(number),
            center[[j, i]],
            ha="center",
            va="center",
            fontsize=9,
            bbox={"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": colours[number]},
        )


fig, axes = plt.subplots(1, 3, figsize=(12, 4.3), layout="constrained")
for panel, (j, i) in zip(axes, [(0, 3), (1, 2), (1, 4)], strict=True):
    draw(panel, j, i)
    panel.spines[:].set_color("#DDDDDD")
fig.suptitle(f"{len(X):,} cells in {X.shape[1]} markers: {len(high)} cell types", x=0.01, ha="left")
plt.show()
