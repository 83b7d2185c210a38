"""Exports of the image view: pictures as on the page, label images, drawings and palettes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.checks import as_whole
from meanshiftpp.apps.studio.image_labels import Pieces
from meanshiftpp.apps.studio.session import Request, Source
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images import draw, picture
from meanshiftpp.images.palettes import merge_colors, write_palette
from meanshiftpp.images.vector import write_svg

__all__ = ["Exporter", "LabelColours", "number_of_colours"]

LOOKS = ("overlay", "regions", "palette", "outline")
PALETTES = ("ase", "gpl", "css", "json")
MAX_COLOURS = 256
# The colours of an outline drawing, as on the page in its light theme.
_PAPER, _INK, _SELECTED = (253, 253, 250), (32, 36, 42), (207, 230, 242)
_DIMMED = 0x98 / 255  # opacity of the black over regions that are not selected
_FADED = 0.8  # opacity of the white over them, in a picture of regions


def number_of_colours(request: Request) -> int | None:
    """Return the number of colours in a request, None for the colours of all regions.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.image_exports import number_of_colours
    >>> number_of_colours({"n_colors": 5}), number_of_colours({})
    (5, None)
    """
    number = request.get("n_colors")
    return None if number is None else as_whole(number, "n_colors", 1, MAX_COLOURS)


class LabelColours:
    """The mean colour and the size of each label, merged to a number of colours if one is given.

    Row 0 is for masked pixels. The palette has one row per colour, most frequent first.
    """

    def __init__(self, pieces: Pieces, table: NDArray[np.intp], n_colors: int | None) -> None:
        self.counts, self.colours = pieces.label_stats(table)
        self.palette, self.palette_counts = self.colours[1:], self.counts[1:]
        if n_colors is not None and len(self.palette):
            groups = merge_colors(self.palette, self.palette_counts, n_colors)
            self._merge(groups)

    def _merge(self, groups: NDArray[np.intp]) -> None:
        sizes = np.bincount(groups, self.palette_counts)
        sums = [np.bincount(groups, self.palette_counts * channel) for channel in self.palette.T]
        self.palette = np.rint(np.stack(sums, axis=1) / sizes[:, None]).astype(np.uint8)
        self.palette_counts = sizes.astype(np.int64)
        self.colours = np.vstack([self.colours[:1], self.palette[groups]])

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of each colour of the palette."""
        return np.asarray(self.palette_counts / max(self.palette_counts.sum(), 1))


@dataclass(frozen=True)
class Exporter:
    """A result at full size, and the files that can be made of it."""

    source: Source
    rgb: NDArray[np.uint8]
    place: picture.Place
    pieces: Pieces
    table: NDArray[np.intp]
    request: Request

    def export(self) -> tuple[str, bytes]:
        """Return the name and the content of the file that the request asks for."""
        kind = str(self.request.get("kind"))
        if kind in PALETTES:
            return self._file(f"palette.{kind}", self._write_palette)
        writers: dict[str, tuple[str, Callable[[Path], object]]] = {
            "picture": (f"{self._look}.png", self._write_picture),
            "svg": ("regions.svg", self._write_svg),
            "png": ("labels.png", self._write_labels),
            "colours": ("labels-colour.png", self._write_coloured_labels),
            "tiff": ("labels.tif", self._write_labels),
            "mask": ("mask.png", self._write_mask),
        }
        if kind not in writers:
            known = ", ".join((*writers, *PALETTES))
            raise InvalidInputError(
                f"a picture cannot be exported as {kind!r}: choose one of {known}"
            )
        return self._file(*writers[kind])

    def _file(self, ending: str, write: Callable[[Path], object]) -> tuple[str, bytes]:
        return self.source.export(f"{self.source.stem('picture')}-{ending}", write)

    # -- parts of the request ------------------------------------------------------------------

    @property
    def _look(self) -> str:
        look = self.request.get("look", "regions")
        return look if look in LOOKS else "regions"

    @property
    def _colours(self) -> LabelColours:
        return LabelColours(self.pieces, self.table, number_of_colours(self.request))

    @property
    def _labels(self) -> NDArray[np.intp]:
        """The label image: from 1; 0 for masked pixels."""
        return self.table[self.pieces.ids].reshape(self.pieces.shape)

    @property
    def _selected(self) -> NDArray[np.bool_] | None:
        """The pixels of the selected regions, None without a selection."""
        selected = [int(label) + 1 for label in self.request.get("selected", [])]
        return np.isin(self._labels, selected) if selected else None

    # -- files ---------------------------------------------------------------------------------

    def _write_palette(self, path: Path) -> None:
        colours = self._colours
        write_palette(path, colours.palette, colours.shares, self.source.stem("picture"))

    def _write_labels(self, path: Path) -> None:
        picture.write_labels(path, self._labels, place=self.place)

    def _write_coloured_labels(self, path: Path) -> None:
        labels = self._labels - 1
        colours = draw.label_colors(int(labels.max()) + 1)
        picture.write(path, draw.fill(labels, colours, lines=False))

    def _write_svg(self, path: Path) -> None:
        write_svg(path, self._labels - 1, self._colours.colours[1:])

    def _write_mask(self, path: Path) -> None:
        selected = self._selected
        if selected is None:
            raise InvalidInputError("no region is selected: click a region, then export again")
        picture.write(path, selected.astype(np.uint8) * np.uint8(255))

    def _write_picture(self, path: Path) -> None:
        if self._look == "palette":
            colours = self._colours
            picture.write(path, draw.palette_strip(colours.palette, colours.shares))
            return
        labels, selected = self._labels - 1, self._selected
        if self._look == "overlay":
            rgb = self.rgb
            if selected is not None:
                rgb = _blend(rgb, ~selected, (0, 0, 0), _DIMMED)
            drawn = draw.overlay(rgb, labels)
        elif self._look == "outline":
            drawn = self._outline(labels, selected)
        else:
            drawn = draw.fill(labels, self._colours.colours[1:], lines=False)
            if selected is not None:
                drawn[..., :3] = _blend(drawn[..., :3], ~selected, (255, 255, 255), _FADED)
        picture.write(path, drawn)

    def _outline(
        self, labels: NDArray[np.intp], selected: NDArray[np.bool_] | None
    ) -> NDArray[np.uint8]:
        drawn = np.full((*labels.shape, 3), _PAPER, np.uint8)
        if selected is not None:
            drawn[selected] = _SELECTED
        drawn[draw.outlines(labels)] = _INK
        return drawn


def _blend(
    rgb: NDArray[np.uint8], where: NDArray[np.bool_], colour: tuple[int, ...], opacity: float
) -> NDArray[Any]:
    """Return a copy with a colour over some pixels."""
    blended = rgb.copy()
    mixed = rgb[where] * (1 - opacity) + np.array(colour) * opacity
    blended[where] = np.rint(mixed).astype(np.uint8)
    return blended
