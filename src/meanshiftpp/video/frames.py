"""Read frames from videos, folders of pictures and cameras, and write videos.

PyAV, which includes FFmpeg, decodes videos and writes H.264 that every player supports. A frame is
an array of RGB bytes, turned upright.
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

from meanshiftpp._support.checks import as_positive
from meanshiftpp._support.extras import need
from meanshiftpp._support.files import atomic_path, check_readable, is_folder, known_suffix
from meanshiftpp.errors import FileAccessError, InvalidInputError
from meanshiftpp.images import picture
from meanshiftpp.images.draw import as_rgb

__all__ = ["VIDEO_FORMATS", "Frames", "frame_files", "is_video", "read_frames", "write_frames"]

Frame = NDArray[np.uint8]  # (height, width, 3)

VIDEO_FORMATS = (".mp4", ".m4v", ".mov", ".mkv")  # for reading and writing; the others are read
_INPUTS = (".avi", ".webm", ".mpg", ".mpeg", ".wmv", ".flv", ".ogv", ".3gp", ".ts", ".mts", ".m2ts")
_CONTAINERS = "mov,matroska,avi,mpeg,mpegvideo,mpegts,asf,flv,ogg,m4v,h264,hevc,mjpeg"
_DEFAULT_FPS = Fraction(25)
_BT601 = 5
_BT709, _BT709_MIN_HEIGHT = 1, 720  # the usual colour matrix of videos with at least 720 lines
_H264_ENCODERS = ("libx264", "libopenh264", "h264")


class Frames:
    """Frames that can be iterated over once, as returned by `read_frames`.

    Attributes
    ----------
    fps : Fraction
        Frames per second.
    size : tuple of int
        Width and height.
    count : int or None
        The number of frames, if it is known before reading them.

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
                raise InvalidInputError("has no frames", place=name)
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
        """Close the file or the camera."""
        self._close()


def read_frames(source: str | os.PathLike[str] | int) -> Frames:
    """Open a video, a folder of pictures or a camera.

    Parameters
    ----------
    source : path or int
        A video file; a folder, whose pictures are read in the order of their names; or the number
        of a camera.

    Returns
    -------
    Frames
        An iterable for a single pass, and a context manager that closes the source.

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
    if is_folder(path):
        return _folder(path)
    check_readable(path)
    av = need("av", "video")
    try:
        container = open_video(path)
    except (av.FFmpegError, ValueError) as error:
        problem = "is empty" if path.stat().st_size == 0 else "is not a video, or is damaged"
        raise InvalidInputError.for_file(path, f"{problem}: {_reason(error)}") from error
    return _stream(container, repr(str(path)), endless=False)


def open_video(path: Path) -> Any:
    """Open the container of a video; a playlist that refers to other files is not a video."""
    options = {"format_whitelist": _CONTAINERS, "protocol_whitelist": "file"}
    return need("av", "video").open(str(path), container_options=options)


def frame_files(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files that frames are read from: the pictures of a folder, or the video."""
    source = Path(path)
    if not is_folder(source):
        return [source]
    return sorted(p for p in source.iterdir() if p.suffix.lower() in picture.PICTURE_FORMATS)


def is_video(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a video, by its suffix."""
    return Path(path).suffix.lower() in (*VIDEO_FORMATS, *_INPUTS)


@contextmanager
def write_frames(
    path: str | os.PathLike[str], fps: float | Fraction, size: tuple[int, int]
) -> Iterator[Callable[[Frame], None]]:
    """Write a video frame by frame, as H.264 in 4:2:0, which every player supports.

    Parameters
    ----------
    path : path
        A .mp4, .m4v, .mov or .mkv file. It gets this name after all frames are written.
    fps : float or Fraction
        Frames per second.
    size : tuple of int
        Width and height of the frames. H.264 needs even numbers: with an odd one, the last row or
        column is repeated.

    Yields
    ------
    write : callable
        Writes one frame, RGB bytes of shape (height, width, 3).

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
            raise FileAccessError.for_file(path, "write", _reason(error)) from error
        if not written:
            raise InvalidInputError(
                f"a video must have at least one frame, got no frames for {str(path)!r}"
            )


# -- reading -----------------------------------------------------------------------------------


def _camera(number: int) -> Frames:
    device, driver = f"/dev/video{number}", "v4l2"
    if sys.platform == "darwin":
        device, driver = str(number), "avfoundation"
    elif not sys.platform.startswith("linux"):
        raise FileAccessError(
            f"cameras can be opened by number on Linux and macOS only, got {number}; "
            "pass a video file"
        )
    av = need("av", "video")
    try:
        container = av.open(device, format=driver)
    except (av.FFmpegError, ValueError) as error:
        raise FileAccessError(f"cannot open camera {number}: {_reason(error)}") from error
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
                raise InvalidInputError.for_file(
                    file,
                    f"must have {size[1]} x {size[0]} pixels like the frames before it, "
                    f"got {frame.shape[1]} x {frame.shape[0]}",
                )
            yield frame

    return Frames(f"folder {str(path)!r}", frames(), _DEFAULT_FPS, len(files))


def _stream(container: Any, name: str, endless: bool) -> Frames:
    if not container.streams.video:
        container.close()
        raise InvalidInputError("has no video stream, or is cut off", place=name)
    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    fps = stream.average_rate or stream.guessed_rate or _DEFAULT_FPS
    expected = 0 if endless else stream.frames
    frames = _decoded(container, stream, name, expected)
    return Frames(name, frames, Fraction(fps), expected or None, container.close)


def _decoded(container: Any, stream: Any, name: str, expected: int) -> Iterator[Frame]:
    av, n_read = need("av", "video"), 0
    try:
        for frame in container.decode(stream):
            yield _upright(frame)
            n_read += 1
    except av.FFmpegError as error:
        raise InvalidInputError(
            f"is damaged after {n_read} frames: {_reason(error)}", place=name
        ) from error
    # Headers of whole files may count a frame or two that players never show.
    if n_read and n_read < expected - max(2, expected // 50):
        raise InvalidInputError(f"is cut off: it has {n_read} of {expected} frames", place=name)


def _upright(frame: Any) -> Frame:
    """Convert a decoded frame to RGB bytes, rotated by the file's metadata."""
    source = None
    if frame.colorspace not in (1, 4, 5, 6, 7, 9) and frame.height >= _BT709_MIN_HEIGHT:
        source = _BT709  # the convention for files that do not name their matrix
    # RGB has no matrix, but PyAV before 17 ignores that of the source if both have the same number.
    unused = _BT601 if _BT709 in (source, frame.colorspace) else _BT709
    pixels: Frame = frame.to_ndarray(format="rgb24", src_colorspace=source, dst_colorspace=unused)
    return np.rot90(pixels, frame.rotation // 90) if frame.rotation % 360 else pixels


# -- writing -----------------------------------------------------------------------------------


def _muxing(target: Path) -> dict[str, str]:
    """Return options that put the index first, so that playback can start while loading."""
    return {} if target.suffix.lower() == ".mkv" else {"movflags": "faststart"}


def _encoder(av: Any, container: Any, fps: float | Fraction, size: tuple[int, int]) -> Any:
    name = next((name for name in _H264_ENCODERS if name in av.codecs_available), None)
    if name is None:
        raise InvalidInputError(
            "writing a video needs an H.264 encoder, and this build of PyAV has none; "
            "install the wheel: pip install av"
        )
    if not isinstance(fps, Fraction):
        fps = as_positive(fps, "fps")
    rate = Fraction(fps).limit_denominator(1001)
    if rate <= 0:
        raise InvalidInputError.for_parameter("fps", "a positive number", fps)
    stream = container.add_stream(name, rate=rate)
    stream.width, stream.height = (length + length % 2 for length in size)
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


def _reason(error: Exception) -> str:
    """Return the reason of an FFmpeg error without its number and path; other errors in full."""
    return getattr(error, "strerror", None) or str(error)
