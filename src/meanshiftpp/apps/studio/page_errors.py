"""Error messages for the page: parameters are called by the labels of their controls."""

from __future__ import annotations

import logging

from meanshiftpp.errors import InvalidInputError, MeanShiftPPError

__all__ = ["CONTROLS", "error_message"]

log = logging.getLogger(__name__)

CONTROLS = {
    "bandwidth": "Bandwidth",
    "n_clusters": "Number of clusters",
    "spatial": "Spatial cell size",
    "detail": "Detail",
    "min_size": "Smallest region",
    "space": "Colour space",
    "n_colors": "Number of colours",
    "frame": "Frame",
    "window": "Window",
    "clusters": "Colours in the window",
}


def error_message(error: Exception) -> str:
    """Return the message that the page shows; an unexpected error is also logged.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.page_errors import error_message
    >>> from meanshiftpp.errors import InvalidInputError
    >>> error_message(InvalidInputError.for_parameter("spatial", "positive and finite", 0))
    'Spatial cell size must be positive and finite, got 0'
    >>> error_message(MemoryError())
    'Not enough memory: open a smaller file, or increase the bandwidth.'
    """
    if isinstance(error, MemoryError):
        return "Not enough memory: open a smaller file, or increase the bandwidth."
    if isinstance(error, InvalidInputError) and error.parameter in CONTROLS:
        return str(error.named(CONTROLS))
    if isinstance(error, MeanShiftPPError):
        return str(error)
    log.error("internal error in the studio", exc_info=error)
    return f"Internal error: {str(error) or type(error).__name__}"
