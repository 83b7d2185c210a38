"""
Land cover from satellite bands
===============================

A pixel of a satellite image has more than three channels: here six bands from blue to short-wave
infrared. Each kind of land cover is a bump in this space, and `segment` accepts any number of
bands. With `regions=False` a label is a kind of spectrum, wherever it occurs.

The scene is synthetic: a terrain and the reflectance of water, sand, crops, meadow, forest and
town, with shading, mixed pixels and noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from meanshiftpp import segment

BANDS = ["blue", "green", "red", "near IR", "SWIR 1", "SWIR 2"]
SPECTRA = np.array(  # reflectance in each band
    [
        [0.06, 0.05, 0.03, 0.02, 0.01, 0.01],  # water
        [0.16, 0.21, 0.26, 0.32, 0.40, 0.36],  # sand
        [0.04, 0.08, 0.05, 0.48, 0.22, 0.10],  # crops
        [0.06, 0.11, 0.11, 0.33, 0.27, 0.17],  # meadow
        [0.02, 0.04, 0.02, 0.26, 0.11, 0.05],  # forest
        [0.14, 0.15, 0.17, 0.21, 0.25, 0.23],  # town
    ]
)
SIDE = 512
rng = np.random.default_rng(11)


def noise(finest: float) -> np.ndarray:
    """Draw a hilly surface of standard deviation 1, with lower hills at smaller scales."""
    sizes = 2.0 ** np.arange(np.log2(finest), 8)
    layers = [gaussian_filter(rng.normal(size=(SIDE, SIDE)), size, mode="wrap") for size in sizes]
    return _unit(sum(size**0.8 * _unit(each) for size, each in zip(sizes, layers, strict=True)))


def _unit(values: np.ndarray) -> np.ndarray:
    return (values - values.mean()) / values.std()


height, damp = noise(2), noise(4)
cover = np.where(damp > 0.1, 4, 3)  # forest on damp ground, meadow elsewhere
yy, xx = np.mgrid[:SIDE, :SIDE]
seeds = rng.uniform(-SIDE, SIDE, (900, 2))  # fields are long and parallel
stretched = np.stack([(xx + 0.5 * yy) / 2.2, yy - 0.5 * xx], axis=-1)
fields = rng.integers(2, 4, len(seeds))[cKDTree(seeds).query(stretched)[1]]
farmed = (np.abs(height) < 0.55) & (damp < 0.5)
cover[farmed] = fields[farmed]
town = np.hypot(yy - 330, xx - 190) + 18 * noise(4) < 62
cover[town & (rng.random((SIDE, SIDE)) < 0.85)] = 5
cover[height < -0.75] = 1
river = np.abs(noise(8) + (yy - xx) / SIDE) < 0.03
cover[river] = 0
cover[height < -0.9] = 0

slope = np.gradient(height)[1]
shade = np.clip(1 + 2.2 * np.where(height < -0.9, 0, slope), 0.75, 1.25)[..., None]
scene = gaussian_filter(SPECTRA[cover], (0.6, 0.6, 0)) * shade  # neighbouring pixels mix
scene += rng.normal(0, 0.006, scene.shape)

# %%
# Cluster the spectra. Clusters of less than a hundredth of the pixels are mixtures along borders
# and stay grey.

labels = segment(scene, 0.035, space=None, regions=False)
kinds = int(np.sum(np.bincount(labels.ravel()) > 0.01 * labels.size))
spectra = np.array([scene[labels == i].mean(axis=0) for i in range(kinds)])

# %%


def picture(*bands: int) -> np.ndarray:
    """Return three bands as red, green and blue."""
    channels = scene[..., bands]
    return np.clip(channels / np.percentile(channels, 99, axis=(0, 1)), 0, 1) ** 0.8


# Colour each kind by its spectrum, with infrared as red, so that plants are bright.
paint = np.clip(spectra[:, [3, 4, 1]] / [0.5, 0.42, 0.22], 0, 1) ** 0.75
paint = np.vstack([paint, np.full((labels.max() + 1 - kinds, 3), 0.85)])

fig, axes = plt.subplots(1, 4, figsize=(14, 3.9), width_ratios=[1, 1, 1, 0.9], layout="constrained")
for panel, image, title in zip(
    axes,
    [picture(2, 1, 0), picture(3, 2, 1), paint[labels]],
    ["natural colours", "infrared as red", f"{kinds} kinds of land cover"],
    strict=False,
):
    panel.imshow(image)
    panel.set_title(title, loc="left")
    panel.axis("off")
for spectrum, colour in zip(spectra, paint, strict=False):
    axes[3].plot(BANDS, spectrum, "-o", color=colour * 0.9, linewidth=2.2, markersize=5)
axes[3].set_title("their spectra", loc="left")
axes[3].tick_params(axis="x", rotation=40)
axes[3].spines[["top", "right"]].set_visible(False)
plt.show()
