"""MeanShift++: exact, extremely fast mode-seeking on a grid.

Everything public is here and loaded when first used, so that importing the package costs no
more than importing NumPy:

    from meanshiftpp import MeanShiftPP          # the scikit-learn estimator
    from meanshiftpp import Grid, seek           # the two halves it is made of
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meanshiftpp import errors, geo, plot, reference, video
    from meanshiftpp.bandwidth.choice import select_bandwidth
    from meanshiftpp.bandwidth.sweeps import Sweep, sweep
    from meanshiftpp.cluster import MeanShiftPP
    from meanshiftpp.density import GridDensity
    from meanshiftpp.grid import Grid
    from meanshiftpp.image import Hierarchy, Palette, hierarchy, palette, quantize, segment
    from meanshiftpp.modes import Modes, seek
    from meanshiftpp.track import Tracker

__version__ = "0.1.0.dev0"
_HOME = {
    "Grid": "grid",
    "GridDensity": "density",
    "Hierarchy": "image",
    "MeanShiftPP": "cluster",
    "Modes": "modes",
    "Palette": "image",
    "Sweep": "bandwidth.sweeps",
    "Tracker": "track",
    "hierarchy": "image",
    "palette": "image",
    "quantize": "image",
    "seek": "modes",
    "segment": "image",
    "select_bandwidth": "bandwidth.choice",
    "sweep": "bandwidth.sweeps",
}
__all__ = [
    "Grid",
    "GridDensity",
    "Hierarchy",
    "MeanShiftPP",
    "Modes",
    "Palette",
    "Sweep",
    "Tracker",
    "errors",
    "geo",
    "hierarchy",
    "palette",
    "plot",
    "quantize",
    "reference",
    "seek",
    "segment",
    "select_bandwidth",
    "sweep",
    "video",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in __all__:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept, so that this runs once.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
