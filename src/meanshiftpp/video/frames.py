"""Frames in and out: videos, folders of pictures, cameras.

Reading goes through PyAV, which brings FFmpeg along; writing gives H.264 that every player knows. A
frame is an array of RGB bytes, upright, whatever the file holds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import atomic_path, check_readable, known_suffix
from meanshiftpp.errors import FileAccessError, InvalidInputError
from meanshiftpp.images import picture
from meanshiftpp.images.draw import as_rgb

__all__ = ["VIDEO_FORMATS", "Frames", "frame_files", "is_video", "read_frames", "write_frames"]

Frame = NDArray[np.uint8]  # (height, width, 3)

VIDEO_FORMATS = (".mp4", ".m4v", ".mov", ".mkv")  # those written; read is what FFmpeg reads
_OTHERS = (".avi", ".webm", ".mpg", ".mpeg", ".wmv", ".flv", ".ogv", ".3gp", ".ts", ".mts", ".m2ts")
_FOLDER_FPS = Fraction(25)
_BT709, _HIGH_DEFINITION = 1, 720  # the matrix of colours in video of so many lines and more
_H264 = ("libx264", "libopenh264", "h264")


class Frames:
    """Frames to go through once; made by `read_frames`.

    Attributes
    ----------
    fps : Fraction
        Frames a second.
    size : tuple of int
        Width and height.
    count : int or None
        How many frames there are, as far as that is known before reading them.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.video import read_frames, write_frames
    >>> with write_frames("clip.mp4", fps=25, size=(64, 48)) as write:
    ...     for grey in (0, 120, 240):
    ...         write(np.full((48, 64, 3), grey, np.uint8))
    >>> with read_frames("clip.mp4") as clip:
    ...     print(clip.fps, clip.size, sum(1 for frame in clip))
    25 (64, 48) 3
    """

    def __init__(
        self,
        name: str,
        frames: Iterator[Frame],
        fps: Fraction,
        count: int | None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self.fps, self.count, self._close = fps, count, close
        try:
            first = next(frames, None)
            if first is None:
                raise InvalidInputError(f"{name} has no frames")
        except BaseException:
            close()
            raise
        self.size = first.shape[1], first.shape[0]
        self._frames = chain([first], frames)

    def __iter__(self) -> Iterator[Frame]:
        return self._frames

    def __enter__(self) -> Frames:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file or the camera back."""
        self._close()


def read_frames(source: str | os.PathLike[str] | int) -> Frames:
    """Open a video, a folder of pictures or a camera.

    Parameters
    ----------
    source : path or int
        A video file; a folder, whose pictures are taken in the order of their names; or the number
        of a camera.

    Returns
    -------
    Frames
        To be iterated over once; a context manager that closes what was opened.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.video.frames import read_frames, write_frames
    >>> with write_frames("clip.mp4", fps=25, size=(64, 48)) as write:
    ...     for level in (50, 100, 150):
    ...         write(np.full((48, 64, 3), level, np.uint8))
    >>> with read_frames("clip.mp4") as clip:
    ...     print(clip.size, clip.fps, [frame.mean() > 90 for frame in clip].count(True))
    (64, 48) 25 2
    """
    if isinstance(source, int):
        return _camera(source)
    path = Path(source)
    if path.is_dir():
        return _folder(path)
    check_readable(path)
    av = need("av", "video")
    try:
        container = av.open(str(path))
    except (av.FFmpegError, ValueError) as error:
        what = "is empty" if path.stat().st_size == 0 else "is no video, or is damaged"
        raise InvalidInputError(f"{str(path)!r} {what}: {_words(error)}") from error
    return _stream(container, repr(str(path)), endless=False)


def frame_files(path: str | os.PathLike[str]) -> list[Path]:
    """Give the files that frames are read from: the pictures of a folder, else the video itself."""
    where = Path(path)
    if not where.is_dir():
        return [where]
    return sorted(p for p in where.iterdir() if p.suffix.lower() in picture.PICTURE_FORMATS)


def is_video(path: str | os.PathLike[str]) -> bool:
    """Tell by its name whether a file is a video."""
    return Path(path).suffix.lower() in (*VIDEO_FORMATS, *_OTHERS)


@contextmanager
def write_frames(
    path: str | os.PathLike[str], fps: float | Fraction, size: tuple[int, int]
) -> Iterator[Callable[[Frame], None]]:
    """Write a video, frame after frame: H.264 in 4:2:0, as every player wants it.

    Parameters
    ----------
    path : path
        A .mp4, .m4v, .mov or .mkv file. It takes this name when all frames are written.
    fps : float or Fraction
        Frames a second.
    size : tuple of int
        Width and height of the frames. H.264 wants both even: an odd one gets its last line twice.

    Yields
    ------
    write : callable
        Takes one frame, RGB bytes of shape (height, width, 3).

    Examples
    --------
    >>> from meanshiftpp.clips import light
    >>> from meanshiftpp.video import write_frames
    >>> with write_frames("ball.mp4", fps=30, size=(320, 240)) as write:
    ...     for frame, _ in light():
    ...         write(frame)
    """
    known_suffix(path, VIDEO_FORMATS)
    av = need("av", "video")
    written = 0
    with atomic_path(path) as target:
        try:
            with av.open(str(target), "w", options=_muxing(target)) as container:
                stream = _encoder(av, container, fps, size)

                def write(frame: Frame) -> None:
                    nonlocal written
                    container.mux(stream.encode(_as_yuv(av, frame, size)))
                    written += 1

                yield write
                container.mux(stream.encode(None))
        except av.FFmpegError as error:
            raise FileAccessError(f"cannot write {str(path)!r}: {_words(error)}") from error
        if not written:
            raise InvalidInputError(f"no frames for {str(path)!r}")


# -- reading ----------------------------------------------------------------------------------


def _camera(number: int) -> Frames:
    where, kind = f"/dev/video{number}", "v4l2"
    if sys.platform == "darwin":
        where, kind = str(number), "avfoundation"
    elif not sys.platform.startswith("linux"):
        raise FileAccessError("a camera by its number is known on Linux and macOS only")
    av = need("av", "video")
    try:
        container = av.open(where, format=kind)
    except (av.FFmpegError, ValueError) as error:
        raise FileAccessError(f"there is no camera {number}: {_words(error)}") from error
    return _stream(container, f"camera {number}", endless=True)


def _folder(path: Path) -> Frames:
    files = frame_files(path)

    def frames() -> Iterator[Frame]:
        size: tuple[int, ...] | None = None
        for file in files:
            image = picture.read(file)
            frame = as_rgb(image.values, image.channel_axis)
            size = size or frame.shape
            if frame.shape != size:
                raise InvalidInputError(
                    f"{str(file)!r} is {frame.shape[1]} x {frame.shape[0]} pixels, "
                    f"frames before it {size[1]} x {size[0]}"
                )
            yield frame

    return Frames(f"folder {str(path)!r}", frames(), _FOLDER_FPS, len(files))


def _stream(container: Any, name: str, endless: bool) -> Frames:
    if not container.streams.video:
        container.close()
        raise InvalidInputError(f"{name} has no video in it, or only a part of one")
    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    fps = stream.average_rate or stream.guessed_rate or _FOLDER_FPS
    expected = 0 if endless else stream.frames
    frames = _decoded(container, stream, name, expected)
    return Frames(name, frames, Fraction(fps), expected or None, container.close)


def _decoded(container: Any, stream: Any, name: str, expected: int) -> Iterator[Frame]:
    av, seen = need("av", "video"), 0
    try:
        for frame in container.decode(stream):
            yield _upright(frame)
            seen += 1
    except av.FFmpegError as error:
        raise InvalidInputError(
            f"{name} is damaged after {seen} frames: {_words(error)}"
        ) from error
    # Headers may count a frame or two that are never shown; more than that are missing.
    if seen and seen < expected - max(2, expected // 50):
        raise InvalidInputError(f"{name} is cut off: it has {seen} of {expected} frames")


def _upright(frame: Any) -> Frame:
    """Give a decoded frame as RGB bytes, turned as the file says."""
    source = None
    if frame.colorspace not in (1, 4, 5, 6, 7, 9) and frame.height >= _HIGH_DEFINITION:
        source = _BT709  # where a file does not say, this is what it means
    pixels: Frame = frame.to_ndarray(format="rgb24", src_colorspace=source)
    return np.rot90(pixels, frame.rotation // 90) if frame.rotation % 360 else pixels


# -- writing ----------------------------------------------------------------------------------


def _muxing(target: Path) -> dict[str, str]:
    """Put the index first, so that playing can begin before all is loaded."""
    return {} if target.suffix.lower() == ".mkv" else {"movflags": "faststart"}


def _encoder(av: Any, container: Any, fps: float | Fraction, size: tuple[int, int]) -> Any:
    name = next((name for name in _H264 if name in av.codecs_available), None)
    if name is None:
        raise InvalidInputError("this build of PyAV has no H.264 encoder: pip install av")
    rate = Fraction(fps).limit_denominator(1001)
    if rate <= 0:
        raise InvalidInputError(f"fps must be above 0, got {fps}")
    stream = container.add_stream(name, rate=rate)
    stream.width, stream.height = (side + side % 2 for side in size)
    stream.pix_fmt = "yuv420p"
    if name == "libx264":
        stream.options = {"crf": "18", "preset": "veryfast"}
    context = stream.codec_context
    context.colorspace = context.color_primaries = context.color_trc = _BT709
    return stream


def _as_yuv(av: Any, frame: Frame, size: tuple[int, int]) -> Any:
    if frame.dtype != np.uint8 or frame.shape != (size[1], size[0], 3):
        raise InvalidInputError(
            f"a frame must be bytes of shape {(size[1], size[0], 3)}, "
            f"got {frame.dtype} of shape {frame.shape}"
        )
    even = np.pad(frame, ((0, size[1] % 2), (0, size[0] % 2), (0, 0)), "edge")
    rgb = av.VideoFrame.from_ndarray(np.ascontiguousarray(even), format="rgb24")
    return rgb.reformat(format="yuv420p", dst_colorspace=_BT709)


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
