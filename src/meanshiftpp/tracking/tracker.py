"""Tracking: a window that follows an object by the cells of its colours.

Algorithm 3 keeps a set of colour cells and moves the window to the mean of the pixels in them. The
default goes on from there: cells have weights, for the object and against its surroundings; what is
known of both fades with time; the window follows the object's size; and the tracker says when the
object has gone, and looks for it in the whole frame.

Work is in the kernel; this module checks what comes in and keeps the last frame for the mask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from meanshiftpp import _kernel
from meanshiftpp._support.checks import as_bandwidth
from meanshiftpp._support.devices import on_gpu
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.tracking.windows import Window

LAB_BANDWIDTH = (20.0, 8.0, 8.0)
RGB_BANDWIDTH = 16.0
TOLERANCE = 1e-3  # Algorithm 3's window rests when its centre moves less than this, in pixels
MAX_ITER = 100
LEAST_BANDWIDTH = 1e-6
RING = 0.5  # surroundings of a window: this part of its size on every side


@dataclass(frozen=True, eq=False)
class Cluster:
    """One of the colours in a window.

    Attributes
    ----------
    color : tuple of int
        Mean of its pixels, RGB.
    share : float
        Part of the window's pixels.
    mask : ndarray of bool, shape (height, width)
        Its pixels in the frame.
    """

    color: tuple[int, int, int]
    share: float
    mask: NDArray[np.bool_]


class Tracker:
    """Follow an object through the frames of a video by its colours.

    Parameters
    ----------
    bandwidth : float or sequence of 3 floats, optional
        Sides of a colour cell. In CIE Lab by default, (20, 8, 8); in RGB, 16, with `adapt` "paper"
        or None.
    adapt : {"robust", "paper"} or None
        How the tracker goes on. "robust" weighs object against surroundings and learns both. The
        others are Algorithm 3 to the letter: "paper" with its optional update of the cells, None
        with fixed cells.
    scale : bool
        Whether the window's size follows the object's. Only with "robust".

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
    >>> tracker.update(frame(57))
    (True, (57, 40, 30, 20))
    """

    def __init__(
        self,
        bandwidth: float | ArrayLike | None = None,
        *,
        adapt: Literal["robust", "paper"] | None = "robust",
        scale: bool = True,
    ) -> None:
        if adapt not in ("robust", "paper", None):
            raise InvalidInputError(f'adapt must be "robust", "paper" or None, got {adapt!r}')
        default = LAB_BANDWIDTH if adapt == "robust" else RGB_BANDWIDTH
        sides = as_bandwidth(default if bandwidth is None else bandwidth, 3)
        if sides.min() < LEAST_BANDWIDTH:
            raise InvalidInputError(
                f"bandwidth must be at least {LEAST_BANDWIDTH:g}, or no two colours share a cell; "
                f"got {bandwidth!r}"
            )
        self._sides = (float(sides[0]), float(sides[1]), float(sides[2]))
        self._adapt, self._scale = adapt, bool(scale)
        self._engine: _kernel.ColourTracker | _kernel.CellFollower | None = None
        self._frame: NDArray[np.uint8] | None = None
        self._window: Window = (0, 0, 0, 0)

    def init(
        self, frame: ArrayLike, window: Sequence[float], clusters: Sequence[int] | None = None
    ) -> None:
        """Start with an object.

        Parameters
        ----------
        frame : array-like of uint8, shape (height, width, 3)
            RGB; any strides, and not copied. A BGR frame is ``frame[..., ::-1]``.
        window : (x, y, w, h)
            Around the object, in pixels; what is outside the frame is cut off.
        clusters : sequence of int, optional
            Which of `clusters` the object consists of. By default all that stand out against
            the surroundings.
        """
        pixels = _as_frame(frame)
        box = _as_window(window, pixels)
        chosen = self._chosen(pixels, box, clusters)
        engine = self._new_engine()
        engine.init(pixels, box, chosen)
        self._engine, self._frame, self._window = engine, pixels, box

    def update(self, frame: ArrayLike) -> tuple[bool, Window]:
        """Find the object in the next frame.

        Returns
        -------
        ok : bool
            False when the object seems to have gone; the window is then the best guess.
        window : (x, y, w, h)
            Always inside the frame, and of at least one pixel.
        """
        engine, last = self._started()
        pixels = _as_frame(frame)
        if pixels.shape != last.shape:
            raise InvalidInputError(
                f"all frames must have one size, {_size(last)}, got {_size(pixels)}; "
                "call init for another video"
            )
        ok, self._window = engine.update(pixels)
        self._frame = pixels
        return ok, self._window

    def clusters(self, frame: ArrayLike, window: Sequence[float]) -> list[Cluster]:
        """List the clusters of the colours in a window, heaviest first.

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
        pixels = _as_frame(frame)
        box = _as_window(window, pixels)
        modes, labels = self._cluster(pixels, box)
        inside = _crop(pixels, box)
        found = []
        for k in range(len(modes)):
            mask = np.zeros(pixels.shape[:2], np.bool_)
            _crop(mask, box)[:] = labels == k
            mean = np.rint(inside[labels == k].mean(axis=0))
            color = (int(mean[0]), int(mean[1]), int(mean[2]))
            found.append(Cluster(color, float((labels == k).mean()), mask))
        return found

    @property
    def window(self) -> Window:
        """The window in the last frame."""
        self._started()
        return self._window

    @property
    def score(self) -> float:
        """How sure it is of the last frame, from 0 to 1; 1 after `init`.

        By default, how much the window looks and stands out as the object did, with a short memory:
        `ok` is a score of at least 0.35. In Algorithm 3, the share of the pixels followed, of
        that in the first frame.
        """
        return self._started()[0].score()

    @property
    def cells(self) -> NDArray[np.int64]:
        """The colour cells followed: array of shape (n_cells, 3).

        Of RGB in Algorithm 3; of CIE Lab by default, where cell ``k`` is centred at ``k`` times
        the bandwidth.
        """
        return self._started()[0].cells()

    @property
    def mask(self) -> NDArray[np.bool_]:
        """The pixels followed in the last frame: array of shape (height, width).

        Computed when asked for, from the frame that was handed in: if its memory has been
        overwritten since, from what is there now.
        """
        engine, frame = self._started()
        out = np.zeros(frame.shape[:2], np.uint8)
        engine.mask(frame, out)
        return out.view(np.bool_)

    # -- within -------------------------------------------------------------------------------

    def _started(self) -> tuple[_kernel.ColourTracker | _kernel.CellFollower, NDArray[np.uint8]]:
        if self._engine is None or self._frame is None:
            raise InvalidInputError("the tracker has no object yet; call init(frame, window) first")
        return self._engine, self._frame

    def _new_engine(self) -> _kernel.ColourTracker | _kernel.CellFollower:
        if self._adapt == "robust":
            return _kernel.ColourTracker(_colour_cells(self._sides), self._scale)
        return _kernel.CellFollower(self._sides, self._adapt == "paper", TOLERANCE, MAX_ITER)

    def _features(self, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        if self._adapt == "robust":
            return _kernel.convert_colours(pixels, "lab", 255.0, 1)
        return pixels

    def _cluster(self, frame: NDArray[np.uint8], box: Window) -> tuple[Modes, NDArray[np.int32]]:
        inside = _crop(frame, box)
        points = self._features(inside.reshape(-1, 3))
        modes, labels = Recipe(self._sides).checked(3).fit(points, n_threads=1)
        return modes, labels.reshape(inside.shape[:2])

    def _chosen(
        self, frame: NDArray[np.uint8], box: Window, clusters: Sequence[int] | None
    ) -> NDArray[np.uint8] | None:
        """Mark the object's pixels in the window; None where the kernel weighs them all."""
        if clusters is None and self._adapt == "robust":
            return None
        modes, labels = self._cluster(frame, box)
        if clusters is None:
            wanted = self._standing_out(frame, box, modes)
        else:
            wanted = _as_choice(clusters, len(modes))
        return np.isin(labels, wanted).astype(np.uint8)

    def _standing_out(self, frame: NDArray[np.uint8], box: Window, modes: Modes) -> list[int]:
        """Pick the clusters more frequent in the window than around it, or at least the best."""
        ring = _ring(frame, box)
        here = modes.weights / modes.weights.sum()
        labels = modes.label(self._features(ring), cluster_all=False, n_threads=1)
        there = np.bincount(labels[labels >= 0], minlength=len(modes)) / max(len(ring), 1)
        better = np.flatnonzero(here > there)
        return better.tolist() or [int(np.argmax(here / np.maximum(there, 1e-12)))]


@lru_cache(maxsize=8)
def _colour_cells(sides: tuple[float, float, float]) -> _kernel.ColourCells:
    return _kernel.ColourCells(sides)


def _size(frame: NDArray[np.uint8]) -> str:
    return f"{frame.shape[1]}x{frame.shape[0]}"


def _as_frame(frame: ArrayLike) -> NDArray[np.uint8]:
    if on_gpu(frame):
        raise InvalidInputError(
            "frames must be in the host's memory, got one on a GPU; frame.get() copies it"
        )
    pixels = np.asarray(frame)
    if pixels.dtype != np.uint8:
        raise InvalidInputError(f"frames must be uint8, 0 to 255, got dtype {pixels.dtype}")
    if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        grey = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 1)
        hint = "; colours are what is followed, a grey frame has none" if grey else ""
        raise InvalidInputError(
            f"frames must be RGB of shape (height, width, 3), got {pixels.shape}{hint}"
        )
    return pixels


def _as_window(window: Sequence[float], frame: NDArray[np.uint8]) -> Window:
    """Check a window, round it to pixels and cut off what is outside the frame."""
    try:
        values = [float(value) for value in window]
    except (TypeError, ValueError):
        values = []
    if len(values) != 4 or not all(map(math.isfinite, values)):
        raise InvalidInputError(f"a window is four numbers x, y, w, h; got {window!r}")
    x, y, w, h = map(round, values)
    if w < 1 or h < 1:
        raise InvalidInputError(f"a window must be at least 1 pixel wide and high, got {window!r}")
    left, top = max(x, 0), max(y, 0)
    right, bottom = min(x + w, frame.shape[1]), min(y + h, frame.shape[0])
    if left >= right or top >= bottom:
        raise InvalidInputError(f"window {window!r} is outside the frame of {_size(frame)} pixels")
    return left, top, right - left, bottom - top


def _as_choice(clusters: Sequence[int], n: int) -> list[int]:
    wanted = np.atleast_1d(np.asarray(clusters))
    if wanted.size == 0:
        raise InvalidInputError("clusters is empty: name at least one to follow, or None for all")
    if wanted.dtype.kind not in "iu" or wanted.min() < 0 or wanted.max() >= n:
        raise InvalidInputError(f"clusters must be whole numbers from 0 to {n - 1}, got {clusters}")
    return [int(k) for k in wanted]


def _crop(frame: NDArray[Any], box: Window) -> NDArray[Any]:
    x, y, w, h = box
    return frame[y : y + h, x : x + w]


def _ring(frame: NDArray[np.uint8], box: Window) -> NDArray[np.uint8]:
    """Return the pixels around a window, as a table."""
    x, y, w, h = box
    margin = max(1, round(RING * math.sqrt(w * h)))
    left, top = max(x - margin, 0), max(y - margin, 0)
    around = frame[top : y + h + margin, left : x + w + margin]
    outside = np.ones(around.shape[:2], np.bool_)
    outside[y - top : y - top + h, x - left : x - left + w] = False
    return around[outside]
