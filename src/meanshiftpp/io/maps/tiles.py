"""Regions of scenes of any size.

A scene of at most `WHOLE_PIXELS` is segmented at once. A larger one is segmented in tiles, which
share the scale of their bands. At each seam, a strip that spans it is segmented too: two regions
become one if the strip has no border along most of the seam between them, and their means are
close. The division depends on the size of the scene alone, so every machine finds the same regions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import scratch_folder
from meanshiftpp.core.labels import number_by_size
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.bands import SAMPLE, BandAxes
from meanshiftpp.images.pixels import read_pixels
from meanshiftpp.images.segmentation import Hierarchy, level_of, merge_regions
from meanshiftpp.io.maps.rasters import CACHE_MB, allowing_no_georeference
from meanshiftpp.io.maps.scenes import Scene, WindowLabels

WHOLE_PIXELS = 1 << 24
TILE, STRIP = 2048, 256  # side of a tile, and width of a strip across a seam, in pixels
CLOSE = 9.0  # distance of means up to which regions are joined; the spread of a scene is 15


@dataclass(frozen=True)
class RegionOptions:
    """The parameters of `segment` that apply to a scene."""

    bandwidth: float | None = None
    spatial: float | None = None
    detail: float = 1.0
    regions: int | None = None
    min_size: int | None = None
    n_threads: int | None = None


@contextmanager
def scene_regions(
    scene: Scene, options: RegionOptions, near: Path, advance: Callable[[], None] = lambda: None
) -> Iterator[tuple[WindowLabels, int]]:
    """Segment a scene; yield a function that returns labels of a window, and their number.

    Labels begin at 1, in order of decreasing size. Those of a large scene are in a temporary file
    next to the path `near`. `advance` is called after each tile.
    """
    height, width = scene.shape
    if height * width <= WHOLE_PIXELS:
        labels = _segment(scene, scene.window((0, height), (0, width)), None, options).labels
        yield (lambda window: labels[window.toslices()] + np.int32(1)), int(labels.max()) + 1
        return
    if options.regions is not None:
        raise InvalidInputError.for_parameter(
            "regions",
            f"left out for a scene of more than {WHOLE_PIXELS:,} pixels, which is cut in tiles",
            options.regions,
            "use {detail} instead",
        )
    with scratch_folder(near) as folder, _label_file(folder / "labels.tif", scene) as file:
        tiles = _Tiles(scene, options, file, advance)
        final, n = tiles.run()
        yield (lambda window: final[file.read(window)]), n


def tile_count(shape: tuple[int, int]) -> int:
    """Return how often `scene_regions` advances."""
    height, width = shape
    return 0 if height * width <= WHOLE_PIXELS else -(-height // TILE) * -(-width // TILE)


class _Tiles:
    """The work on the tiles of a scene."""

    def __init__(
        self, scene: Scene, options: RegionOptions, file: _LabelFile, advance: Callable[[], None]
    ) -> None:
        self._scene, self._options, self._file, self._advance = scene, options, file, advance
        self._axes = BandAxes.of(_sample(scene))
        self._rows, self._columns = ([*range(0, n, TILE), n] for n in scene.shape)

    def run(self) -> tuple[NDArray[np.int32], int]:
        """Segment all tiles and join their regions; return the label of each region of a tile."""
        sums = [np.zeros((1, 4))]  # of region 0, the pixels without data
        n = 1
        for rows in pairwise(self._rows):
            for columns in pairwise(self._columns):
                window = self._scene.window(rows, columns)
                found = _segment(self._scene, window, self._axes, self._options)
                labels = found.labels
                self._file.write(np.where(labels < 0, 0, labels + n).astype(np.int32), window)
                sums.append(found.sums())
                n += len(sums[-1])
                self._advance()
        totals = np.concatenate(sums)
        return _labels_by_size(totals[:, 0], _join(totals, self._joined_pairs()))

    def _joined_pairs(self) -> NDArray[np.int64]:
        """Return pairs of regions of adjacent tiles that are one region."""
        pairs = [np.empty((0, 2), np.int64)]
        for x in self._columns[1:-1]:
            for rows in pairwise(self._rows):
                pairs.append(self._pairs_at(rows, x, vertical=True))
        for y in self._rows[1:-1]:
            for columns in pairwise(self._columns):
                pairs.append(self._pairs_at(columns, y, vertical=False))
        return np.concatenate(pairs)

    def _pairs_at(self, along: tuple[int, int], seam: int, *, vertical: bool) -> NDArray[np.int64]:
        """Return the pairs along one seam; `seam` is the first row or column after it."""
        end = self._scene.shape[vertical]
        first = max(seam - STRIP // 2, 0)
        strip = (first, min(seam + STRIP // 2, end))
        sides = (seam - 1, seam + 1)

        def window(across: tuple[int, int]) -> Any:
            place = (along, across) if vertical else (across, along)
            return self._scene.window(*place)

        found = _segment(self._scene, window(strip), self._axes, self._options).labels
        regions = self._file.read(window(sides))
        if not vertical:
            found, regions = found.T, regions.T
        at = seam - first
        has_no_border = found[:, at - 1] == found[:, at]
        both = (regions > 0).all(axis=1)
        return _majority(regions[both], has_no_border[both])


def _sample(scene: Scene) -> NDArray[Any]:
    """Return pixels with data from all over the scene, or from the first stripe that has any."""
    with suppress(InvalidInputError):  # if no row of the sample has data; the stripes may have
        sample = scene.source.sample(SAMPLE)
        finite = np.isfinite(sample).all(axis=1)
        if finite.any():
            return np.asarray(sample[finite])
    for window in scene.stripes():
        values, inside = scene.read(window)
        if inside.any():
            return np.asarray(values[inside])
    raise _no_data(scene)


def _majority(pairs: NDArray[np.int32], agrees: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the distinct pairs for which most rows agree."""
    distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
    votes = np.bincount(inverse.ravel(), agrees, len(distinct))
    counts = np.bincount(inverse.ravel(), minlength=len(distinct))
    return distinct[2 * votes > counts].astype(np.int64)


def _join(sums: NDArray[np.float64], pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Join pairs of regions, the most similar first, while their means are close.

    Returns the region that stands for each. The means are those of the regions joined so far, so
    that a chain of similar regions does not join different ones.
    """
    sums = sums.copy()
    group_of = np.arange(len(sums))

    def find(k: int) -> int:
        while group_of[k] != k:
            group_of[k] = k = group_of[group_of[k]]
        return k

    def distance(a: int, b: int) -> float:
        return float(np.linalg.norm(sums[a, 1:] / sums[a, 0] - sums[b, 1:] / sums[b, 0]))

    order = np.argsort([distance(a, b) for a, b in pairs.tolist()], kind="stable")
    for a, b in pairs[order].tolist():
        first, second = sorted((find(a), find(b)))
        if first != second and distance(first, second) <= CLOSE:
            sums[first] += sums[second]
            group_of[second] = first
    return np.array([find(k) for k in range(len(sums))], np.int64)


def _labels_by_size(
    sizes: NDArray[np.float64], group_of: NDArray[np.int64]
) -> tuple[NDArray[np.int32], int]:
    """Return the label of each region, from 1 by decreasing size of its group, and their number.

    Region 0 has label -1.
    """
    numbering = number_by_size(np.append(-1, group_of[1:]), sizes)
    labels = numbering.labels
    return np.where(labels < 0, labels, labels + 1), len(numbering.groups)


@dataclass(frozen=True)
class _Regions:
    """Regions of a window from 0, -1 without data, and the components of its pixels."""

    labels: NDArray[np.int32]
    components: NDArray[np.float32]

    def sums(self) -> NDArray[np.float64]:
        """Return the number of pixels of each region, and the sums of its components."""
        inside = self.labels.ravel() >= 0
        labels = self.labels.ravel()[inside]
        n = int(labels.max(initial=-1)) + 1
        columns = [np.bincount(labels, column, n) for column in self.components[inside].T]
        return np.stack([np.bincount(labels, minlength=n), *columns], axis=1)


def _segment(scene: Scene, window: Any, axes: BandAxes | None, options: RegionOptions) -> _Regions:
    """Segment a window."""
    values, inside = scene.read(window)
    if not inside.any():
        if axes is None:
            raise _no_data(scene)
        return _Regions(np.full(inside.shape, -1, np.int32), np.zeros((inside.size, 3), np.float32))
    pixels = replace(read_pixels(values, None, inside, -1, options.n_threads), axes=axes)
    level = np.inf if options.regions is not None else level_of(options.detail)
    tree, components = merge_regions(
        pixels, options.bandwidth, options.spatial, level, options.n_threads, None
    )
    cuts = Hierarchy(tree, components, pixels, 0, options.n_threads)
    labels = cuts.cut(options.detail, regions=options.regions, min_size=options.min_size)
    return _Regions(labels, components)


def _no_data(scene: Scene) -> InvalidInputError:
    problem = "has no pixel with data, so there is nothing to segment"
    return InvalidInputError.for_file(scene.source.paths[0], problem)


@contextmanager
def _label_file(path: Path, scene: Scene) -> Iterator[_LabelFile]:
    """Open a temporary raster for regions."""
    rasterio = need("rasterio", "maps")
    height, width = scene.shape
    layout = {"tiled": True, "blockxsize": 256, "blockysize": 256}
    coding = {"compress": "deflate", "zlevel": 1, "bigtiff": "if_safer"}
    size = {"height": height, "width": width, "count": 1, "dtype": "int32"}
    with (
        rasterio.Env(GDAL_CACHEMAX=CACHE_MB),
        allowing_no_georeference(),
        rasterio.open(path, "w+", driver="GTiff", **size, **layout, **coding) as raster,
    ):
        yield _LabelFile(raster)


class _LabelFile:
    """Regions of tiles in a raster, which is read while it is open."""

    def __init__(self, raster: Any) -> None:
        self._raster = raster

    def write(self, regions: NDArray[np.int32], window: Any) -> None:
        """Write the regions of a tile."""
        self._raster.write(regions, 1, window=window)

    def read(self, window: Any) -> NDArray[np.int32]:
        """Read the regions of a window."""
        regions: NDArray[np.int32] = self._raster.read(1, window=window)
        return regions
