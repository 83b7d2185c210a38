"""Palettes: merge colours until a number of them is left, and write them for design programs.

The files are Adobe Swatch Exchange (.ase), a GIMP palette (.gpl), CSS variables and JSON. Adobe has
not published its format; the writer follows the common description: big-endian blocks, each with a
type, a length, a name in UTF-16, the colour model and its values.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.checks import as_whole
from meanshiftpp._support.files import atomic_path, known_suffix
from meanshiftpp.images.checks import as_color_weights, as_colors
from meanshiftpp.images.pixels import read_pixels

__all__ = ["PALETTE_FORMATS", "merge_colors", "write_palette"]

PALETTE_FORMATS = (".ase", ".gpl", ".css", ".json")
MAX_MERGED = 1024  # heaviest colours that are compared with each other
_ASE_COLOUR, _ASE_NORMAL = 1, 2  # the type of a block, and the kind of a colour


def merge_colors(colors: ArrayLike, weights: ArrayLike, n_colors: int) -> NDArray[np.intp]:
    """Merge the most similar colours until `n_colors` are left; return the group of each colour.

    Each step merges the two groups for which the squared distance of the pixels to the mean colour
    of their group grows least (Ward's method, in Lab). Groups are numbered from 0, heaviest first.

    Parameters
    ----------
    colors : array-like of shape (n, 3)
        RGB from 0 to 255.
    weights : array-like of shape (n,)
        Positive weight of each colour, for example its number of pixels.
    n_colors : int
        The number of groups, if there are as many colours.

    Examples
    --------
    >>> from meanshiftpp.draw import merge_colors
    >>> merge_colors([[250, 0, 0], [0, 0, 200], [255, 10, 0]], [1, 5, 1], 2).tolist()
    [1, 0, 1]
    """
    rgb = as_colors(colors, 1).round().astype(np.uint8)
    mass = as_color_weights(weights, "weights", len(rgb), positive=True)
    n_colors = as_whole(n_colors, "n_colors", 1)
    lab = read_pixels(rgb[None], "lab", None, -1, 1).features.astype(np.float64)
    heaviest = np.argsort(-mass, kind="stable")[: max(MAX_MERGED, n_colors)]
    groups = np.empty(len(rgb), np.intp)
    groups[heaviest] = _cut(_ward(lab[heaviest], mass[heaviest]), len(heaviest), n_colors)
    for other in np.setdiff1d(np.arange(len(rgb)), heaviest, assume_unique=True):
        distances = ((lab[heaviest] - lab[other]) ** 2).sum(axis=1)
        groups[other] = groups[heaviest[distances.argmin()]]
    _, groups = np.unique(groups, return_inverse=True)
    order = np.argsort(-np.bincount(groups, mass), kind="stable")
    return np.argsort(order)[groups]


def write_palette(
    path: str | os.PathLike[str], colors: ArrayLike, shares: ArrayLike, name: str = "Palette"
) -> None:
    """Write colours for design programs; the suffix of the file selects the format.

    Parameters
    ----------
    path : path
        A file that ends with .ase (Adobe), .gpl (GIMP, Inkscape, Krita), .css or .json.
    colors : array-like of shape (n, 3)
        RGB from 0 to 255.
    shares : array-like of shape (n,)
        The share of each colour, from 0 to 1.
    name : str
        The name of the palette in a .gpl file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from meanshiftpp.picture import write_palette
    >>> write_palette("flag.css", [[0, 35, 149], [237, 41, 57]], [0.6, 0.4])
    >>> print(Path("flag.css").read_text())
    :root {
      --color-1: #002395; /* 60.0 % */
      --color-2: #ed2939; /* 40.0 % */
    }
    <BLANKLINE>
    """
    write = _WRITERS[known_suffix(path, PALETTE_FORMATS)]
    rgb = as_colors(colors).round().astype(np.uint8)
    data = write(rgb, as_color_weights(shares, "shares", len(rgb)), " ".join(name.split()))
    with atomic_path(path) as target:
        Path(target).write_bytes(data)


# -- merging -----------------------------------------------------------------------------------


def _ward(points: NDArray[Any], weights: NDArray[np.float64]) -> list[tuple[float, int, int]]:
    """Return all merges of Ward's method as (cost, kept, merged), found by chains of neighbours."""
    centers, mass = points.copy(), weights.copy()
    alive = np.ones(len(points), bool)
    merges, chain = list[tuple[float, int, int]](), list[int]()
    while len(merges) < len(points) - 1:
        if not chain:
            chain.append(int(alive.argmax()))
        last = chain[-1]
        costs = ((centers - centers[last]) ** 2).sum(axis=1) * mass * mass[last]
        costs /= mass + mass[last]
        costs[~alive] = costs[last] = np.inf
        nearest = int(costs.argmin())
        if len(chain) < 2 or costs[chain[-2]] > costs[nearest]:
            chain.append(nearest)
            continue
        kept, merged = chain[-2], last  # each is the nearest of the other
        del chain[-2:]
        merges.append((float(costs[kept]), kept, merged))
        total = mass[kept] + mass[merged]
        centers[kept] = (centers[kept] * mass[kept] + centers[merged] * mass[merged]) / total
        mass[kept], alive[merged] = total, False
    return merges


def _cut(merges: list[tuple[float, int, int]], n: int, n_groups: int) -> NDArray[np.intp]:
    """Apply the cheapest merges until `n_groups` are left; return the group of each item."""
    group = list(range(n))

    def root(item: int) -> int:
        while group[item] != item:
            item = group[item]
        return item

    for _, kept, merged in sorted(merges, key=lambda merge: merge[0])[: max(0, n - n_groups)]:
        group[root(merged)] = root(kept)
    return np.array([root(item) for item in range(n)], np.intp)


# -- formats -----------------------------------------------------------------------------------


def _hex(rgb: NDArray[np.uint8]) -> list[str]:
    return [f"#{colour.tobytes().hex()}" for colour in rgb]


def _ase(rgb: NDArray[np.uint8], shares: NDArray[np.float64], name: str) -> bytes:
    blocks = [b"ASEF" + struct.pack(">HHI", 1, 0, len(rgb))]  # version 1.0, number of blocks
    for code, colour in zip(_hex(rgb), rgb.tolist(), strict=True):
        label = f"{code}\0"
        body = struct.pack(">H", len(label)) + label.encode("utf-16-be") + b"RGB "
        body += struct.pack(">3fH", *(value / 255 for value in colour), _ASE_NORMAL)
        blocks.append(struct.pack(">HI", _ASE_COLOUR, len(body)) + body)
    return b"".join(blocks)


def _gpl(rgb: NDArray[np.uint8], shares: NDArray[np.float64], name: str) -> bytes:
    lines = ["GIMP Palette", f"Name: {name}", "Columns: 0", "#"]
    for code, (red, green, blue) in zip(_hex(rgb), rgb.tolist(), strict=True):
        lines.append(f"{red:3d} {green:3d} {blue:3d}\t{code}")
    return "\n".join([*lines, ""]).encode()


def _css(rgb: NDArray[np.uint8], shares: NDArray[np.float64], name: str) -> bytes:
    lines = [
        f"  --color-{number}: {code}; /* {100 * share:.1f} % */"
        for number, (code, share) in enumerate(zip(_hex(rgb), shares.tolist(), strict=True), 1)
    ]
    return "\n".join([":root {", *lines, "}", ""]).encode()


def _json(rgb: NDArray[np.uint8], shares: NDArray[np.float64], name: str) -> bytes:
    entries = [
        {"color": code, "rgb": colour, "share": share}
        for code, colour, share in zip(_hex(rgb), rgb.tolist(), shares.tolist(), strict=True)
    ]
    return (json.dumps(entries, indent=2) + "\n").encode()


_Writer = Callable[[NDArray[np.uint8], NDArray[np.float64], str], bytes]
_WRITERS: dict[str, _Writer] = dict(zip(PALETTE_FORMATS, (_ase, _gpl, _css, _json), strict=True))
