"""
Hues, on a circle
=================

Hue is an angle: 359 degrees is next to 1. With `periodic=[360]`, reds on both sides of zero are one
cluster. The same applies to hours of the day, wind directions and longitudes.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import hsv_to_rgb, rgb_to_hsv
from sklearn.datasets import load_sample_image

from meanshiftpp import MeanShiftPP

photos = [load_sample_image("flower.jpg"), load_sample_image("china.jpg")]

fig = plt.figure(figsize=(12, 5.8), layout="constrained")
for row, photo in enumerate(photos):
    hsv = rgb_to_hsv(photo / 255.0)
    hue, vividness = hsv[..., 0] * 360, hsv[..., 1] * hsv[..., 2]
    vivid = vividness > 0.15  # the hue of a grey pixel is noise
    model = MeanShiftPP(bandwidth=10, resolution=4, periodic=[360], min_cluster_size=1500)
    labels = model.fit_predict(hue[vivid][:, None])
    k = len(model.cluster_weights_)

    panel = fig.add_subplot(2, 3, 3 * row + 1)
    panel.imshow(photo)
    panel.set_title("photograph", loc="left")
    panel.axis("off")

    count, edges = np.histogram(hue[vivid], bins=180, range=(0, 360))
    wheel = fig.add_subplot(2, 3, 3 * row + 2, projection="polar")
    middle = np.radians((edges[:-1] + edges[1:]) / 2)
    bars = hsv_to_rgb(np.column_stack([edges[:-1] / 360, np.full((180, 2), (0.75, 0.9))]))
    wheel.bar(middle, np.sqrt(count / count.max()), width=np.radians(2), color=bars, bottom=1)
    for center in model.cluster_centers_[:, 0]:
        wheel.plot([np.radians(center)] * 2, [0.45, 1], color="black", linewidth=2.5)
    wheel.bar(0, 0.04, width=2 * np.pi, bottom=0.96, color="#DDDDDD")
    wheel.set(xticks=[], yticks=[], ylim=(0, 1.9))
    wheel.spines["polar"].set_visible(False)
    wheel.set_title(f"{k} hues", loc="left")

    shown = np.full((*hue.shape, 3), 0.9)
    pure = [(center / 360, 0.8, 0.8) for center in model.cluster_centers_[:, 0]]
    paint = np.vstack([hsv_to_rgb(pure), [0.9, 0.9, 0.9]])  # label -1 selects the last colour
    shown[vivid] = paint[labels]
    panel = fig.add_subplot(2, 3, 3 * row + 3)
    panel.imshow(shown)
    panel.set_title("each pixel in its hue, without greys", loc="left")
    panel.axis("off")
plt.show()
