"""
Palettes of photographs
=======================

The colours of a picture are its modes in colour space. `palette` finds them, their number and their
shares. `quantize` paints the picture with them.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage import data
from sklearn.datasets import load_sample_image

from meanshiftpp import palette, quantize

photos = [
    load_sample_image("flower.jpg")[:, 35:605],
    load_sample_image("china.jpg")[:, 35:605],
    data.coffee()[:, 33:567],
    data.astronaut()[:384],
]
BANDWIDTH = 15.0  # of 255, in red, green and blue

fig, axes = plt.subplots(3, 4, figsize=(12, 6), height_ratios=[4, 4, 1], layout="constrained")
for photo, (top, middle, bottom) in zip(photos, axes.T, strict=True):
    colours = palette(photo, BANDWIDTH)
    top.imshow(photo)
    middle.imshow(quantize(photo, BANDWIDTH))
    wide = np.sqrt(colours.shares)  # the square root keeps rare colours visible
    ends = np.cumsum(wide)
    bottom.barh(0, wide, left=ends - wide, color=colours.colors / 255)
    bottom.set_xlim(0, ends[-1])
    top.set_title(f"{len(np.unique(photo.reshape(-1, 3), axis=0)):,} colours", loc="left")
    middle.set_title(f"{len(colours)} colours", loc="left")
for panel in axes.flat:
    panel.axis("off")
plt.show()
