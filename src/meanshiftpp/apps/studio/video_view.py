"""The video view: a clip, a window on one of its frames, and where the window goes.

Frames are decoded in order; going back begins anew. While a clip is followed every frame goes to
the page with its window, its score and the pixels followed. The results stay, so that the page
can go back and forth in them, and so that both exports are of what was seen.
"""

from __future__ import annotations

import io
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from time import perf_counter, sleep
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp.apps.studio.session import Answer, Job, Source, Wish
from meanshiftpp.apps.studio.wire import pack
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.tracking import marks
from meanshiftpp.tracking.tracker import Tracker
from meanshiftpp.tracking.windows import COLUMNS, Window, row
from meanshiftpp.video.frames import Frames, read_frames, write_frames

__all__ = ["VideoView"]

LARGEST = 64_000_000  # pixels a frame may have
SHOWN = 600_000  # pixels of a frame that go to the page
Frame = NDArray[np.uint8]


@dataclass(frozen=True)
class Start:
    """What to follow, and from where on."""

    frame: int
    window: tuple[float, ...]
    clusters: tuple[int, ...] | None

    @classmethod
    def of(cls, wish: Wish) -> Start:
        """Read a wish; `Tracker` checks the window and the clusters."""
        frame, window, chosen = wish.get("frame", 0), wish.get("window"), wish.get("clusters")
        if not isinstance(frame, int) or frame < 0:
            raise InvalidInputError(f"there is no frame {frame!r}")
        if not isinstance(window, list):
            raise InvalidInputError("no window yet: draw one around the object")
        return cls(frame, tuple(window), tuple(chosen) if chosen else None)

    def tracker(self, frame: Frame) -> Tracker:
        """Begin."""
        tracker = Tracker()
        tracker.init(frame, self.window, None if self.clusters is None else list(self.clusters))
        return tracker


@dataclass
class Reel:
    """Frames by number, as long as numbers mostly rise."""

    source: Source
    at: int = -1
    last: Frame | None = None
    clip: Frames | None = field(default=None)

    def frame(self, number: int, job: Job) -> Frame:
        """Give a frame; what lies before it is decoded on the way."""
        if self.clip is None or number < self.at:
            self.close()
            self.clip, self.at = read_frames(self.source.path), -1
        if number == self.at and self.last is not None:
            return self.last
        start = self.at
        for frame in islice(self.clip, number - self.at):
            self.at, self.last = self.at + 1, frame
            if job.stopped and self.at < number:
                job.step((self.at - start) / (number - start))
        if self.at < number or self.last is None:
            raise InvalidInputError(f"{self.source.name!r} has {self.at + 1} frames, no more")
        return self.last

    def close(self) -> None:
        """Give the file back."""
        if self.clip is not None:
            self.clip.close()
        self.clip, self.last, self.at = None, None, -1


class VideoView:
    """One clip."""

    def __init__(self) -> None:
        self._source: Source | None = None
        self._reel: Reel
        self._fps, self._count = Fraction(25), 0

    # -- wishes --------------------------------------------------------------------------------

    def open(self, source: Source, job: Job) -> Iterator[Answer]:
        """Open a clip, count its frames, and show the first."""
        job.step(words=f"reading {source.name}")
        _refuse_huge(source)
        with read_frames(source.path) as clip:
            self._fps, size, known = clip.fps, clip.size, clip.count
            if known is None:
                known = _counted(clip, job)
        self._source, self._count = source, known
        self._reel = Reel(source)
        frame = self._reel.frame(0, job)
        words = {
            "type": "opened",
            "view": "video",
            "name": source.name,
            "width": size[0],
            "height": size[1],
            "count": known,
            "fps": float(self._fps),
        }
        yield words
        yield self._picture(frame, {"frame": 0, "wish": 0})

    def show(self, wish: Wish, job: Job) -> Iterator[Answer]:
        """Show a frame, list the clusters of a window, or follow it."""
        what = wish.get("what", "frame")
        if what == "clusters":
            yield self._clusters(Start.of(wish), job)
        elif what == "follow":
            yield from self._follow(Start.of(wish), wish, job)
        else:
            number = int(wish.get("frame", 0))
            job.step(words=f"going to frame {number}")
            frame = self._reel_of().frame(number, job)
            yield self._picture(frame, {"frame": number, "wish": wish.get("n")})

    def export(self, wish: Wish, job: Job) -> tuple[str, bytes]:
        """Follow the window again, and write a video or a table."""
        kind, source = wish.get("kind"), self._named()
        stem = source.name.rpartition(".")[0] or "clip"
        if kind == "csv":
            rows = [
                row(number, window, ok, score)
                for number, _, _, ok, window, score in self._followed(Start.of(wish), job)
            ]
            return f"{stem}-windows.csv", "\n".join([COLUMNS, *rows, ""]).encode()
        if kind != "mp4":
            raise InvalidInputError(f"there is no export {kind!r} of a video")
        path = source.export(".mp4")
        try:
            with read_frames(source.path) as clip:
                size = clip.size
            with write_frames(path, self._fps, size) as put:
                for _, frame, tracker, ok, window, _ in self._followed(Start.of(wish), job):
                    mask = tracker.mask if wish.get("mask") else None
                    put(marks.tracked(frame, window, ok, mask))
            return f"{stem}-tracked.mp4", path.read_bytes()
        finally:
            path.unlink(missing_ok=True)

    # -- within --------------------------------------------------------------------------------

    def _named(self) -> Source:
        if self._source is None:
            raise InvalidInputError("no video is open yet: drop one, or take a sample")
        return self._source

    def _reel_of(self) -> Reel:
        self._named()
        return self._reel

    def _clusters(self, start: Start, job: Job) -> Answer:
        frame = self._reel_of().frame(start.frame, job)
        found = Tracker().clusters(frame, start.window)
        which = np.zeros(frame.shape[:2], np.uint8)
        for number, cluster in enumerate(found[:255], 1):
            which[cluster.mask] = number
        words = {
            "type": "colours",
            "view": "video",
            "frame": start.frame,
            "clusters": [{"color": each.color, "share": each.share} for each in found],
        }
        return pack(words, {"which": _thinned(which)})

    def _followed(
        self, start: Start, job: Job
    ) -> Iterator[tuple[int, Frame, Tracker, bool, Window, float]]:
        """Go through a clip of its own; give number, frame, tracker and what it found."""
        source, tracker = self._named(), None
        job.step(0.0, "following")
        with read_frames(source.path) as clip:
            for number, frame in enumerate(clip):
                job.step(number / max(self._count, 1))
                if number < start.frame:
                    continue
                if tracker is None:
                    tracker = start.tracker(frame)
                    ok, window = True, tracker.window
                else:
                    ok, window = tracker.update(frame)
                yield number, frame, tracker, ok, window, tracker.score

    def _follow(self, start: Start, wish: Wish, job: Job) -> Iterator[Answer]:
        """Send frame after frame, no faster than the clip's speed."""
        begin, first = perf_counter(), start.frame
        lines = _lines(self._named(), start)
        for number, frame, tracker, ok, window, score in self._followed(start, job):
            words = {"frame": number, "wish": wish.get("n"), "ok": ok, "window": window}
            words["score"] = round(score, 4)
            if number == first:
                words["lines"] = lines
            ahead = (number - first) / float(self._fps) - (perf_counter() - begin)
            if ahead > 0:
                sleep(ahead)
            yield self._picture(frame, words, tracker.mask if ok else None)
        yield {"type": "end", "view": "video", "wish": wish.get("n")}

    def _picture(
        self, frame: Frame, words: dict[str, Any], mask: NDArray[np.bool_] | None = None
    ) -> bytes:
        thin = _thinned(frame)
        file = io.BytesIO()
        image = need("PIL.Image", "image").fromarray(np.ascontiguousarray(thin))
        image.save(file, "JPEG", quality=88)
        arrays = {"photo": np.frombuffer(file.getvalue(), np.uint8)}
        if mask is not None:
            arrays["mask"] = np.packbits(_thinned(mask))
        size = {"width": thin.shape[1], "height": thin.shape[0]}
        return pack({"type": "frame", "view": "video", **size, **words}, arrays)


def _thinned(values: NDArray[Any]) -> NDArray[Any]:
    """Take every k-th pixel, so that few enough are left for the page."""
    step = math.ceil(math.sqrt(values.shape[0] * values.shape[1] / SHOWN))
    return values[::step, ::step]


def _counted(clip: Frames, job: Job) -> int:
    number = 0
    for number, _ in enumerate(clip, 1):
        job.step(words=f"counting frames: {number}")
    return number


def _refuse_huge(source: Source) -> None:
    """Look at the size in the header, before the first frame is decoded."""
    av = need("av", "video")
    try:
        with av.open(str(source.path)) as container:
            decoders = [stream.codec_context for stream in container.streams.video]
            sizes = [each.width * each.height for each in decoders if each is not None]
    except (av.FFmpegError, ValueError):  # `read_frames` says what is wrong
        return
    if None in decoders:
        raise InvalidInputError(f"{source.name!r} is damaged, or its video cannot be decoded here")
    if any(size > LARGEST for size in sizes):
        raise InvalidInputError(
            f"{source.name!r} is refused: its frames have more than {LARGEST // 10**6} megapixels"
        )


def _lines(source: Source, start: Start) -> dict[str, str]:
    """Write down what finds the same windows in Python and on the command line."""
    whole = ", ".join(str(round(side)) for side in start.window)
    chosen = "" if start.clusters is None else f", clusters={list(start.clusters)!r}"
    begin = "iter(clip)" if start.frame == 0 else f"islice(clip, {start.frame}, None)"
    python = (
        ("" if start.frame == 0 else "from itertools import islice\n\n")
        + "from meanshiftpp import Tracker\n"
        "from meanshiftpp.video.frames import read_frames\n\n"
        "tracker = Tracker()\n"
        f"with read_frames({source.name!r}) as clip:\n"
        f"    frames = {begin}\n"
        f"    tracker.init(next(frames), ({whole}){chosen})\n"
        "    found = [tracker.update(frame) for frame in frames]"
    )
    cli = ""
    if start.frame == 0 and start.clusters is None:
        words = ["meanshiftpp", "track", source.name, "--window", whole.replace(" ", "")]
        cli = " ".join(map(shlex.quote, [*words, "-o", "tracked.mp4", "--csv", "windows.csv"]))
    return {"python": python, "cli": cli}
