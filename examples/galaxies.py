"""
Galaxies, weighted by their light
=================================

Points can have weights. Here a point is the position of a bright pixel, and its weight is the
brightness. The modes are the centres of galaxies, and the weight of a cluster is the total light of
one galaxy. The picture is the Hubble Extreme Deep Field that comes with scikit-image.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data

from meanshiftpp import MeanShiftPP

sky = data.hubble_deep_field()
light = sky.mean(axis=2)
bright = light > 60
rows, columns = np.nonzero(bright)
positions = np.column_stack([columns, rows])

model = MeanShiftPP(bandwidth=4, resolution=4, min_cluster_size=3000)
model.fit(positions, sample_weight=light[bright].astype(int))
x, y = model.cluster_centers_.T
weight = model.cluster_weights_

fig, panel = plt.subplots(figsize=(10, 8.72), facecolor="black")
panel.set_position([0, 0, 1, 1])
panel.imshow(sky)
panel.scatter(x, y, s=weight**0.55 * 0.7, facecolors="none", edgecolors="#7CE0FF", linewidths=0.9)
panel.axis("off")
panel.text(20, 850, f"{len(x)} sources", color="white", fontsize=15, weight="bold", va="bottom")
plt.show()
