"""The contenders: three variants of ours, and the trackers that the installed OpenCV has.

NanoTrack and DaSiamRPN need files with trained networks, given by path. OpenCV expects BGR frames;
they are converted before the clock starts. OpenCV runs on one thread. Times are CPU times.
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
from benchmarks.common.result_cache import code_version
from benchmarks.tracking.metrics import Track
from benchmarks.tracking.sequences import Frame

Window = tuple[int, int, int, int]
LAYERS = ("_support", "backends", "core", "tracking")  # our trackers depend on these


class Tracker(Protocol):
    """The interface of OpenCV's trackers and of ours."""

    def init(self, frame: Frame, window: Window) -> Any: ...

    def update(self, frame: Frame) -> tuple[bool, Sequence[float]]: ...


@dataclass(frozen=True)
class Contender:
    """A tracker with a name."""

    name: str
    make: Callable[[], Tracker]
    own: bool = False
    models: tuple[Path, ...] = ()

    @property
    def version(self) -> str:
        """The version of our code, or of OpenCV and the files of the network."""
        if self.own:
            return code_version(*LAYERS)
        crcs = [f"{crc32(path.read_bytes()):08x}" for path in self.models]
        return " ".join([f"OpenCV {_cv2().__version__}", *crcs])

    def convert(self, frame: Frame) -> Frame:
        """Convert an RGB frame to the order of channels that the tracker expects."""
        return frame if self.own else np.ascontiguousarray(frame[..., ::-1])


class BackProjection:
    """Back-projection of a hue histogram followed by a search, as in OpenCV's tutorial."""

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
        likelihood = cv2.calcBackProject([hsv], [0], self.histogram, [0, 180], 1)
        _, window = self.search(likelihood, self.window, self.stop)
        ok = min(window[2:]) > 0
        if ok:
            self.window = window
        return ok, self.window


def track(
    contender: Contender, frames: Sequence[Frame], start: Window, on_frame: Callable[[], None]
) -> Track:
    """Track from the first frame; a tracker of OpenCV that is not ok keeps its last box."""
    tracker, box = contender.make(), np.array(start, np.float64)
    tracker.init(contender.convert(frames[0]), start)
    boxes, oks, seconds = [], [], 0.0
    for frame in frames[1:]:
        converted = contender.convert(frame)
        begin = process_time()
        ok, window = tracker.update(converted)
        seconds += process_time() - begin
        if contender.own or ok:
            box = np.array(window, np.float64)
        boxes.append(box)
        oks.append(bool(ok))
        on_frame()
    return Track(np.array(boxes), np.array(oks), seconds)


@cache
def _cv2() -> Any:
    import cv2

    cv2.setNumThreads(1)
    return cv2


def _opencv_tracker(name: str) -> Contender | None:
    """Find a tracker in the namespaces that OpenCV versions use, or return None."""
    cv2 = _cv2()
    for namespace in (cv2, getattr(cv2, "legacy", None)):
        make = getattr(namespace, f"Tracker{name}_create", None)
        if make is not None:
            return Contender(name, make)
    return None


NETWORKS = {  # the fields of the parameters that hold the files of a network
    "Nano": ("backbone", "neckhead"),
    "DaSiamRPN": ("model", "kernel_cls1", "kernel_r1"),
}


def network_tracker(name: str, models: Sequence[Path]) -> Contender:
    """Return a tracker of OpenCV with a trained network; raise FileNotFoundError if it has none."""
    if missing := [str(path) for path in models if not path.is_file()]:
        raise FileNotFoundError(f"{name}: expected a file of the network; found no {missing[0]}")

    def make() -> Tracker:
        parameters = getattr(_cv2(), f"Tracker{name}_Params")()
        for field, path in zip(NETWORKS[name], models, strict=True):
            setattr(parameters, field, str(path))
        created: Tracker = getattr(_cv2(), f"Tracker{name}_create")(parameters)
        return created

    return Contender(name, make, models=tuple(models))


def opencv_version() -> str:
    """Return name and version of the OpenCV package."""
    names = packages_distributions().get("cv2", [])
    return ", ".join(f"{name} {version(name)}" for name in sorted(set(names))) or "not installed"


OURS = Contender("Tracker", lambda: meanshiftpp.Tracker(), own=True)
FIXED = Contender("adapt=None", lambda: meanshiftpp.Tracker(adapt=None), own=True)
PAPER = Contender('adapt="paper"', lambda: meanshiftpp.Tracker(adapt="paper"), own=True)
MEAN_SHIFT = Contender("meanShift", lambda: BackProjection("meanShift"))
CAM_SHIFT = Contender("CamShift", lambda: BackProjection("CamShift"))


@cache
def contenders() -> dict[str, Contender]:
    """Return the trackers that are available: only ours if OpenCV is not installed."""
    available = [OURS, FIXED, PAPER]
    if find_spec("cv2") is not None:
        others = [_opencv_tracker(name) for name in ("KCF", "CSRT")]
        available += [MEAN_SHIFT, CAM_SHIFT, *filter(None, others)]
    return {each.name: each for each in available}
