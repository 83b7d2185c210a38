"""
Look before choosing the bandwidth
==================================

`sweep` clusters at many bandwidths, faster than separate fits. The data has structure where the
number of clusters stays constant and the clusterings agree with each other.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from meanshiftpp import sweep
from meanshiftpp.plot import PALETTE

iris = load_iris().data[:, 2:]  # petals: length and width in cm
result = sweep(iris)
print(result)

# %%
# The upper panel shows clusters and agreement at every bandwidth, the lower panels three of the
# clusterings: two fine ones, and the one that persists over the most bandwidths.

shown = [0, 1, int(result.best)]
fig = plt.figure(figsize=(12, 8), layout="constrained")
above, below = fig.subfigures(2, 1, height_ratios=[1.15, 1])
result.plot(above.subplots())
jitter = np.random.default_rng(0).uniform(-0.04, 0.04, iris.shape)  # iris has many ties
for panel, index in zip(below.subplots(1, 3, sharey=True), shown, strict=True):
    labels = result.labels(index, iris)
    colours = np.array([PALETTE[i % len(PALETTE)] for i in range(labels.max() + 1)])
    panel.scatter(*(iris + jitter).T, c=colours[labels], s=22, alpha=0.8, linewidths=0)
    h = " x ".join(f"{side:.2g}" for side in result.bandwidths[index])
    panel.set_title(f"h = {h} cm: {result.n_clusters[index]} clusters", loc="left", fontsize=10)
    panel.set_xlabel("petal length")
    panel.spines[["top", "right"]].set_visible(False)
below.axes[0].set_ylabel("petal width")
plt.show()
