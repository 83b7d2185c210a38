"""
Photographs into regions
========================

`segment` splits a photograph into regions: connected pieces of similar colour and texture. It needs
no parameters.
"""

import matplotlib.pyplot as plt
from skimage import data
from sklearn.datasets import load_sample_image

from meanshiftpp import hierarchy, segment
from meanshiftpp.draw import fill, region_colors

photos = {
    "coffee": data.coffee()[:, 33:567],
    "china": load_sample_image("china.jpg")[:, 35:605],
    "cat": data.chelsea()[:, :400],
    "rocket": data.rocket()[:, 35:605],
}

fig, axes = plt.subplots(2, 4, figsize=(12, 5.1), layout="constrained")
for (name, photo), (above, below) in zip(photos.items(), axes.T, strict=True):
    labels = segment(photo)
    above.imshow(photo)
    below.imshow(fill(labels, region_colors(photo, labels)))
    above.set_title(name, loc="left", fontsize=11)
    below.set_xlabel(f"{labels.max() + 1} regions", loc="left", fontsize=10)
for panel in axes.flat:
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
plt.show()

# %%
# Every level at once
# -------------------
#
# `segment` merges regions across their weakest borders, and the order of merging is a tree.
# `hierarchy` keeps it, so a slider can cut the tree at any level of detail without new computation.

photo = photos["china"]
tree = hierarchy(photo)

fig, axes = plt.subplots(1, 4, figsize=(12, 2.6), layout="constrained")
for detail, panel in zip((0.6, 1.5, 3, 8), axes, strict=True):
    labels = tree.cut(detail)
    panel.imshow(fill(labels, region_colors(photo, labels)))
    panel.set_title(f"detail={detail}: {tree.n_regions(detail)} regions", loc="left", fontsize=10)
    panel.axis("off")
plt.show()
