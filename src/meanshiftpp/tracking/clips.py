"""Draw four short clips with a known truth, each with one difficulty for a tracker.

A striped ball moves over a textured ground. The light changes, a post hides the ball, a second ball
passes, or the ball leaves and comes back. The same seed always draws the same frames; another seed
draws another ground and other noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.tracking.windows import Window

__all__ = ["CLIPS", "leaving", "light", "lookalike", "occlusion"]

Frame = NDArray[np.uint8]  # (height, width, 3)
Clip = Iterator[tuple[Frame, Window | None]]
Values = NDArray[np.float64]

WIDTH, HEIGHT, FRAMES = 320, 240, 120
MIN_VISIBLE = 0.25  # share of the ball that must be visible for the frame to have a window
NOISE = 4.0  # standard deviation in each channel
_GROUND = np.array([[74, 88, 58], [121, 127, 96], [139, 112, 82], [92, 98, 108]], np.float64)
_BALL = np.array([[196, 50, 38], [236, 208, 150], [52, 74, 116]], np.float64)
_POST = np.array([108.0, 112.0, 122.0])


@dataclass(frozen=True)
class _Ball:
    """A ball in a frame: its centre, half its width and height, and its rotation in radians."""

    x: float
    y: float
    rx: float = 24.0
    ry: float = 27.0
    turn: float = 0.0


def light(seed: int = 0) -> Clip:
    """Draw a clip in which the light fades and turns from warm to cool.

    Parameters
    ----------
    seed : int
        Seed of the ground and the noise.

    Yields
    ------
    frame : ndarray of uint8, shape (240, 320, 3)
        RGB.
    window : tuple of int, or None
        x, y, width and height of the part of the ball in the frame; None while it is hidden.

    Examples
    --------
    >>> from meanshiftpp.clips import light
    >>> frames = [frame for frame, window in light()]
    >>> len(frames), frames[0].shape, bool(frames[-1].mean() < 0.5 * frames[0].mean())
    (120, (240, 320, 3), True)
    """
    warm, cool = np.array([1.12, 1.0, 0.85]), np.array([0.33, 0.42, 0.52])

    def path(t: float) -> _Ball:
        return _Ball(160 + 95 * np.sin(4.4 * t), 120 + 60 * np.sin(7.0 * t), turn=5 * t)

    for t, scene, window in _scenes(seed, path):
        mix = 0.5 - 0.5 * np.cos(np.pi * t)
        yield _photograph(scene, seed, t, warm + (cool - warm) * mix), window


def occlusion(seed: int = 0) -> Clip:
    """Draw a clip in which the ball passes twice behind a post that hides it.

    Parameters and results are those of `light`.

    Examples
    --------
    >>> from meanshiftpp.clips import occlusion
    >>> hidden = [window is None for _, window in occlusion()]
    >>> hidden[0], hidden[-1], 5 < sum(hidden) < 40
    (False, False, True)
    """

    def path(t: float) -> _Ball:
        return _Ball(160 - 112 * np.cos(2 * np.pi * t), 125 + 30 * np.sin(5 * t), turn=6 * t)

    for t, scene, window in _scenes(seed, path, post=(126, 194)):
        yield _photograph(scene, seed, t), window


def lookalike(seed: int = 0) -> Clip:
    """Draw a clip in which a ball of the same colours passes close by.

    Parameters and results are those of `light`.

    Examples
    --------
    >>> from meanshiftpp.clips import lookalike
    >>> all(window is not None for _, window in lookalike())
    True
    """

    def path(t: float) -> _Ball:
        return _Ball(90 + 130 * t, 90 + 14 * np.sin(9 * t), turn=4 * t)

    def other(t: float) -> _Ball:
        return _Ball(370 - 430 * t, 136 + 8 * np.sin(7 * t), 22, 24, -6 * t)

    for t, scene, window in _scenes(seed, path, other):
        yield _photograph(scene, seed, t), window


def leaving(seed: int = 0) -> Clip:
    """Draw a clip in which the ball leaves on the right and comes back lower down.

    Parameters and results are those of `light`.

    Examples
    --------
    >>> from meanshiftpp.clips import leaving
    >>> gone = [t for t, (_, window) in enumerate(leaving()) if window is None]
    >>> gone == list(range(gone[0], gone[-1] + 1)) and 20 < len(gone) < 50
    True
    """

    def path(t: float) -> _Ball:
        away = 4 * t * (1 - t)  # 0 at both ends, 1 in the middle
        return _Ball(80 + 300 * away, 80 + 85 * t, turn=5 * t)

    for t, scene, window in _scenes(seed, path):
        yield _photograph(scene, seed, t), window


CLIPS = {clip.__name__: clip for clip in (light, occlusion, lookalike, leaving)}


# -- drawing --------------------------------------------------------------------------------------


def _scenes(
    seed: int,
    path: Callable[[float], _Ball],
    other: Callable[[float], _Ball] | None = None,
    post: tuple[int, int] | None = None,
) -> Iterator[tuple[float, Values, Window | None]]:
    """Draw ground, balls and post; yield the time from 0 to 1, the scene and the ball's window."""
    ground = _ground(seed)
    for t in np.linspace(0, 1, FRAMES).tolist():
        scene, ball = ground.copy(), path(t)
        if other is not None:
            _paint(scene, other(t))
        alpha = _paint(scene, ball)
        area = np.pi * ball.rx * ball.ry
        if post is not None:
            left, right = post
            scene[:, left:right] = _post(seed, right - left)
            alpha[:, left:right] = 0
        is_visible = alpha.sum() >= MIN_VISIBLE * area
        yield t, scene, _window(ball) if is_visible else None


def _ground(seed: int) -> Values:
    """Draw a ground of a few earthy colours, mixed by smooth noise, with fine grain."""
    rng = np.random.default_rng([seed, 1])
    shares = np.stack([_smooth(rng, 40) + 0.6 * _smooth(rng, 12) for _ in _GROUND])
    shares = np.exp(6 * shares)
    mixed = np.einsum("kyx,kc->yxc", shares / shares.sum(axis=0), _GROUND)
    return np.asarray(mixed * (1 + 0.35 * (_smooth(rng, 3) - 0.5))[..., None])


def _smooth(rng: np.random.Generator, spacing: int) -> Values:
    """Return noise from 0 to 1, interpolated between random knots `spacing` pixels apart."""
    rows, columns = HEIGHT // spacing + 2, WIDTH // spacing + 2
    knots = rng.random((rows, columns))
    across = np.arange(WIDTH) / spacing
    down = np.arange(HEIGHT) / spacing
    wide = np.stack([np.interp(across, np.arange(columns), row) for row in knots])
    return np.stack([np.interp(down, np.arange(rows), column) for column in wide.T], axis=1)


def _paint(scene: Values, ball: _Ball) -> Values:
    """Draw a striped, shaded ball into the scene; return the share of each pixel it covers."""
    cover = np.zeros(scene.shape[:2])
    x, y, w, h = _window(ball, margin=1)
    if not w or not h:
        return cover
    box = (slice(y, y + h), slice(x, x + w))
    v, u = np.ogrid[box]
    u, v = (u + 0.5 - ball.x) / ball.rx, (v + 0.5 - ball.y) / ball.ry
    radius = np.sqrt(u * u + v * v)
    alpha = ((1 - radius) * min(ball.rx, ball.ry) + 0.5).clip(0, 1)
    along = u * np.cos(ball.turn) + v * np.sin(ball.turn)
    across = v * np.cos(ball.turn) - u * np.sin(ball.turn)
    part = np.where(np.abs(along) < 0.22, 1, 0)
    part = np.where(np.hypot(along - 0.6, across) < 0.2, 2, part)
    shade = 1.0 - 0.2 * (u + v) - 0.15 * radius**2
    paint = _BALL[part] * shade.clip(0.5, 1.3)[..., None]
    scene[box] += alpha[..., None] * (paint - scene[box])
    cover[box] = alpha
    return cover


def _post(seed: int, width: int) -> Values:
    grain = np.random.default_rng([seed, 2]).normal(0, 6, (HEIGHT, width, 1))
    shade = 1 - 0.5 * np.linspace(-0.9, 0.9, width)[None, :, None] ** 2
    return np.asarray(_POST * shade + grain)


def _window(ball: _Ball, margin: int = 0) -> Window:
    """Return the part of the ball's bounding box that is in the frame."""
    wide, high = ball.rx + margin, ball.ry + margin
    left, right = (round(min(max(x, 0), WIDTH)) for x in (ball.x - wide, ball.x + wide))
    top, bottom = (round(min(max(y, 0), HEIGHT)) for y in (ball.y - high, ball.y + high))
    return left, top, right - left, bottom - top


def _photograph(scene: Values, seed: int, t: float, gain: Values | float = 1.0) -> Frame:
    """Convert a scene to bytes under a light of the given gain, with the camera's noise."""
    rng = np.random.default_rng([seed, 3, round(t * 1e6)])
    noise = rng.normal(0, NOISE, scene.shape)
    return np.asarray((scene * gain + noise).round().clip(0, 255), np.uint8)
