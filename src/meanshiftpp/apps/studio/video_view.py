"""The video view: a clip, windows on its frames, and the tracks of these windows.

Frames are decoded in order; going back starts again from the first frame. During tracking every
frame is sent to the page with windows, scores and tracked pixels. The page keeps these
results, so its slider can go back and forth; an export tracks the same windows again.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.apps.studio.session import Job, Reply, Request, Source
from meanshiftpp.apps.studio.wire import jpeg, pack, sampling_step
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.tracking import marks
from meanshiftpp.tracking.tracker import Tracker
from meanshiftpp.tracking.windows import COLUMNS, Window, row
from meanshiftpp.video.frames import Frames, open_video, read_frames, write_frames

__all__ = ["VideoView"]

MAX_PIXELS = 64_000_000  # largest frame that is opened
PAGE_PIXELS = 600_000  # size of a frame on the page
MAX_OBJECTS = 8  # windows that are tracked at once
Frame = NDArray[np.uint8]


@dataclass(frozen=True)
class Start:
    """The object to track: its first frame, its window, and the chosen clusters of its colours."""

    frame: int
    window: tuple[float, ...]
    clusters: tuple[int, ...] | None

    @classmethod
    def from_request(cls, request: Request) -> Start:
        """Read a request; `Tracker` checks the window and the clusters."""
        window, clusters = request.get("window"), request.get("clusters")
        if not isinstance(window, list):
            raise InvalidInputError("no window is set: draw one around the object")
        return cls(_frame_number(request), tuple(window), tuple(clusters) if clusters else None)

    @classmethod
    def all_of_request(cls, request: Request) -> list[Start]:
        """Read the objects of a request, or the only one."""
        objects = request.get("objects", [request])
        if not isinstance(objects, list) or not all(isinstance(each, dict) for each in objects):
            raise InvalidInputError("no window is set: draw one around the object")
        if not 1 <= len(objects) <= MAX_OBJECTS:
            raise InvalidInputError(
                f"a video can have 1 to {MAX_OBJECTS} windows, got {len(objects)}"
            )
        return [cls.from_request(each) for each in objects]

    def tracker(self, frame: Frame) -> Tracker:
        """Return a tracker that is initialised on the first frame."""
        tracker = Tracker()
        tracker.init(frame, self.window, None if self.clusters is None else list(self.clusters))
        return tracker


class Found(NamedTuple):
    """The result of an object in a frame; the tracker computes the mask on demand."""

    number: int  # of the object
    tracker: Tracker
    ok: bool
    window: Window
    score: float

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """The tracked pixels, None if the object is lost."""
        return self.tracker.mask if self.ok else None


class Tracked(NamedTuple):
    """A frame and the results of all objects that have started."""

    number: int
    frame: Frame
    objects: list[Found]


class FrameReader:
    """Read frames by number; going back reopens the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._clip: Frames | None = None
        self._number = -1
        self._frame: Frame | None = None

    def read(self, number: int, job: Job) -> Frame:
        """Return a frame; all frames before it are decoded on the way."""
        if self._clip is None or number < self._number:
            self.close()
            self._clip = read_frames(self._source.path)
        start = self._number
        for frame in islice(self._clip, number - start):
            self._number, self._frame = self._number + 1, frame
            if self._number < number:
                job.update((self._number - start) / (number - start))
        if self._number < number or self._frame is None:
            raise InvalidInputError(
                f"frame {number} cannot be read: {self._source.name!r} ends after frame "
                f"{self._number}"
            )
        return self._frame

    def close(self) -> None:
        """Close the file."""
        if self._clip is not None:
            self._clip.close()
        self._clip, self._frame, self._number = None, None, -1


class VideoView:
    """One clip."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._reader: FrameReader
        self._fps, self._size, self._n_frames = Fraction(25), (0, 0), 0

    # -- requests ------------------------------------------------------------------------------

    def open(self, source: Source, job: Job) -> Iterator[Reply]:
        """Open a clip, count its frames and show the first one."""
        job.update(description=f"Reading {source.name}")
        _check_size(source)
        with read_frames(source.path) as clip:
            fps, size = clip.fps, clip.size
            n_frames = _count_frames(clip, job) if clip.count is None else clip.count
        self._fps, self._size, self._n_frames = fps, size, n_frames
        self._source, self._reader = source, FrameReader(source)
        frame = self._reader.read(0, job)
        yield {
            "type": "opened",
            "view": "video",
            "name": source.name,
            "width": size[0],
            "height": size[1],
            "frames": n_frames,
            "fps": float(fps),
        }
        yield _frame_reply(frame, {"frame": 0, "request": 0})

    def show(self, request: Request, job: Job) -> Iterator[Reply]:
        """Show a frame, list the clusters of a window, or track it."""
        mode = request.get("mode", "frame")
        if mode == "clusters":
            yield self._clusters_reply(Start.from_request(request), request, job)
        elif mode == "track":
            yield from self._play(Start.all_of_request(request), request, job)
        else:
            self._open_source()
            number = _frame_number(request)
            job.update(description=f"Reading frame {number}")
            frame = self._reader.read(number, job)
            yield _frame_reply(frame, {"frame": number, "request": request.get("id")})

    def export(self, request: Request, job: Job) -> tuple[str, bytes]:
        """Track the windows again, and return a video or a table of windows."""
        kind, source = request.get("kind"), self._open_source()
        stem = source.stem("clip")
        if kind == "csv":
            starts = Start.all_of_request(request)
            lines = _table_lines(self._track(starts, job))
            return f"{stem}-windows.csv", "\n".join([*lines, ""]).encode()
        if kind != "mp4":
            raise InvalidInputError(f"a video cannot be exported as {kind!r}: choose mp4 or csv")

        def write(path: Path) -> None:
            with write_frames(path, self._fps, self._size) as write_frame:
                starts = Start.all_of_request(request)
                for each in self._track(starts, job):
                    drawn = each.frame
                    for found in each.objects:
                        mask = found.mask if request.get("mask") else None
                        name = str(found.number) if len(starts) > 1 else ""
                        drawn = marks.tracked(drawn, found.window, found.ok, mask, name=name)
                    write_frame(drawn)

        return source.export(f"{stem}-tracked.mp4", write)

    # -- internals -----------------------------------------------------------------------------

    def _open_source(self) -> Source:
        if self._source is None:
            raise InvalidInputError("no video is open: drop a file on the page or choose a sample")
        return self._source

    def _clusters_reply(self, start: Start, request: Request, job: Job) -> Reply:
        self._open_source()
        frame = self._reader.read(start.frame, job)
        clusters = Tracker().clusters(frame, start.window)
        ids = np.zeros(frame.shape[:2], np.uint8)
        for number, cluster in enumerate(clusters[:255], 1):
            ids[cluster.mask] = number
        fields = {
            "type": "colours",
            "view": "video",
            "request": request.get("id"),
            "frame": start.frame,
            "clusters": [{"color": each.color, "share": each.share} for each in clusters],
        }
        return pack(fields, {"ids": _page_size(ids)})

    def _track(self, starts: list[Start], job: Job) -> Iterator[Tracked]:
        """Track all windows from the first frame of each to the end of the clip."""
        source, trackers = self._open_source(), dict[int, Tracker]()
        first = min(start.frame for start in starts)
        job.update(0.0, "Tracking")
        with read_frames(source.path) as clip:
            for number, frame in enumerate(clip):
                job.update(number / max(self._n_frames, 1))
                if number < first:
                    continue
                found = []
                for k, start in enumerate(starts):
                    if number == start.frame:
                        trackers[k] = start.tracker(frame)
                        ok, window = True, trackers[k].window
                    elif number > start.frame:
                        ok, window = trackers[k].update(frame)
                    else:
                        continue
                    found.append(Found(k, trackers[k], ok, window, trackers[k].score))
                yield Tracked(number, frame, found)

    def _play(self, starts: list[Start], request: Request, job: Job) -> Iterator[Reply]:
        """Send every tracked frame, at most at the frame rate of the clip."""
        begin, first = perf_counter(), min(start.frame for start in starts)
        code = _code(self._open_source(), starts)
        for each in self._track(starts, job):
            fields: dict[str, Any] = {
                "frame": each.number,
                "request": request.get("id"),
                "objects": [
                    {"number": k, "ok": ok, "window": window, "score": round(score, 4)}
                    for k, _, ok, window, score in each.objects
                ],
            }
            if each.number == first:
                fields["code"] = code
            due = (each.number - first) / float(self._fps)
            sleep(max(0.0, due - (perf_counter() - begin)))
            masks = {f"mask{found.number}": found.mask for found in each.objects}
            yield _frame_reply(each.frame, fields, masks)
        yield {"type": "end", "view": "video", "request": request.get("id")}


def _table_lines(frames: Iterable[Tracked]) -> Iterator[str]:
    """Iterate over the lines of a table of windows."""
    yield COLUMNS
    for each in frames:
        for k, _, ok, window, score in each.objects:
            yield row(k, each.number, window, ok, score)


def _frame_number(request: Request) -> int:
    number = request.get("frame", 0)
    if not isinstance(number, int) or number < 0:
        raise InvalidInputError.for_parameter("frame", "a whole number from 0", number)
    return number


def _frame_reply(
    frame: Frame, fields: dict[str, Any], masks: dict[str, NDArray[np.bool_] | None] | None = None
) -> bytes:
    photo = _page_size(frame)
    arrays = {"photo": jpeg(photo, quality=88)}
    for name, mask in (masks or {}).items():
        if mask is not None:
            arrays[name] = np.packbits(_page_size(mask))
    size = {"width": photo.shape[1], "height": photo.shape[0]}
    return pack({"type": "frame", "view": "video", **size, **fields}, arrays)


def _page_size(values: NDArray[Any]) -> NDArray[Any]:
    """Return every k-th pixel of every k-th line, about `PAGE_PIXELS` in total."""
    step = sampling_step(values.shape[0] * values.shape[1], PAGE_PIXELS)
    return values[::step, ::step]


def _count_frames(clip: Frames, job: Job) -> int:
    number = 0
    for number, _ in enumerate(clip, 1):
        job.update(description=f"Counting frames: {number}")
    return number


def _check_size(source: Source) -> None:
    """Check the frame size in the header, before the first frame is decoded."""
    av = need("av", "video")
    try:
        with open_video(source.path) as container:
            decoders = [stream.codec_context for stream in container.streams.video]
            sizes = [each.width * each.height for each in decoders if each is not None]
    except (av.FFmpegError, ValueError):  # `read_frames` reports the problem
        return
    if None in decoders:
        raise InvalidInputError(
            f"{source.name!r} is damaged, or there is no decoder for its video format"
        )
    if any(size > MAX_PIXELS for size in sizes):
        raise InvalidInputError(
            f"the frames of {source.name!r} have more than {MAX_PIXELS // 10**6} megapixels, "
            "the studio's limit: open a smaller version of the video"
        )


def _code(source: Source, starts: list[Start]) -> dict[str, str]:
    """Return Python code, and a command line if one exists, that find the same windows."""
    if len(starts) > 1:
        return {"python": _code_of_several(source, starts), "cli": _command(source, starts)}
    (start,) = starts
    window = ", ".join(str(round(value)) for value in start.window)
    clusters = "" if start.clusters is None else f", clusters={list(start.clusters)!r}"
    frames = "iter(clip)" if start.frame == 0 else f"islice(clip, {start.frame}, None)"
    python = (
        ("" if start.frame == 0 else "from itertools import islice\n\n")
        + "from meanshiftpp import Tracker\n"
        "from meanshiftpp.video import read_frames\n\n"
        "tracker = Tracker()\n"
        f"with read_frames({source.name!r}) as clip:\n"
        f"    frames = {frames}\n"
        f"    tracker.init(next(frames), ({window}){clusters})\n"
        "    results = [tracker.update(frame) for frame in frames]"
    )
    return {"python": python, "cli": _command(source, starts)}


def _command(source: Source, starts: list[Start]) -> str:
    """Return the command line that finds the same windows; empty if there is none."""
    first = starts[0].frame
    if any(start.frame != first or start.clusters is not None for start in starts):
        return ""
    command = ["meanshiftpp", "track", source.name]
    for start in starts:
        command += ["--window", ",".join(str(round(value)) for value in start.window)]
    if first:
        command += ["--start", str(first)]
    return shlex.join([*command, "-o", "tracked.mp4", "--csv", "windows.csv"])


def _code_of_several(source: Source, starts: list[Start]) -> str:
    entries = "".join(
        f"    ({start.frame}, {tuple(round(value) for value in start.window)}, "
        f"{None if start.clusters is None else list(start.clusters)}),\n"
        for start in starts
    )
    return (
        "from meanshiftpp import Tracker\n"
        "from meanshiftpp.video import read_frames\n\n"
        f"starts = [  # frame, window, clusters\n{entries}]\n"
        "trackers = [Tracker() for _ in starts]\n"
        "results = [[] for _ in starts]\n"
        f"with read_frames({source.name!r}) as clip:\n"
        "    for number, frame in enumerate(clip):\n"
        "        for (first, window, clusters), tracker, found in zip(starts, trackers, results):\n"
        "            if number == first:\n"
        "                tracker.init(frame, window, clusters)\n"
        "            elif number > first:\n"
        "                found.append(tracker.update(frame))"
    )
