"""Track an object: a window follows the colour cells of the object from frame to frame.

Algorithm 3 of the paper keeps a set of colour cells and moves the window to the mean of the pixels
in them. The default tracker extends it: cells have weights, positive for the object and negative
for its surroundings; older frames count less; correlation filters follow the object's shape and
size; and the tracker reports a lost object and searches for it in the whole frame.

The kernel does the work. This module checks the input and keeps the last frame for the mask.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.checks import as_bandwidth
from meanshiftpp._support.devices import as_array, on_gpu
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.tracking.windows import Window

Engine = _kernel.ColourTracker | _kernel.CellFollower

LAB_BANDWIDTH = (20.0, 8.0, 8.0)
RGB_BANDWIDTH = 16.0
TOLERANCE = 1e-3  # in pixels: Algorithm 3 stops when the window's centre moves by less
MAX_ITER = 100
MIN_BANDWIDTH = 1e-6
RING = 0.5  # width of a window's surroundings, as a share of the window's size


@dataclass(frozen=True, eq=False)
class Cluster:
    """One of the colours in a window.

    Attributes
    ----------
    color : tuple of int
        Mean RGB colour of its pixels.
    share : float
        Share of the window's pixels.
    mask : ndarray of bool, shape (height, width)
        Its pixels in the frame.
    """

    color: tuple[int, int, int]
    share: float
    mask: NDArray[np.bool_]


class Tracker:
    """Follow an object through the frames of a video by its colours and its shape.

    Parameters
    ----------
    bandwidth : float or sequence of 3 floats, optional
        Size of a colour cell. By default (20, 8, 8) in CIE Lab; if `adapt` is "paper" or None, 16
        in RGB.
    adapt : {"robust", "paper"} or None
        How the tracker learns. "robust" weighs the object against its surroundings, follows its
        shape, and learns all of them. The others are exactly Algorithm 3: "paper" with its optional
        update of the cells, None with fixed cells.
    scale : bool
        Whether the size of the window follows the object. Only with "robust".
    channels : {"rgb", "bgr"}
        Order of the channels of all frames: "bgr" for those of OpenCV.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import Tracker
    >>> def frame(x):
    ...     picture = np.full((120, 160, 3), 90, np.uint8)
    ...     picture[40:60, x : x + 30] = 200, 40, 40
    ...     return picture
    >>> tracker = Tracker()
    >>> tracker.init(frame(50), (50, 40, 30, 20))
    >>> tracker.update(frame(56))
    (True, (56, 40, 30, 20))
    """

    def __init__(
        self,
        bandwidth: float | ArrayLike | None = None,
        *,
        adapt: Literal["robust", "paper"] | None = "robust",
        scale: bool = True,
        channels: Literal["rgb", "bgr"] = "rgb",
    ) -> None:
        if adapt not in ("robust", "paper", None):
            raise InvalidInputError.for_parameter("adapt", '"robust", "paper" or None', adapt)
        if channels not in ("rgb", "bgr"):
            raise InvalidInputError.for_parameter("channels", '"rgb" or "bgr"', channels)
        self._channels = channels
        default = LAB_BANDWIDTH if adapt == "robust" else RGB_BANDWIDTH
        cell_size = as_bandwidth(default if bandwidth is None else bandwidth, 3)
        if cell_size.min() < MIN_BANDWIDTH:
            raise InvalidInputError.for_parameter(
                "bandwidth",
                f"at least {MIN_BANDWIDTH:g}",
                bandwidth,
                advice="every colour would have a cell to itself; use a larger one",
            )
        self._cell_size = (float(cell_size[0]), float(cell_size[1]), float(cell_size[2]))
        self._adapt, self._scale = adapt, bool(scale)
        self._state: tuple[Engine, NDArray[np.uint8], Window] | None = None

    def init(
        self, frame: ArrayLike, window: Sequence[float], clusters: Sequence[int] | None = None
    ) -> None:
        """Start to track an object.

        Parameters
        ----------
        frame : array-like of uint8, shape (height, width, 3)
            RGB, or BGR with ``channels="bgr"``, with any strides; it is not copied.
        window : (x, y, w, h)
            A window around the object, in pixels; parts outside the frame are cut off.
        clusters : sequence of int, optional
            Indices of the `clusters` that make up the object. By default all that are more frequent
            in the window than around it.
        """
        pixels = self._as_rgb(frame)
        box = _as_window(window, pixels)
        object_pixels = self._object_pixels(pixels, box, clusters)
        engine = self._new_engine()
        engine.init(pixels, box, object_pixels)
        self._state = engine, pixels, box

    def update(self, frame: ArrayLike) -> tuple[bool, Window]:
        """Find the object in the next frame.

        Returns
        -------
        ok : bool
            False if the object seems to be lost; the window is then the best guess.
        window : (x, y, w, h)
            The object's window, always inside the frame and of at least one pixel.
        """
        return update_trackers([self], frame)[0]

    def clusters(self, frame: ArrayLike, window: Sequence[float]) -> list[Cluster]:
        """List the colour clusters in a window, largest first.

        Examples
        --------
        >>> import numpy as np
        >>> from meanshiftpp import Tracker
        >>> frame = np.full((40, 60, 3), 90, np.uint8)
        >>> frame[10:20, 20:40] = 200, 40, 40
        >>> for cluster in Tracker().clusters(frame, (20, 10, 20, 15)):
        ...     print(cluster.color, round(cluster.share, 3))
        (200, 40, 40) 0.667
        (90, 90, 90) 0.333
        """
        pixels = self._as_rgb(frame)
        box = _as_window(window, pixels)
        modes, labels = self._cluster(pixels, box)
        inside = _crop(pixels, box)
        clusters = []
        for k in range(len(modes)):
            mask = np.zeros(pixels.shape[:2], np.bool_)
            _crop(mask, box)[:] = labels == k
            mean = np.rint(inside[labels == k].mean(axis=0))
            color = (int(mean[0]), int(mean[1]), int(mean[2]))
            clusters.append(Cluster(color, float((labels == k).mean()), mask))
        return clusters

    @property
    def window(self) -> Window:
        """The window in the last frame."""
        return self._started()[2]

    @property
    def confidence(self) -> float:
        """Probability that the last frame's window overlaps the object, from 0 to 1.

        By default, it is fitted to films, from the colours of the window, their contrast to the
        surroundings and the response of the shape filter over the last frames; `ok` is a confidence
        of at least 0.8. In Algorithm 3, it is the share of tracked pixels in the window, relative
        to the first frame.
        """
        return self._started()[0].score()

    @property
    def score(self) -> float:
        """The `confidence`, under the name of its column in tables."""
        return self.confidence

    @property
    def cells(self) -> NDArray[np.int64]:
        """The colour cells of the object: array of shape (n_cells, 3).

        They are cells of RGB in Algorithm 3, and of CIE Lab by default, where cell ``k`` is centred
        at ``k`` times the bandwidth.
        """
        return self._started()[0].cells()

    @property
    def mask(self) -> NDArray[np.bool_]:
        """The tracked pixels of the last frame: array of shape (height, width).

        It is computed on access from the array of the last frame, which is not copied: if the array
        has been overwritten since, the mask describes its present content.
        """
        engine, frame, _ = self._started()
        out = np.zeros(frame.shape[:2], np.uint8)
        engine.mask(frame, out)
        return out.view(np.bool_)

    # -- internals ----------------------------------------------------------------------------

    def _as_rgb(self, frame: ArrayLike) -> NDArray[np.uint8]:
        pixels = _as_frame(frame)
        return pixels[..., ::-1] if self._channels == "bgr" else pixels

    def _started(self) -> tuple[Engine, NDArray[np.uint8], Window]:
        """Return the engine, the last frame and its window."""
        if self._state is None:
            raise InvalidInputError("the tracker has not started: call init(frame, window) first")
        return self._state

    def _check_size(self, pixels: NDArray[np.uint8]) -> None:
        _, last, _ = self._started()
        if pixels.shape != last.shape:
            raise InvalidInputError(
                f"all frames must have the same size, {_size(last)}, got {_size(pixels)}; "
                "call init to start another video"
            )

    def _update(self, pixels: NDArray[np.uint8]) -> tuple[bool, Window]:
        engine, _, _ = self._started()
        ok, window = engine.update(pixels)
        self._state = engine, pixels, window
        return ok, window

    def _new_engine(self) -> Engine:
        if self._adapt == "robust":
            return _kernel.ColourTracker(_colour_cells(self._cell_size), self._scale)
        return _kernel.CellFollower(self._cell_size, self._adapt == "paper", TOLERANCE, MAX_ITER)

    def _features(self, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        if self._adapt == "robust":
            return _kernel.convert_colours(pixels, "lab", 255.0, 1)
        return pixels

    def _cluster(self, frame: NDArray[np.uint8], box: Window) -> tuple[Modes, NDArray[np.int32]]:
        inside = _crop(frame, box)
        points = self._features(inside.reshape(-1, 3))
        modes, labels = Recipe(self._cell_size).checked(3).fit(points, n_threads=1)
        return modes, labels.reshape(inside.shape[:2])

    def _object_pixels(
        self, frame: NDArray[np.uint8], box: Window, clusters: Sequence[int] | None
    ) -> NDArray[np.uint8] | None:
        """Mark the object's pixels in the window; return None if the kernel weighs all pixels."""
        if clusters is None and self._adapt == "robust":
            return None
        modes, labels = self._cluster(frame, box)
        if clusters is None:
            indices = self._distinctive_clusters(frame, box, modes)
        else:
            indices = _as_cluster_indices(clusters, len(modes))
        return np.isin(labels, indices).astype(np.uint8)

    def _distinctive_clusters(
        self, frame: NDArray[np.uint8], box: Window, modes: Modes
    ) -> list[int]:
        """Return the clusters that are more frequent in the window than around it, at least one."""
        ring = _ring(frame, box)
        inside = modes.weights / modes.weights.sum()
        labels = modes.label(self._features(ring), cluster_all=False, n_threads=1)
        around = np.bincount(labels[labels >= 0], minlength=len(modes)) / max(len(ring), 1)
        distinctive = np.flatnonzero(inside > around)
        return distinctive.tolist() or [0]  # all are as frequent around: the largest


def update_trackers(trackers: Iterable[Tracker], frame: ArrayLike) -> list[tuple[bool, Window]]:
    """Find several objects in the next frame, each with its own tracker.

    The frame is converted to an array and checked once, before any tracker is updated. An update
    reads only the surroundings of its window, so each object costs as much as one alone.

    Parameters
    ----------
    trackers : iterable of Tracker
        Trackers that have started, one for each object.
    frame : array-like of uint8, shape (height, width, 3)
        The next frame of the video.

    Returns
    -------
    list of (ok, window)
        The result of `Tracker.update` for each tracker, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp import Tracker, update_trackers
    >>> frame = np.full((60, 90, 3), 90, np.uint8)
    >>> frame[20:35, 10:30], frame[20:35, 55:75] = (200, 40, 40), (40, 40, 200)
    >>> trackers = [Tracker(), Tracker()]
    >>> for tracker, window in zip(trackers, [(10, 20, 20, 15), (55, 20, 20, 15)]):
    ...     tracker.init(frame, window)
    >>> update_trackers(trackers, np.roll(frame, 2, axis=1))
    [(True, (12, 20, 20, 15)), (True, (57, 20, 20, 15))]
    """
    all_trackers = list(trackers) if isinstance(trackers, Iterable) else [None]
    for tracker in all_trackers:
        if not isinstance(tracker, Tracker):
            raise InvalidInputError.for_parameter("trackers", "an iterable of Tracker", trackers)
        tracker._started()
    pixels = _as_frame(frame)
    for tracker in all_trackers:
        tracker._check_size(pixels)
    return [tracker._update(tracker._as_rgb(pixels)) for tracker in all_trackers]


@lru_cache(maxsize=8)
def _colour_cells(cell_size: tuple[float, float, float]) -> _kernel.ColourCells:
    return _kernel.ColourCells(cell_size)


def _size(frame: NDArray[np.uint8]) -> str:
    return f"{frame.shape[1]}x{frame.shape[0]}"


def _as_frame(frame: ArrayLike) -> NDArray[np.uint8]:
    if on_gpu(frame):
        raise InvalidInputError(
            "frames must be in host memory, got one on a GPU; copy it with frame.get()"
        )
    pixels: NDArray[Any] = as_array(frame)
    if pixels.dtype != np.uint8:
        raise InvalidInputError(f"frames must be uint8, 0 to 255, got dtype {pixels.dtype}")
    if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        is_grey = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 1)
        advice = "; the tracker follows colours, which a grey frame lacks" if is_grey else ""
        raise InvalidInputError(
            f"frames must be RGB of shape (height, width, 3), got {pixels.shape}{advice}"
        )
    return pixels


def _as_window(window: Sequence[float], frame: NDArray[np.uint8]) -> Window:
    """Check a window, round it to pixels and cut it to the frame."""
    try:
        values = [float(value) for value in window]
    except (OverflowError, TypeError, ValueError):
        values = []
    if len(values) != 4 or not all(map(math.isfinite, values)):
        raise InvalidInputError.for_parameter("window", "four numbers x, y, w, h", window)
    x, y, w, h = map(round, values)
    if w < 1 or h < 1:
        raise InvalidInputError.for_parameter("window", "at least 1 pixel wide and high", window)
    left, top = max(x, 0), max(y, 0)
    right, bottom = min(x + w, frame.shape[1]), min(y + h, frame.shape[0])
    if left >= right or top >= bottom:
        raise InvalidInputError.for_parameter(
            "window", f"at least partly inside the frame of {_size(frame)} pixels", window
        )
    return left, top, right - left, bottom - top


def _as_cluster_indices(clusters: Sequence[int], n: int) -> list[int]:
    indices = np.atleast_1d(np.asarray(clusters))
    if indices.size == 0:
        raise InvalidInputError.for_parameter(
            "clusters", "None or at least one cluster to track", clusters
        )
    if indices.dtype.kind not in "iu" or indices.min() < 0 or indices.max() >= n:
        raise InvalidInputError.for_parameter(
            "clusters", f"whole numbers from 0 to {n - 1}", clusters
        )
    return [int(k) for k in indices]


def _crop(frame: NDArray[Any], box: Window) -> NDArray[Any]:
    x, y, w, h = box
    return frame[y : y + h, x : x + w]


def _ring(frame: NDArray[np.uint8], box: Window) -> NDArray[np.uint8]:
    """Return the pixels around a window, as a table of colours."""
    x, y, w, h = box
    margin = max(1, round(RING * math.sqrt(w * h)))
    left, top = max(x - margin, 0), max(y - margin, 0)
    around = frame[top : y + h + margin, left : x + w + margin]
    outside = np.ones(around.shape[:2], np.bool_)
    outside[y - top : y - top + h, x - left : x - left + w] = False
    return around[outside]
