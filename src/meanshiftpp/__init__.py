"""Clusters of points with few features: significant ones, or the modes of MeanShift++ on a grid.

Everything public is here and loaded when first used, so that importing the package costs no
more than importing NumPy:

    from meanshiftpp import MeanShiftPP          # the scikit-learn estimator
    from meanshiftpp import Grid, seek           # with a bandwidth: the two halves it is made of
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meanshiftpp import clips, draw, errors, geo, picture, plot, reference, stream, video
    from meanshiftpp.bandwidth.choice import select_bandwidth
    from meanshiftpp.bandwidth.sweep import Sweep, sweep
    from meanshiftpp.core.grid import Grid
    from meanshiftpp.core.modes import Modes
    from meanshiftpp.core.recipe import fine_bandwidth, seek
    from meanshiftpp.estimators.cluster import MeanShiftPP
    from meanshiftpp.estimators.density import GridDensity, density_bandwidth
    from meanshiftpp.images.colours import Palette, palette, quantize
    from meanshiftpp.images.segmentation import Hierarchy, hierarchy, segment
    from meanshiftpp.tracking.tracker import Tracker, update_trackers

__version__ = "0.1.0"
_HOME = {
    "Grid": "core.grid",
    "GridDensity": "estimators.density",
    "Hierarchy": "images.segmentation",
    "MeanShiftPP": "estimators.cluster",
    "Modes": "core.modes",
    "Palette": "images.colours",
    "Sweep": "bandwidth.sweep",
    "Tracker": "tracking.tracker",
    "density_bandwidth": "estimators.density",
    "fine_bandwidth": "core.recipe",
    "hierarchy": "images.segmentation",
    "palette": "images.colours",
    "quantize": "images.colours",
    "seek": "core.recipe",
    "segment": "images.segmentation",
    "select_bandwidth": "bandwidth.choice",
    "sweep": "bandwidth.sweep",
    "update_trackers": "tracking.tracker",
}
_NEED_EXTRAS = {"dask", "spark"}  # modules that `import *` and `help` must not load
__all__ = [
    "Grid",
    "GridDensity",
    "Hierarchy",
    "MeanShiftPP",
    "Modes",
    "Palette",
    "Sweep",
    "Tracker",
    "clips",
    "density_bandwidth",
    "draw",
    "errors",
    "fine_bandwidth",
    "geo",
    "hierarchy",
    "palette",
    "picture",
    "plot",
    "quantize",
    "reference",
    "seek",
    "segment",
    "select_bandwidth",
    "stream",
    "sweep",
    "update_trackers",
    "video",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in __all__ or name in _NEED_EXTRAS:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # The name is stored, so that this function runs once for each name.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
