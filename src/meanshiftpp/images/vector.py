"""Regions as an SVG drawing: one path for each label, along the borders of its pixels.

A border edge is directed so that its region is on the right. The edges of a label then form closed
rings: the outer ring runs clockwise, and holes run the other way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp._support.files import atomic_path, known_suffix
from meanshiftpp.images.checks import as_label_colors, as_label_image

__all__ = ["SVG_FORMATS", "write_svg"]

SVG_FORMATS = (".svg",)

_EAST, _SOUTH, _WEST, _NORTH = range(4)
_STEPS = ("h{}", "v{}", "h-{}", "v-{}")  # by direction


def write_svg(
    path: str | os.PathLike[str], labels: NDArray[np.integer[Any]], colors: ArrayLike
) -> None:
    """Write the regions of a label image as an SVG drawing, one path for each.

    Parameters
    ----------
    path : path
        A file that ends with .svg.
    labels : ndarray of shape (height, width)
        A label image; pixels below 0 stay empty.
    colors : array-like of shape (n_labels, 3)
        RGB from 0 to 255, for example from `meanshiftpp.draw.region_colors`.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from meanshiftpp.picture import write_svg
    >>> write_svg("two.svg", np.array([[0, 0, 1]]), [[200, 0, 0], [0, 0, 200]])
    >>> print(Path("two.svg").read_text())
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 3 1" shape-rendering="crispEdges">
    <path id="region-1" fill="#c80000" d="M0 0h2v1h-2z"/>
    <path id="region-2" fill="#0000c8" d="M2 0h1v1h-1z"/>
    </svg>
    <BLANKLINE>
    """
    known_suffix(path, SVG_FORMATS)
    labels = as_label_image(labels)
    height, width = labels.shape
    rgb = as_label_colors(colors, labels).round().astype(np.uint8)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'shape-rendering="crispEdges">'
    ]
    for label, rings in _paths(labels):
        fill = rgb[label].tobytes().hex()
        lines.append(f'<path id="region-{label + 1}" fill="#{fill}" d="{rings}"/>')
    with atomic_path(path) as target:
        Path(target).write_text("\n".join([*lines, "</svg>", ""]), encoding="ascii")


def _paths(labels: NDArray[np.integer[Any]]) -> Iterator[tuple[int, str]]:
    """Iterate over the labels and the path data of all their rings."""
    label, vertex, direction, following = _edges(labels)
    stride = labels.shape[1] + 1
    previous = np.empty_like(following)
    previous[following] = np.arange(len(following))
    is_corner = (direction[previous] != direction).tolist()
    ys, xs = (each.tolist() for each in np.divmod(vertex, stride))
    directions, nexts, owners = direction.tolist(), following.tolist(), label.tolist()
    visited, rings = bytearray(len(nexts)), list[str]()
    for first, owner in enumerate(owners):
        if not visited[first] and is_corner[first]:
            rings.append(_ring(first, nexts, directions, is_corner, xs, ys, visited))
        if first + 1 == len(owners) or owners[first + 1] != owner:
            yield owner, "".join(rings)
            rings = []


def _ring(
    first: int,
    nexts: list[int],
    directions: list[int],
    is_corner: list[bool],
    xs: list[int],
    ys: list[int],
    visited: bytearray,
) -> str:
    """Return the path data of one ring, which begins at a corner."""
    parts, edge, length = [f"M{xs[first]} {ys[first]}"], first, 0
    while not visited[edge]:
        visited[edge] = 1
        length += 1
        following = nexts[edge]
        if is_corner[following] and following != first:
            parts.append(_STEPS[directions[edge]].format(length))
            length = 0
        edge = following
    return "".join([*parts, "z"])


def _edges(labels: NDArray[np.integer[Any]]) -> tuple[NDArray[Any], ...]:
    """Return the label, the first vertex, the direction and the next edge of every border edge.

    Edges are sorted by label, and vertices are numbered row by row. Two rings of a label that touch
    at a vertex stay separate, because a ring always turns right there.
    """
    height, width = labels.shape
    stride = width + 1
    padded = np.full((height + 2, width + 2), -1, np.int64)
    padded[1:-1, 1:-1] = labels
    parts = []
    y, x = np.nonzero(padded[:-1, 1:-1] != padded[1:, 1:-1])  # between rows y - 1 and y
    above, below, at = padded[y, x + 1], padded[y + 1, x + 1], y * stride + x
    parts += [(below, at, _EAST), (above, at + 1, _WEST)]
    y, x = np.nonzero(padded[1:-1, :-1] != padded[1:-1, 1:])  # between columns x - 1 and x
    left, right, at = padded[y + 1, x], padded[y + 1, x + 1], y * stride + x
    parts += [(left, at, _SOUTH), (right, at + stride, _NORTH)]
    label = np.concatenate([each for each, _, _ in parts])
    vertex = np.concatenate([each for _, each, _ in parts])
    direction = np.repeat(np.arange(4)[[_EAST, _WEST, _SOUTH, _NORTH]], [len(p[0]) for p in parts])
    inside = label >= 0
    label, vertex, direction = label[inside], vertex[inside], direction[inside]
    order = np.lexsort((direction, vertex, label))
    label, vertex, direction = label[order], vertex[order], direction[order]
    end = vertex + np.array([1, stride, -1, -stride])[direction]
    n_vertices = stride * (height + 1)
    begins, ends = label * n_vertices + vertex, label * n_vertices + end
    following = np.searchsorted(begins, ends)
    second = np.minimum(following + 1, len(begins) - 1)
    turns_right = direction[second] == (direction + 1) % 4
    following = np.where((begins[second] == ends) & turns_right, second, following)
    return label, vertex, direction, following
