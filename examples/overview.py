"""
Four applications in one picture
================================

The same method clusters a million points, a photograph, the sky and a film. This is the picture at
the top of the README.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from skimage import data
from sklearn.datasets import load_sample_image

from meanshiftpp import MeanShiftPP, Tracker, segment
from meanshiftpp.apps.samples import gaussians
from meanshiftpp.clips import occlusion
from meanshiftpp.draw import fill, region_colors
from meanshiftpp.plot import PALETTE

fig, (points, photo, sky, film) = plt.subplots(1, 4, figsize=(12, 3.3), layout="constrained")

# Points: a colour for each of the 18 clusters, stronger where there are more points. The nine
# colours are used twice, rotated the second time so that equal ones are far apart.
X, _ = gaussians(1_000_000)
model = MeanShiftPP().fit(X)
k = len(model.cluster_weights_)
rotated = PALETTE + PALETTE[2:] + PALETTE[:2]
colours = np.array([to_rgb(colour) for colour in rotated[:k]])
side = np.linspace(-11.5, 11.5, 361)
layers = np.array([np.histogram2d(*X[model.labels_ == i].T, (side, side))[0].T for i in range(k)])
total = layers.sum(axis=0)[..., None]
tone = np.clip(np.log1p(total) / np.log1p(np.percentile(total[total > 0], 99.5)), 0, 1)
mixed = np.einsum("cyx,cr->yxr", layers, colours) / np.maximum(total, 1)
points.imshow(1 - tone + mixed * tone, origin="lower")
points.set_title(f"a million points, {k} clusters", fontsize=11)

# A photograph: the original above the diagonal, its regions below.
image = load_sample_image("china.jpg")[:, 60:487]
labels = segment(image, detail=3)
regions = fill(labels, region_colors(image, labels))
below = np.add.outer(np.arange(427), -np.arange(427)) > 0
photo.imshow(np.where(below[..., None], regions, image))
photo.plot([0, 426], [0, 426], color="white", linewidth=1)
photo.set_title(f"a photograph, {labels.max() + 1} regions", fontsize=11)

# The sky: positions weighted by their light.
deep = data.hubble_deep_field()[330:630, 300:600]
light = deep.mean(axis=2)
rows, columns = np.nonzero(light > 60)
model = MeanShiftPP(bandwidth=4, resolution=4, min_cluster_size=3000)
model.fit(np.column_stack([columns, rows]), sample_weight=light[rows, columns].astype(int))
sky.imshow(deep)
x, y = model.cluster_centers_.T
sky.scatter(x, y, s=model.cluster_weights_**0.6, facecolors="none", edgecolors="#7CE0FF")
sky.set_title(f"the sky, {len(x)} galaxies", fontsize=11)

# A film: the path of a ball that passes behind a post, as far as the tracker saw it.
frames, truth = zip(*occlusion(), strict=True)
tracker = Tracker()
tracker.init(frames[0], truth[0])
seen = [tracker.update(frame) for frame in frames[1:]]
way = np.array([(x + w / 2, y + h / 2) if ok else (np.nan, np.nan) for ok, (x, y, w, h) in seen])
last = 48
x, y, w, h = seen[last][1]
film.imshow(frames[last + 1][:, 40:280])
film.plot(way[: last + 1, 0] - 40, way[: last + 1, 1], color="#7CE0FF", linewidth=2)
film.add_patch(plt.Rectangle((x - 40, y), w, h, fill=False, edgecolor="#7CE0FF", linewidth=2))
film.set(xlim=(0, 239), ylim=(239, 0))
film.set_title("a film: the path of a ball", fontsize=11)

for panel in (points, photo, sky, film):
    panel.set(xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
plt.show()
