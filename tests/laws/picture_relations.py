"""Relations of pictures and of trackers: changes of frames that change no result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.images.scenes import scene
from tests.tracking.scenes import noise

from meanshiftpp import Tracker, hierarchy, palette, quantize, segment
from meanshiftpp.tracking.tracker import update_trackers

Rng = np.random.Generator
Image = NDArray[Any]


# -- pictures --------------------------------------------------------------------------------------


def colours(image: Image, **options: Any) -> NDArray[Any]:
    """Return the palette as one array, in the type of the result."""
    found = palette(image, 16, **options)
    return np.column_stack([found.colors, found.shares])


PICTURES: dict[str, Callable[..., NDArray[Any]]] = {
    "regions": segment,
    "clusters": lambda image, **options: segment(image, 12, regions=False, **options),
    "clusters in space": lambda image, **options: segment(
        image, 24, space="rgb", spatial=16, regions=False, **options
    ),
    "cut": lambda image, **options: hierarchy(image, **options).cut(2.0),
    "palette": colours,
    "quantized": lambda image, **options: quantize(image, 16, **options),
}


def layout(image: Image, rng: Rng) -> Image:
    """Return the same values with other strides."""
    strided = np.zeros((2 * image.shape[0], 3 * image.shape[1], 4), image.dtype)[::2, ::3, :3]
    strided[...] = image
    frozen = image.copy()
    frozen.flags.writeable = False
    choices = [np.asfortranarray(image), strided, frozen, image[::-1, ::-1].copy()[::-1, ::-1]]
    return choices[rng.integers(len(choices))]


def dtype(image: Image, rng: Rng) -> Image:
    """Return the same values in another type of whole numbers."""
    return image.astype(rng.choice(["i2", "u2", "i4", ">u2", "i8"]))


def opaque(image: Image, rng: Rng) -> Image:
    return np.dstack([image, np.full(image.shape[:2], 255, np.uint8)])


def moved_channels(image: Image, rng: Rng) -> tuple[Image, dict[str, Any]]:
    axis = int(rng.integers(2))
    return np.moveaxis(image, -1, axis), {"channel_axis": axis}


Changed = Image | tuple[Image, dict[str, Any]]
PICTURE_RELATIONS: dict[str, Callable[[Image, Rng], Changed]] = {
    "layout": layout,
    "dtype": dtype,
    "opaque": opaque,
    "channels": moved_channels,
    "threads": lambda image, rng: (image, {"n_threads": int(rng.integers(1, 9))}),
    "mask": lambda image, rng: (image, {"mask": np.ones(image.shape[:2], bool)}),
    "range": lambda image, rng: (image, {"value_range": (0, 255)}),
}


def check_picture(subject: str, relation: str, seed: int) -> None:
    """Check a relation on the picture of a seed."""
    rng = np.random.default_rng(seed)
    height, width = rng.integers(12, 70, 2)
    image = scene(int(height), int(width), rng.uniform(0, 25), seed)
    changed = PICTURE_RELATIONS[relation](image, rng)
    image_there, options = changed if isinstance(changed, tuple) else (changed, {})
    found, expected = PICTURES[subject](image_there, **options), PICTURES[subject](image)
    if subject == "quantized" and relation == "channels":
        found = np.moveaxis(found, options["channel_axis"], -1)
    if subject == "quantized" and relation == "opaque":
        found = found[..., :3]
    assert np.array_equal(found, expected)


# -- trackers --------------------------------------------------------------------------------------

Clip = Sequence[Image]
SIZE = 24, 30  # height and width of the object


class Following(NamedTuple):
    """Frames, the first window, and options of a tracker."""

    frames: Clip
    window: tuple[int, int, int, int]
    options: Mapping[str, Any] = MappingProxyType({})


def clip(rng: Rng) -> Following:
    """Draw frames with a rectangle that moves over noise, far from the borders."""
    tall, wide = SIZE
    x, y = rng.integers(90, 110, 2)
    background = noise((200, 240), seed=int(rng.integers(99)))
    colour = rng.integers(120, 226, 3, dtype=np.uint8)
    pixels = colour + rng.integers(0, 30, (tall, wide, 3), dtype=np.uint8)
    frames, window = [], (int(x), int(y), wide, tall)
    for _ in range(4):
        frames.append(background.copy())
        frames[-1][y : y + tall, x : x + wide] = pixels
        x, y = x + rng.integers(-5, 6), y + rng.integers(-5, 6)
    return Following(frames, window)


def follow(case: Following, adapt: str | None, *, together: bool = False) -> list[Any]:
    """Return the windows of a tracker, alone or beside another one."""
    trackers = [Tracker(adapt=adapt, **case.options) for _ in range(1 + together)]
    for tracker in trackers:
        tracker.init(case.frames[0], case.window)
    found = []
    for frame in case.frames[1:]:
        alone = None if together else trackers[0].update(frame)
        found.append(alone or update_trackers(trackers, frame)[-1])
    return found


def moved(case: Following, rng: Rng) -> tuple[Following, tuple[int, int]]:
    """Move all pixels by whole numbers; they come back at the other side, far from the object."""
    dx, dy = (int(by) for by in rng.integers(-20, 21, 2))
    x, y, w, h = case.window
    frames = [np.roll(frame, (dy, dx), (0, 1)) for frame in case.frames]
    return Following(frames, (x + dx, y + dy, w, h)), (dx, dy)


TRACKER_RELATIONS = ("layout", "channels", "moved", "together", "again")
ADAPTS = ("robust", "paper", None)
PICTURE_PAIRS = [*product(PICTURES, PICTURE_RELATIONS)]
TRACKER_PAIRS = [*product(ADAPTS, TRACKER_RELATIONS)]


def check_tracker(adapt: str | None, relation: str, seed: int) -> None:
    """Check a relation on the clip of a seed."""
    rng = np.random.default_rng(seed)
    case, by = clip(rng), (0, 0)
    changed = case
    if relation == "layout":
        changed = case._replace(frames=[layout(frame, rng) for frame in case.frames])
    elif relation == "channels":
        frames = [frame[..., ::-1] for frame in case.frames]
        changed = case._replace(frames=frames, options={"channels": "bgr"})
    elif relation == "moved":
        changed, by = moved(case, rng)
    found = follow(changed, adapt, together=relation == "together")
    for (present, (x, y, *size)), expected in zip(found, follow(case, adapt), strict=True):
        assert (present, (x - by[0], y - by[1], *size)) == expected
