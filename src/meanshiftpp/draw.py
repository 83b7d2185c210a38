"""Draw segmentations as pictures."""

from meanshiftpp.images.draw import (
    as_rgb,
    contact_sheet,
    fill,
    limits,
    outlines,
    overlay,
    palette_strip,
    region_colors,
)

__all__ = [
    "as_rgb",
    "contact_sheet",
    "fill",
    "limits",
    "outlines",
    "overlay",
    "palette_strip",
    "region_colors",
]
