"""What follows the boxes: ours three ways, and OpenCV's trackers as far as it has them.

OpenCV's frames are BGR; they are turned before the clock starts. OpenCV works on one thread. The
clock is the processor's: what other programs take of it is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, Protocol
from zlib import crc32

import numpy as np

import meanshiftpp
from benchmarks.tracking.data import Frame
from benchmarks.tracking.measures import Track
from meanshiftpp import _kernel

Window = tuple[int, int, int, int]


class Follower(Protocol):
    """As OpenCV's trackers are, and ours."""

    def init(self, frame: Frame, window: Window) -> Any: ...

    def update(self, frame: Frame) -> tuple[bool, Sequence[float]]: ...


@dataclass(frozen=True)
class Contender:
    """A tracker by name."""

    name: str
    make: Callable[[], Follower]
    own: bool = False

    @property
    def made_of(self) -> str:
        """Tell what its answers depend on: our own code as it is now, or a version."""
        return f"code {_own_code()}" if self.own else f"OpenCV {_cv2().__version__}"

    def seen(self, frame: Frame) -> Frame:
        """Give a frame in the order of channels that it wants."""
        return frame if self.own else np.ascontiguousarray(frame[..., ::-1])


class BackProjection:
    """Hue histogram, back-projected on every frame, then a search: as OpenCV's tutorial does it."""

    def __init__(self, search: str) -> None:
        self.search = getattr(_cv2(), search)

    def init(self, frame: Frame, window: Window) -> None:
        cv2 = _cv2()
        x, y, w, h = self.window = window
        hsv = cv2.cvtColor(frame[y : y + h, x : x + w], cv2.COLOR_BGR2HSV)
        coloured = cv2.inRange(hsv, np.array([0.0, 60, 32]), np.array([180.0, 255, 255]))
        self.histogram = cv2.calcHist([hsv], [0], coloured, [180], [0, 180])
        cv2.normalize(self.histogram, self.histogram, 0, 255, cv2.NORM_MINMAX)
        self.stop = (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, 10, 1)

    def update(self, frame: Frame) -> tuple[bool, Window]:
        cv2 = _cv2()
        hsv = cv2.cvtColor(frame, cv2.COLOR_BGR2HSV)
        likely = cv2.calcBackProject([hsv], [0], self.histogram, [0, 180], 1)
        _, window = self.search(likely, self.window, self.stop)
        ok = min(window[2:]) > 0
        if ok:
            self.window = window
        return ok, self.window


def follow(
    contender: Contender, frames: Sequence[Frame], start: Window, done: Callable[[], None]
) -> Track:
    """Track from the first frame on; while the object is lost, the last box stands."""
    follower, box = contender.make(), np.array(start, np.float64)
    follower.init(contender.seen(frames[0]), start)
    boxes, oks, seconds = [], [], 0.0
    for frame in frames[1:]:
        seen = contender.seen(frame)
        begin = process_time()
        ok, window = follower.update(seen)
        seconds += process_time() - begin
        if contender.own or ok:
            box = np.array(window, np.float64)
        boxes.append(box)
        oks.append(bool(ok))
        done()
    return Track(np.array(boxes), np.array(oks), seconds)


@cache
def _cv2() -> Any:
    import cv2

    cv2.setNumThreads(1)
    return cv2


def _theirs(name: str) -> Contender | None:
    """Find a tracker of OpenCV where this version keeps it, if it has it at all."""
    cv2 = _cv2()
    for home in (cv2, getattr(cv2, "legacy", None)):
        make = getattr(home, f"Tracker{name}_create", None)
        if make is not None:
            return Contender(name, make)
    return None


@cache
def _own_code() -> str:
    folder = Path(meanshiftpp.__file__).parent
    files = [Path(_kernel.__file__), folder / "tracking" / "tracker.py"]
    return f"{crc32(b''.join(path.read_bytes() for path in files)):08x}"


def opencv() -> str:
    """Name the package and version that is measured."""
    names = packages_distributions().get("cv2", [])
    return ", ".join(f"{name} {version(name)}" for name in sorted(set(names))) or "not installed"


OURS = Contender("Tracker", lambda: meanshiftpp.Tracker(), own=True)
FIXED = Contender("adapt=None", lambda: meanshiftpp.Tracker(adapt=None), own=True)
PAPER = Contender('adapt="paper"', lambda: meanshiftpp.Tracker(adapt="paper"), own=True)
MEAN_SHIFT = Contender("meanShift", lambda: BackProjection("meanShift"))
CAM_SHIFT = Contender("CamShift", lambda: BackProjection("CamShift"))


@cache
def contenders() -> dict[str, Contender]:
    """Give those that this machine has: without OpenCV, ours alone."""
    known = [OURS, FIXED, PAPER]
    if find_spec("cv2") is not None:
        others = [_theirs(name) for name in ("KCF", "CSRT")]
        known += [MEAN_SHIFT, CAM_SHIFT, *filter(None, others)]
    return {each.name: each for each in known}
