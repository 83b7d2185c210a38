"""Keep the axes, the pixel size and its unit of a .tif from a microscope.

OME-TIFF and ImageJ store them in different tags; a label image gets those of its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from meanshiftpp._support.extras import need

OME, IMAGEJ, PLAIN = "OME", "ImageJ", "TIFF"
_MICRO = "\\u00B5"  # the letter µ in the ASCII text of ImageJ


@dataclass(frozen=True)
class Spacing:
    """The axes of an image and the distances of its pixels.

    Attributes
    ----------
    kind : {"OME", "ImageJ", "TIFF"}
        How the file stores them. Plain TIFF has no depth and only the units inch and centimetre.
    axes : str
        A letter for each dimension besides the channels, such as "YX" or "ZYX".
    sizes : dict of str to float
        The size of a pixel along an axis; axes without one are left out.
    units : dict of str to str
        The unit of a size.
    """

    kind: str
    axes: str
    sizes: dict[str, float]
    units: dict[str, str]

    def tags(self, is_wide: bool) -> dict[str, Any]:
        """Return the arguments of `tifffile.imwrite`; 32-bit labels have no form in ImageJ."""
        if self.kind == PLAIN:
            density = tuple(1.0 / self.sizes[axis] for axis in "XY")
            return {"resolution": density, "resolutionunit": self.units["X"]}
        if self.kind == IMAGEJ and not is_wide:
            return self._imagej_tags()
        metadata: dict[str, Any] = {"axes": self.axes}
        for axis in "XYZ":
            if axis in self.axes and axis in self.sizes:
                metadata[f"PhysicalSize{axis}"] = self.sizes[axis]
                metadata[f"PhysicalSize{axis}Unit"] = self.units.get(axis, "µm")
        return {"ome": True, "metadata": metadata}

    def _imagej_tags(self) -> dict[str, Any]:
        metadata: dict[str, Any] = {"axes": self.axes}
        if "X" in self.units:
            metadata["unit"] = self.units["X"].replace("µ", _MICRO)
        if "Z" in self.sizes:
            metadata["spacing"] = self.sizes["Z"]
        tags: dict[str, Any] = {"imagej": True, "metadata": metadata}
        if "X" in self.sizes and "Y" in self.sizes:
            tags["resolution"] = tuple(1.0 / self.sizes[axis] for axis in "XY")
        return tags


def read_spacing(file: Any, axes: str) -> Spacing | None:
    """Read the spacing of an open file of tifffile; None if it states nothing.

    OME-TIFF and ImageJ have no name for other axes than time, depth, Y and X. A stack of ImageJ
    with only a number of images is a stack of slices.
    """
    if file.is_imagej and "Z" not in axes:
        axes = axes.replace("I", "Z")
    if (file.is_ome or file.is_imagej) and set(axes) - set("TZYX"):
        return None
    if file.is_ome:
        return _read_ome(file, axes)
    sizes = _resolution(file.pages[0])
    if file.is_imagej:
        found = file.imagej_metadata or {}
        unit = str(found.get("unit", "")).replace(_MICRO, "µ")
        if isinstance(found.get("spacing"), int | float) and found["spacing"] > 0:
            sizes["Z"] = float(found["spacing"])
        return Spacing(IMAGEJ, axes, sizes, dict.fromkeys(sizes, unit) if unit else {})
    unit = {2: "INCH", 3: "CENTIMETER"}.get(_tag(file.pages[0], "ResolutionUnit", 0), "")
    if not unit or len(sizes) < 2:
        return None
    return Spacing(PLAIN, axes, sizes, dict.fromkeys(sizes, unit))


def _read_ome(file: Any, axes: str) -> Spacing:
    """Read the sizes of the first image of an OME-TIFF; the unit is µm unless it is stated."""
    found: Any = need("tifffile", "image").xml2dict(file.ome_metadata)
    for name in ("OME", "Image", "Pixels"):
        found = found.get(name) if isinstance(found, dict) else None
        found = found[0] if isinstance(found, list) and found else found
    pixels: dict[str, Any] = found if isinstance(found, dict) else {}
    sizes = {axis: pixels.get(f"PhysicalSize{axis}") for axis in "XYZ"}
    stated = {
        axis: float(size)
        for axis, size in sizes.items()
        if isinstance(size, int | float) and size > 0
    }
    units = {axis: str(pixels.get(f"PhysicalSize{axis}Unit", "µm")) for axis in stated}
    return Spacing(OME, axes, stated, units)


def _resolution(page: Any) -> dict[str, float]:
    """Return the sizes along X and Y, from the pixels per unit."""
    sizes = {}
    for axis in "XY":
        pixels, units = _tag(page, f"{axis}Resolution", (0, 0))
        if pixels > 0 and units > 0:
            sizes[axis] = units / pixels
    return sizes


def _tag(page: Any, name: str, default: Any) -> Any:
    return page.tags[name].value if name in page.tags else default
