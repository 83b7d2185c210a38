"""Segmentation of moving pictures, with labels and colours that keep still.

Frames segmented one by one flicker: noise tips borders that are weak. What steadies them here:

- A pixel that stands still is averaged over the last frames; one that moves is taken as it is.
- Clusters are sought in a grid that sums up the past frames, which fade.
- Regions are cut with hysteresis: parts that were one region stay one until the border between them
  is strong, and regions that were apart stay apart until it has all but gone.
- What is found is matched with the frame before, so that labels stay, and colours change slowly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.checks import as_positive, thread_count
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.draw import region_colors
from meanshiftpp.images.pixels import SPACES
from meanshiftpp.images.segmentation import CLUSTER_BANDWIDTH, hierarchy

__all__ = ["VideoSegmenter"]

Labels = NDArray[np.int32]

STILL = 24.0  # a pixel that changed less in each of R, G and B stood still
SLACK = 2.0  # borders join at this part of the level they part at, and the other way round
_VOTE = 0.25  # part of a piece that must have stood still for its past to count
_OVERLAP = 0.25  # part of a region that must lie on the region it continues
_ALIKE = 60.0  # and how far the colours of the two may be from each other
_EASE = 0.3  # how fast the colour of a label follows


class VideoSegmenter:
    """Segments frame after frame; the same thing keeps its label and its colour.

    Parameters
    ----------
    bandwidth, space, spatial, regions, detail, min_size, n_threads
        As in `meanshiftpp.segment`, but `space` may not be None, and without regions the default
        bandwidth is fixed: 24 in RGB, 8 in Lab and HSV, 10 in Luv.
    memory : float
        Over how many frames, about, what stands still is averaged. 1 takes each frame for itself.

    Attributes
    ----------
    colors : ndarray of shape (n_labels, 3)
        The colour of every label given so far, RGB from 0 to 255, as `meanshiftpp.draw.fill`
        takes it.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.video import VideoSegmenter
    >>> segmenter = VideoSegmenter()
    >>> for x in (10, 14, 18):
    ...     frame = np.zeros((40, 60, 3), np.uint8)
    ...     frame[10:30, x : x + 20] = 200, 30, 30
    ...     labels = segmenter.update(frame)
    ...     print(labels[20, x + 10], segmenter.colors[1].round())
    1 [200.  30.  30.]
    1 [200.  30.  30.]
    1 [200.  30.  30.]
    """

    def __init__(
        self,
        bandwidth: float | None = None,
        *,
        space: str = "lab",
        spatial: float | None = None,
        regions: bool = True,
        detail: float = 1.0,
        min_size: int | None = None,
        memory: float = 4.0,
        n_threads: int | None = None,
    ) -> None:
        if space not in SPACES:
            raise InvalidInputError(f"space must be one of {', '.join(SPACES)}, got {space!r}")
        if not memory >= 1:
            raise InvalidInputError(f"memory must be at least 1 frame, got {memory!r}")
        as_positive(detail, "detail")
        if spatial is not None:
            as_positive(spatial, "spatial")
        self._options: dict[str, Any] = {"space": space, "spatial": spatial, "n_threads": n_threads}
        self._bandwidth, self._regions = bandwidth, regions
        self._detail, self._min_size, self._memory = detail, min_size, memory
        self.colors: NDArray[np.float64] = np.empty((0, 3))
        self._calm: NDArray[np.float32] | None = None  # the picture, averaged where it is still
        self._labels: Labels | None = None
        self._modes: Modes | None = None
        self._mode_names: Labels = np.empty(0, np.int32)

    def update(self, frame: NDArray[np.uint8]) -> Labels:
        """Segment the next frame.

        Parameters
        ----------
        frame : ndarray of uint8, shape (height, width, 3)
            RGB, all frames of one size.

        Returns
        -------
        ndarray of int32, shape (height, width)
            A label has the meaning it had in the frames before. Labels are not ordered by size, and
            a region that something passes in front of may be in two parts for a while.
        """
        frame = np.asarray(frame)
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or not frame.size:
            raise InvalidInputError(
                "a frame must be RGB bytes of shape (height, width, 3), "
                f"got {frame.dtype} of shape {frame.shape}"
            )
        if self._labels is not None and frame.shape[:2] != self._labels.shape:
            raise InvalidInputError(
                f"this frame has shape {frame.shape[:2]}, those before {self._labels.shape}"
            )
        picture, still = self._calmed(frame)
        if self._regions:
            found = self._find_regions(picture, still)
            means = region_colors(picture, found)
            names = self._named(self._overlapping_regions(found, means), len(means))
        else:
            modes, found = self._find_clusters(picture)
            means = region_colors(picture, found)
            names = self._named(self._nearest_modes(modes), len(modes))
            self._modes, self._mode_names = modes, names
        self._labels = names[found]
        self._ease_colors(names, means)
        return self._labels.copy()

    # -- within -------------------------------------------------------------------------------

    def _calmed(self, frame: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Average what stands still; return the picture and where it does."""
        if self._calm is None:
            self._calm = frame.astype(np.float32)
            return frame, np.ones(frame.shape[:2], bool)
        change = frame - self._calm
        size = np.abs(change).max(axis=2)
        # The more a pixel has changed, the less its past counts: no ghosts behind what moves.
        weight = np.maximum(1 / self._memory, np.minimum(size / (STILL * 4 / 3), 1) ** 2)
        self._calm += change * weight[..., None].astype(np.float32)
        return np.rint(self._calm).astype(np.uint8), size < STILL

    def _find_regions(self, picture: NDArray[np.uint8], still: NDArray[np.bool_]) -> Labels:
        """Segment the picture, with hysteresis.

        The pieces of a fine cut are joined where they were one region before, as far as a coarse
        cut joins them. A piece asks those of its pixels that stood still which region they were in;
        one that moved belongs to what the cut between the two finds.
        """
        slack = SLACK if self._memory > 1 else 1.0
        tree = hierarchy(picture, self._bandwidth, max_level=slack / self._detail, **self._options)
        found = tree.cut(self._detail, min_size=self._min_size)
        if self._labels is None or slack == 1:
            return found
        fine = tree.cut(self._detail * slack, min_size=self._min_size)
        coarse = tree.cut(self._detail / slack, min_size=self._min_size)
        n, names = int(fine.max()) + 1, len(self.colors)
        piece, name, votes = _overlaps(fine[still], self._labels[still])
        rising = np.argsort(votes, kind="stable")
        piece, name, votes = piece[rising], name[rising], votes[rising]
        counted = votes >= _VOTE * np.bincount(fine.ravel())[piece]
        kind = names + _values_of(fine, found, n)
        kind[piece[counted]] = name[counted]  # of several, the last: the one with most votes
        roof = _values_of(fine, coarse, n)
        _, joined = np.unique(roof * np.int64(kind.max() + 1) + kind, return_inverse=True)
        return np.asarray(joined, np.int32)[fine]

    def _find_clusters(self, picture: NDArray[np.uint8]) -> tuple[Modes, Labels]:
        """Seek the modes of this picture and of what has not yet faded of those before."""
        space, spatial = self._options["space"], self._options["spatial"]
        threads = thread_count(self._options["n_threads"])
        points: NDArray[Any] = picture.reshape(-1, 3)
        if space != "rgb":
            points = _kernel.convert_colours(points, space, 255.0, threads)
        sides = [self._bandwidth or CLUSTER_BANDWIDTH[space]] * 3
        if spatial is not None:
            axes = np.indices(picture.shape[:2], np.float32).reshape(2, -1).T
            points, sides = np.hstack([points.astype(np.float32), axes]), [*sides, spatial, spatial]
        recipe = Recipe(sides).checked(len(sides))
        grid = recipe.bin(Chunk(points), n_threads=threads)
        if self._modes is not None:
            grid += self._modes.grid.faded(1 - 1 / (2 * self._memory - 1))
        modes = recipe.search(grid, n_threads=threads)
        labels = recipe.label(modes, points, n_threads=threads)
        return modes, labels.reshape(picture.shape[:2])

    def _overlapping_regions(
        self, found: Labels, means: NDArray[np.float64]
    ) -> Iterable[tuple[int, int]]:
        """Pair regions with those of the frame before that they lie on, largest overlap first."""
        if self._labels is None:
            return ()
        new, old, overlap = _overlaps(found, self._labels)
        enough = overlap >= _OVERLAP * np.bincount(found.ravel())[new]
        alike = np.abs(means[new] - self.colors[old]).max(axis=1) <= _ALIKE
        order = np.argsort(-overlap, kind="stable")
        order = order[(enough & alike)[order]]
        return zip(new[order].tolist(), old[order].tolist(), strict=True)

    def _nearest_modes(self, modes: Modes) -> Iterable[tuple[int, int]]:
        """Pair modes with those before that are less than a cell away, heaviest modes first."""
        if self._modes is None:
            return ()
        from scipy.spatial import KDTree  # slow to import

        there = KDTree(self._modes.cells + self._modes.fractions)
        far, which = there.query(
            modes.cells + modes.fractions, k=min(4, there.n), distance_upper_bound=1.0
        )
        near = np.isfinite(far).reshape(len(modes), -1)
        which = which.reshape(near.shape)
        return ((a, int(self._mode_names[which[a, j]])) for a, j in np.argwhere(near).tolist())

    def _named(self, partners: Iterable[tuple[int, int]], n: int) -> Labels:
        """Hand labels on from pair to pair, each once; who gets none is given a new one."""
        names, taken = np.full(n, -1, np.int32), set()
        for new, old in partners:
            if names[new] < 0 and old not in taken:
                names[new] = old
                taken.add(old)
        unnamed = names < 0
        names[unnamed] = len(self.colors) + np.arange(unnamed.sum(), dtype=np.int32)
        return names

    def _ease_colors(self, names: Labels, means: NDArray[np.float64]) -> None:
        """Let the colour of each label that is seen follow what is seen."""
        colors = np.full((max(len(self.colors), int(names.max()) + 1), 3), np.nan)
        colors[: len(self.colors)] = self.colors
        seen = names[: len(means)]
        old = colors[seen]
        eased = np.where(np.isnan(old), means, old + _EASE * (means - old))
        colors[seen] = np.where(np.isnan(means), old, eased)
        self.colors = colors


def _overlaps(a: Labels, b: Labels) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """Count the pixels of each pair of labels that occurs: labels in `a`, labels in `b`, pixels."""
    width = int(b.max(initial=0)) + 1
    codes = a.ravel() * np.int64(width) + b.ravel()
    if int(a.max(initial=0)) * width < 4 * codes.size:  # a table is faster than sorting
        pixels = np.bincount(codes)
        codes = np.flatnonzero(pixels)
        pixels = pixels[codes]
    else:
        codes, pixels = np.unique(codes, return_counts=True)
    return codes // width, codes % width, pixels


def _values_of(pieces: Labels, labels: Labels, n: int) -> NDArray[np.int64]:
    """Look up the label of each piece; pieces lie within labels."""
    values = np.zeros(n, np.int64)
    values[pieces.ravel()] = labels.ravel()
    return values
