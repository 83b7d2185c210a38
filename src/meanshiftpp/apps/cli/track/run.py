"""The work of `meanshiftpp track`: follow all windows through a clip, and write the results."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from meanshiftpp._support.text import pluralize
from meanshiftpp.apps.cli.shared.console import duration, print_stderr, progress
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.tracking.windows import COLUMNS, Window, row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from meanshiftpp.tracking.tracker import Tracker
    from meanshiftpp.video.frames import Frames

INTERVALS_SHOWN = 4
_TIME = re.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d*)?)(s?)")


@dataclass(frozen=True)
class Outputs:
    """The files to write; None for those that are not written."""

    video: Path | None
    csv: Path | None
    show_mask: bool


@dataclass
class Track:
    """The result of one object; the fields are keys of the JSON output."""

    window: list[int] = field(default_factory=list)  # in the last frame
    score: float = 1.0
    lost: list[list[int]] = field(default_factory=list)  # intervals: first and last frame

    def add(self, frame: int, ok: bool, window: Window, score: float) -> None:
        """Add the result of the next frame."""
        if not ok:
            if not self.lost or self.lost[-1][1] != frame - 1:
                self.lost.append([frame, frame])
            self.lost[-1][1] = frame
        self.window, self.score = list(window), score


@dataclass
class Summary:
    """The result of a run; the fields are keys of the JSON output."""

    file: str
    size: list[int]
    fps: float
    start: int = 0  # the first frame
    frames: int = 0
    seconds: float = 0.0  # in updates only
    output: str | None = None
    csv: str | None = None
    objects: list[Track] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the object for --json."""
        found: dict[str, Any] = asdict(self)
        return found | {"objects": [{"id": k} | each for k, each in enumerate(found["objects"])]}


class Found(NamedTuple):
    """The result of all objects in a frame."""

    number: int
    frame: NDArray[np.uint8]
    objects: list[tuple[bool, Window, float]]


# -- the first frame ---------------------------------------------------------------------------


def parse_start(text: str) -> tuple[float, bool]:
    """Parse the start: a frame such as `120`, or a time such as `4.5s` or `1:05`.

    Return the number, and whether it is a time in seconds.
    """
    match = _TIME.fullmatch(text.strip())
    if match:
        hours, minutes, rest, unit = match.groups()
        if unit or minutes:
            return 3600 * int(hours or 0) + 60 * int(minutes or 0) + float(rest), True
        if "." not in rest:
            return int(rest), False
    raise typer.BadParameter(
        f"expected a frame such as 120, or a time such as 4.5s or 1:05; got {text!r}",
        param_hint="'--start'",
    )


def frames_from(
    clip: Frames, start: tuple[float, bool], text: str
) -> tuple[int, Iterator[NDArray[np.uint8]]]:
    """Return the number of the first frame, and the frames from there on."""
    value, is_time = start
    nearest = value * float(clip.fps) + 0.5 if is_time else value
    first = math.floor(min(nearest, sys.maxsize))
    frames = islice(iter(clip), first, None)
    frame = next(frames, None)
    if frame is None:
        length = "" if clip.count is None else f", {pluralize(clip.count, 'frame')}"
        raise InvalidInputError.for_parameter(
            "start", f"before the end of the video{length}", text, "use an earlier frame or time"
        )
    return first, chain([frame], frames)


# -- tracking ----------------------------------------------------------------------------------


def run(
    clip: Frames,
    frames: Iterator[NDArray[np.uint8]],
    trackers: list[Tracker],
    windows: list[tuple[float, ...]],
    outputs: Outputs,
    summary: Summary,
    *,
    max_frames: int | None,
    endless: bool,
) -> None:
    """Track the objects and write the outputs; with a camera, until Ctrl-C."""
    from meanshiftpp.video.frames import write_frames

    rest = None if clip.count is None else clip.count - summary.start
    count = max_frames if rest is None else min(rest, max_frames or rest)
    summary.objects = [Track() for _ in trackers]
    with ExitStack() as stack:
        write_rows = stack.enter_context(_table(outputs.csv)) if outputs.csv else None
        write_frame = (
            stack.enter_context(write_frames(outputs.video, clip.fps, clip.size))
            if outputs.video
            else None
        )
        bar = stack.enter_context(progress())
        task = bar.add_task("tracking", total=count)
        try:
            for found in _track(islice(frames, max_frames), trackers, windows, summary):
                if write_rows:
                    write_rows(found)
                if write_frame:
                    write_frame(_drawn(found, trackers, outputs.show_mask))
                bar.advance(task)
        except KeyboardInterrupt:
            if not endless:
                raise
    summary.output = str(outputs.video) if outputs.video else None
    summary.csv = str(outputs.csv) if outputs.csv else None


def _track(
    frames: Iterator[NDArray[np.uint8]],
    trackers: list[Tracker],
    windows: list[tuple[float, ...]],
    summary: Summary,
) -> Iterator[Found]:
    """Yield the results of each frame, and add them to the summary; the first are the windows."""
    from meanshiftpp.tracking.tracker import update_trackers

    for number, frame in enumerate(frames, summary.start):
        if summary.frames:
            begin = perf_counter()
            results = update_trackers(trackers, frame)
            summary.seconds += perf_counter() - begin
        else:
            if (frame == frame[..., :1]).all():
                print_stderr(
                    "warning: the frames are grey, so the tracker can only follow lightness"
                )
            for tracker, window in zip(trackers, windows, strict=True):
                tracker.init(frame, window)
            results = [(True, tracker.window) for tracker in trackers]
        objects = [
            (ok, window, tracker.score)
            for tracker, (ok, window) in zip(trackers, results, strict=True)
        ]
        for track, result in zip(summary.objects, objects, strict=True):
            track.add(number, *result)
        summary.frames += 1
        yield Found(number, frame, objects)


def _drawn(found: Found, trackers: list[Tracker], show_mask: bool) -> NDArray[np.uint8]:
    """Draw the windows of all objects; several have their numbers next to them."""
    from meanshiftpp.tracking import marks

    picture, several = found.frame, len(trackers) > 1
    for k, (ok, window, _) in enumerate(found.objects):
        mask = trackers[k].mask if show_mask else None
        picture = marks.tracked(picture, window, ok, mask, name=str(k) if several else "")
    return picture


@contextmanager
def _table(path: Path) -> Iterator[Callable[[Found], None]]:
    """Open the table of windows; yield a function that writes the rows of a frame."""
    from meanshiftpp._support.files import atomic_path

    with atomic_path(path) as target, target.open("w", encoding="utf-8") as file:
        file.write(f"{COLUMNS}\n")

        def write_rows(found: Found) -> None:
            for k, (ok, window, score) in enumerate(found.objects):
                file.write(f"{row(k, found.number, window, ok, score)}\n")

        yield write_rows


# -- output ------------------------------------------------------------------------------------


def summary_lines(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the rows of the printed table."""
    width, height = summary.size
    first = f", from frame {summary.start:,}" if summary.start else ""
    yield "frames", f"{summary.frames:,} of {width} x {height}{first}"
    for k, track in enumerate(summary.objects):
        name = f" {k}" if len(summary.objects) > 1 else ""
        yield f"lost{name}", _lost_intervals(track)
        window = ",".join(map(str, track.window))
        yield f"last window{name}", f"{window}, score {track.score:.2f}"
    each = summary.seconds / max(summary.frames - 1, 1)
    unit = "update" if len(summary.objects) == 1 else "frame"
    yield "time", f"{duration(each)} per {unit}, {duration(summary.seconds)} in total"
    if summary.output:
        yield "video", summary.output
    if summary.csv:
        yield "windows", summary.csv


def _lost_intervals(track: Track) -> str:
    if not track.lost:
        return "never"
    lost = sum(last - first + 1 for first, last in track.lost)
    intervals = [f"{a} to {b}" if a < b else f"{a}" for a, b in track.lost[:INTERVALS_SHOWN]]
    rest = len(track.lost) - len(intervals)
    more = f" and {rest:,} more times" if rest else ""
    return f"in {pluralize(lost, 'frame')}: {', '.join(intervals)}{more}"
