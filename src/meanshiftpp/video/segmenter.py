"""Segment videos with labels and colours that persist from frame to frame.

Frames that are segmented independently flicker, because noise changes weak borders. Four measures
keep the segmentation stable:

- Pixels that stand still are averaged over the last frames; moving pixels are used unchanged.
- Clusters are searched in a grid that also holds the past frames, with decreasing weight.
- Regions are cut with hysteresis: a region splits only when the border inside it is strong, and two
  regions merge only when the border between them has nearly disappeared.
- The segments of a frame are matched with those of the frame before, so that they keep their
  labels, and colours change slowly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.checks import as_positive, as_whole, is_number, thread_count
from meanshiftpp._support.devices import as_array
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.colours import CLUSTER_BANDWIDTH
from meanshiftpp.images.draw import region_colors
from meanshiftpp.images.pixels import SPACES, is_space
from meanshiftpp.images.segmentation import hierarchy

__all__ = ["VideoSegmenter"]

Labels = NDArray[np.int32]

STILL_CHANGE = 24.0  # a pixel that changed by less in each of R, G and B stands still
HYSTERESIS = 5.0  # regions split at this multiple of the cut level, and merge at its inverse
FRAMES_KEPT = 1000  # for which the label of an object that is gone is not used again
_MIN_STILL_SHARE = 0.25  # of a piece's pixels, for its region in the frame before to count
_MIN_OVERLAP = 0.25  # share of a region that lies on the region whose label it gets
_MAX_COLOUR_CHANGE = 60.0  # in R, G and B, between a region and the one whose label it gets
_COLOUR_RATE = 0.3  # how fast the colour of a label follows its region, per frame


class VideoSegmenter:
    """Segment a video frame by frame; an object keeps its label and its colour.

    Parameters
    ----------
    bandwidth, space, spatial, regions, detail, min_size, n_threads
        As in `meanshiftpp.segment`, but `space` may not be None, and without regions the default
        bandwidth is fixed: 24 in RGB, 8 in Lab and HSV, 10 in Luv.
    memory : float
        Approximate number of frames over which still pixels are averaged. 1 segments each frame
        independently.

    Attributes
    ----------
    colors : ndarray of shape (n_labels, 3)
        The colour of every label used so far, RGB from 0 to 255, as for `meanshiftpp.draw.fill`.
        A label that was in none of the last 1,000 frames can be used again for another object, so
        the table does not grow with the length of the video.

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
        if not is_space(space):
            raise InvalidInputError.for_parameter("space", f"one of {', '.join(SPACES)}", space)
        if not is_number(memory) or not memory >= 1:
            raise InvalidInputError.for_parameter("memory", "at least 1 frame", memory)
        if not isinstance(regions, bool):
            raise InvalidInputError.for_parameter(
                "regions", "True or False for videos", regions, advice="use {detail} instead"
            )
        as_positive(detail, "detail")
        for name, value in (("bandwidth", bandwidth), ("spatial", spatial)):
            if value is not None:
                as_positive(value, name)
        if min_size is not None:
            as_whole(min_size, "min_size", 1)
        thread_count(n_threads)
        self._options: dict[str, Any] = {"space": space, "spatial": spatial, "n_threads": n_threads}
        self._bandwidth, self._regions = bandwidth, regions
        self._detail, self._min_size, self._memory = detail, min_size, memory
        self.colors: NDArray[np.float64] = np.empty((0, 3))
        self._n_frames = 0
        self._last_seen: NDArray[np.int64] = np.empty(0, np.int64)  # the frame, for each label
        self._average: NDArray[np.float32] | None = None  # of the frames, where they stand still
        self._labels: Labels | None = None
        self._modes: Modes | None = None
        self._mode_labels: Labels = np.empty(0, np.int32)

    def update(self, frame: NDArray[np.uint8]) -> Labels:
        """Segment the next frame.

        Parameters
        ----------
        frame : ndarray of uint8, shape (height, width, 3)
            RGB; all frames must have the same size.

        Returns
        -------
        ndarray of int32, shape (height, width)
            Labels have the same meaning as in the frames before. They are not ordered by size, and
            a region may be in two parts for a while if an object passes in front of it.
        """
        frame = as_array(frame)
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or not frame.size:
            raise InvalidInputError(
                "a frame must be RGB bytes of shape (height, width, 3), "
                f"got {frame.dtype} of shape {frame.shape}"
            )
        if self._labels is not None and frame.shape[:2] != self._labels.shape:
            raise InvalidInputError(
                f"all frames must have the same shape, {self._labels.shape}, "
                f"got {frame.shape[:2]}; use a new VideoSegmenter for another video"
            )
        picture, still = self._average_still_pixels(frame)
        if self._regions:
            segments = self._find_regions(picture, still)
            means = region_colors(picture, segments)
            labels = self._assign_labels(self._match_regions(segments, means), len(means))
        else:
            modes, segments = self._find_clusters(picture)
            means = region_colors(picture, segments)
            labels = self._assign_labels(self._match_modes(modes), len(modes))
            self._modes, self._mode_labels = modes, labels
        self._labels = labels[segments]
        self._update_colors(labels, means)
        return self._labels.copy()

    # -- segments of a frame ------------------------------------------------------------------

    def _average_still_pixels(
        self, frame: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Return the frame with its still pixels averaged over time, and where they are."""
        if self._average is None:
            self._average = frame.astype(np.float32)
            return frame, np.ones(frame.shape[:2], bool)
        change = frame - self._average
        size = np.abs(change).max(axis=2)
        # A pixel's past counts less the more it changed, so moving objects leave no ghosts.
        weight = np.maximum(1 / self._memory, np.minimum(size / (STILL_CHANGE * 4 / 3), 1) ** 2)
        self._average += change * weight[..., None].astype(np.float32)
        return np.rint(self._average).astype(np.uint8), size < STILL_CHANGE

    def _find_regions(self, picture: NDArray[np.uint8], still: NDArray[np.bool_]) -> Labels:
        """Segment the picture with hysteresis.

        Pieces of a fine cut are joined if they were in one region before and a coarse cut joins
        them. The still pixels of a piece vote for the region that they were in; a piece without
        enough votes is in the region of the cut between the two.
        """
        factor = HYSTERESIS if self._memory > 1 else 1.0
        tree = hierarchy(picture, self._bandwidth, max_level=factor / self._detail, **self._options)
        regions = tree.cut(self._detail, min_size=self._min_size)
        if self._labels is None or factor == 1:
            return regions
        fine = tree.cut(self._detail * factor, min_size=self._min_size)
        coarse = tree.cut(self._detail / factor, min_size=self._min_size)
        n = int(fine.max()) + 1
        piece, label, votes = _overlaps(fine[still], self._labels[still])
        order = np.argsort(votes, kind="stable")
        piece, label, votes = piece[order], label[order], votes[order]
        enough = votes >= _MIN_STILL_SHARE * np.bincount(fine.ravel())[piece]
        group = len(self.colors) + _label_of_pieces(fine, regions, n)
        group[piece[enough]] = label[enough]  # the label with most votes comes last, and stays
        bound = _label_of_pieces(fine, coarse, n)
        _, joined = np.unique(bound * np.int64(group.max() + 1) + group, return_inverse=True)
        return np.asarray(joined, np.int32)[fine]

    def _find_clusters(self, picture: NDArray[np.uint8]) -> tuple[Modes, Labels]:
        """Find the modes of this picture together with the faded grid of the ones before."""
        space, spatial = self._options["space"], self._options["spatial"]
        n_threads = thread_count(self._options["n_threads"])
        points: NDArray[Any] = picture.reshape(-1, 3)
        if space != "rgb":
            points = _kernel.convert_colours(points, space, 255.0, n_threads)
        cell_size = [self._bandwidth or CLUSTER_BANDWIDTH[space]] * 3
        if spatial is not None:
            coordinates = np.indices(picture.shape[:2], np.float32).reshape(2, -1).T
            points = np.hstack([points.astype(np.float32), coordinates])
            cell_size = [*cell_size, spatial, spatial]
        recipe = Recipe(cell_size).checked(len(cell_size))
        grid = recipe.bin(Chunk(points), n_threads=n_threads)
        if self._modes is not None:
            grid += self._modes.grid.faded(1 - 1 / (2 * self._memory - 1))
        modes = recipe.search(grid, n_threads=n_threads)
        labels = recipe.label(modes, points, n_threads=n_threads)
        return modes, labels.reshape(picture.shape[:2])

    # -- labels over time ---------------------------------------------------------------------

    def _match_regions(
        self, regions: Labels, means: NDArray[np.float64]
    ) -> Iterable[tuple[int, int]]:
        """Pair regions with the labels before that they overlap, largest overlap first."""
        if self._labels is None:
            return ()
        new, old, overlap = _overlaps(regions, self._labels)
        enough = overlap >= _MIN_OVERLAP * np.bincount(regions.ravel())[new]
        alike = np.abs(means[new] - self.colors[old]).max(axis=1) <= _MAX_COLOUR_CHANGE
        order = np.argsort(-overlap, kind="stable")
        order = order[(enough & alike)[order]]
        return zip(new[order].tolist(), old[order].tolist(), strict=True)

    def _match_modes(self, modes: Modes) -> Iterable[tuple[int, int]]:
        """Pair modes with the labels of modes before within one cell, heaviest modes first."""
        if self._modes is None:
            return ()
        from scipy.spatial import KDTree  # slow to import

        before = KDTree(self._modes.cells + self._modes.fractions)
        distances, indices = before.query(
            modes.cells + modes.fractions, k=min(4, before.n), distance_upper_bound=1.0
        )
        near = np.isfinite(distances).reshape(len(modes), -1)
        indices = indices.reshape(near.shape)
        return ((a, int(self._mode_labels[indices[a, j]])) for a, j in np.argwhere(near).tolist())

    def _assign_labels(self, pairs: Iterable[tuple[int, int]], n: int) -> Labels:
        """Return a label for each of `n` segments: that of its first free partner, or a new one."""
        labels, used = np.full(n, -1, np.int32), set()
        for segment, label in pairs:
            if labels[segment] < 0 and label not in used:
                labels[segment] = label
                used.add(label)
        missing = labels < 0
        labels[missing] = self._free_labels(int(missing.sum()))
        return labels

    def _free_labels(self, n: int) -> Labels:
        """Return labels for new objects: forgotten ones, which lose their colour, and new ones."""
        forgotten = np.flatnonzero(self._last_seen < self._n_frames - FRAMES_KEPT)[:n]
        self.colors[forgotten] = np.nan
        new = len(self.colors) + np.arange(n - len(forgotten))
        return np.concatenate([forgotten, new]).astype(np.int32)

    def _update_colors(self, labels: Labels, means: NDArray[np.float64]) -> None:
        """Move the colour of each label in the frame towards the mean colour of its segment."""
        n = max(len(self.colors), int(labels.max()) + 1)
        colors, last_seen = np.full((n, 3), np.nan), np.full(n, self._n_frames)
        colors[: len(self.colors)] = self.colors
        last_seen[: len(self.colors)] = self._last_seen
        last_seen[labels] = self._n_frames
        self._last_seen, self._n_frames = last_seen, self._n_frames + 1
        visible = labels[: len(means)]
        old = colors[visible]
        moved = np.where(np.isnan(old), means, old + _COLOUR_RATE * (means - old))
        colors[visible] = np.where(np.isnan(means), old, moved)
        self.colors = colors


def _overlaps(a: Labels, b: Labels) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """Return the pairs of labels that share pixels: label in `a`, label in `b`, pixel count."""
    width = int(b.max(initial=0)) + 1
    codes = a.ravel() * np.int64(width) + b.ravel()
    if int(a.max(initial=0)) * width < 4 * codes.size:  # counting is then faster than sorting
        pixels = np.bincount(codes)
        codes = np.flatnonzero(pixels)
        pixels = pixels[codes]
    else:
        codes, pixels = np.unique(codes, return_counts=True)
    return codes // width, codes % width, pixels


def _label_of_pieces(pieces: Labels, labels: Labels, n: int) -> NDArray[np.int64]:
    """Return the label of each of `n` pieces, none of which crosses a border between labels."""
    label_of = np.zeros(n, np.int64)
    label_of[pieces.ravel()] = labels.ravel()
    return label_of
