"""Bands of any number and unit: scaled by their range, and compared along a few common axes.

Bands of a scene differ in unit and spread: reflectances in 8 or 16 bits, temperatures, heights.
Each is divided by the range of most of its values, so that none dominates and clouds or dead pixels
do not set the scale. The axes of largest variance then separate what the bands have in common.

A region of a map has a size on the ground, so the number of regions grows with the scene. In a
photograph it does not, because a larger photograph shows the same objects with more pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPREAD = 15.0  # total standard deviation along the axes, as that of colours in Lab
RANGE = (2.0, 98.0)  # percentiles of a band between which its range lies
N_AXES = 3
_CONTRAST = 0.7  # the kernel's unit of contrast is this power of the spread
SAMPLE = 1 << 20  # pixels from which range and axes are computed
# The default cut of a scene of any size keeps regions that a scene of this size would keep. Chosen
# by eye on Landsat scenes: 8 times the detail of a photograph at 349 x 352 pixels.
SCENE_SIZE = 349 * 352 / 8**2
# Cell size in pixels of the pieces of a scene. The colours of a large scene leave no gaps between
# clusters; those near a place do.
SCENE_CELL = 32.0


@dataclass(frozen=True)
class BandAxes:
    """A linear map from bands to at most three components of a fixed total spread."""

    origin: NDArray[np.float64]  # (bands,)
    axes: NDArray[np.float64]  # (bands, components)

    @classmethod
    def of(cls, values: NDArray[Any], inside: NDArray[np.bool_] | None = None) -> BandAxes:
        """Return the axes of pixels; those outside the mask do not count.

        Parameters
        ----------
        values : ndarray of shape (n, bands)
            The pixels.
        inside : ndarray of bool, shape (n,), optional
            The mask.
        """
        used = values if inside is None else values[inside]
        used = used[:: max(len(used) // SAMPLE, 1)].astype(np.float64)
        low, high = np.percentile(used, RANGE, axis=0)
        flat = high <= low  # most values are equal: the rare ones set the range
        low, high = np.where(flat, used.min(axis=0), low), np.where(flat, used.max(axis=0), high)
        unit = np.where(high > low, high - low, 1.0)
        scaled = ((used - low) / unit).clip(0, 1)
        covariance = np.atleast_2d(np.cov(scaled, rowvar=False, bias=True))
        spread = math.sqrt(float(np.trace(covariance))) or 1.0
        _, axes = np.linalg.eigh(covariance)
        axes = axes[:, ::-1][:, :N_AXES] * (SPREAD / spread)
        return cls(low + scaled.mean(axis=0) * unit, axes / unit[:, None])

    def __call__(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Return the components of pixels."""
        components = (values.astype(np.float64) - self.origin) @ self.axes
        return components.astype(np.float32)


def scene_level(components: NDArray[np.float32]) -> float:
    """Return the factor of the level at which a scene, or a part of one, is cut.

    The kernel measures a border by the image: its size in shares of the image's pixels, and its
    contrast in units of the image's spread. The factor turns both into fixed units.
    """
    spread = math.sqrt(float(components.var(axis=0, dtype=np.float64).sum())) or SPREAD
    share = min(math.sqrt(SCENE_SIZE / len(components)), 1.0)
    return share * math.pow(SPREAD / spread, _CONTRAST)
