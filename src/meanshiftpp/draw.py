"""Draw segmentations as pictures."""

from meanshiftpp.images.draw import (
    as_rgb,
    contact_sheet,
    fill,
    label_colors,
    limits,
    outlines,
    overlay,
    palette_strip,
    region_colors,
)
from meanshiftpp.images.palettes import merge_colors

__all__ = [
    "as_rgb",
    "contact_sheet",
    "fill",
    "label_colors",
    "limits",
    "merge_colors",
    "outlines",
    "overlay",
    "palette_strip",
    "region_colors",
]
