"""Read and write picture files, palettes and drawings of regions."""

from meanshiftpp.images.palettes import PALETTE_FORMATS, write_palette
from meanshiftpp.images.picture import (
    LABEL_FORMATS,
    PICTURE_FORMATS,
    Picture,
    read,
    write,
    write_labels,
)
from meanshiftpp.images.vector import write_svg

__all__ = [
    "LABEL_FORMATS",
    "PALETTE_FORMATS",
    "PICTURE_FORMATS",
    "Picture",
    "read",
    "write",
    "write_labels",
    "write_palette",
    "write_svg",
]
