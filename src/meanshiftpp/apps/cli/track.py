"""`meanshiftpp track`: a window in the first frame of a video in, where it went out.

The tracker looks at one frame after the other; the video, the table of boxes and the summary are
written as it goes, and the files take their names at the end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from meanshiftpp.apps.cli.console import (
    duration,
    pluralize,
    print_stderr,
    print_table,
    progress,
    report_errors,
)
from meanshiftpp.apps.cli.options import AsJson, parse_bandwidth
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.tracking.windows import COLUMNS, Window, row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from meanshiftpp.tracking.tracker import Tracker
    from meanshiftpp.video.frames import Frames

STRETCHES_SHOWN = 4


class Adapt(StrEnum):
    """How the model follows the object, as the command line spells it."""

    robust = "robust"
    paper = "paper"
    none = "none"


@dataclass(frozen=True)
class Files:
    """Where results go; None where one is not wanted."""

    video: Path | None
    csv: Path | None
    show_mask: bool


@dataclass
class Summary:
    """What a run found, for people and for machines."""

    file: str
    size: list[int]
    fps: float
    frames: int = 0
    window: list[int] = field(default_factory=list)  # the last one
    score: float = 1.0
    lost: list[list[int]] = field(default_factory=list)  # stretches: first and last frame
    seconds: float = 0.0  # of updates alone
    output: str | None = None
    csv: str | None = None

    def add(self, ok: bool, window: Window, score: float) -> None:
        """Note what was found in the next frame."""
        if not ok:
            if not self.lost or self.lost[-1][1] != self.frames - 1:
                self.lost.append([self.frames, self.frames])
            self.lost[-1][1] = self.frames
        self.frames += 1
        self.window, self.score = list(window), score


def track(
    video: Annotated[
        str,
        typer.Argument(metavar="VIDEO", help="A video, a folder of frames, or a camera's number."),
    ],
    window: Annotated[
        str | None,
        typer.Option(
            "--window", "-w", metavar="X,Y,W,H", help="Where the object is in the first frame."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="The video with the window drawn."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="CSV", help=f"A table of the windows: {COLUMNS}.")
    ] = None,
    show_mask: Annotated[
        bool, typer.Option("--show-mask", help="Tint the pixels that are followed.")
    ] = False,
    first_frame: Annotated[
        Path | None,
        typer.Option(
            metavar="PNG", help="Write the first frame with rulers, to read a window off, and stop."
        ),
    ] = None,
    bandwidth: Annotated[
        str | None,
        typer.Option(
            "--bandwidth", "-b", metavar="H[,H,H]", help="Side of a colour cell, or one a channel."
        ),
    ] = None,
    adapt: Annotated[
        Adapt, typer.Option(help="How colours are learnt: robust; as in the paper; none.")
    ] = Adapt.robust,
    scale: Annotated[
        bool, typer.Option("--scale/--no-scale", help="Whether the window changes its size.")
    ] = True,
    frames: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Stop after so many frames.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Follow an object through a video.

    Draws the window into OUT: a line around the object, dashed and marked where it is lost.

    From a camera it goes on until Ctrl-C.
    """
    start = None if window is None else _window(window)
    sides = None if bandwidth is None else parse_bandwidth(bandwidth, n_features=3)
    with report_errors():
        from meanshiftpp.video.frames import read_frames

        source = _source(video)
        files = _checked(Files(output, csv, show_mask), first_frame, video)
        with read_frames(source) as clip:
            if first_frame is not None:
                _write_first(clip, first_frame)
                return
            if start is None:
                _ask_for_window(video, clip)
            if not (output or csv or as_json):
                raise typer.BadParameter("nothing to write: give -o OUT.mp4, --csv CSV or --json")
            options = {"adapt": None if adapt is Adapt.none else str(adapt), "scale": scale}
            tracker = _tracker(sides, options)
            summary = _run(clip, tracker, start, files, video, frames, isinstance(source, int))
    if as_json:
        typer.echo(json.dumps(asdict(summary)))
    else:
        print_table(summary.file, _lines(summary))


# -- what is asked for ----------------------------------------------------------------------------


def _window(text: str) -> tuple[float, ...]:
    """Read `130,90,48,54`; the tracker rounds to pixels."""
    try:
        values = tuple(map(float, text.split(",")))
    except ValueError:
        values = ()
    if len(values) != 4 or not all(map(math.isfinite, values)):
        raise typer.BadParameter(
            f"expected four numbers, x,y,width,height, as 130,90,48,54; got {text!r}",
            param_hint="'--window'",
        )
    return values


def _source(video: str) -> str | int:
    """Take digits for a camera, unless there is a file of that name."""
    return int(video) if video.isdecimal() and not Path(video).exists() else video


def _checked(files: Files, first_frame: Path | None, video: str) -> Files:
    """Find out before the work whether its results can be written."""
    from meanshiftpp._support.files import check_no_overwrite, check_writable, known_suffix
    from meanshiftpp.images.picture import PICTURE_FORMATS
    from meanshiftpp.video.frames import VIDEO_FORMATS, frame_files

    suffixes = {files.video: VIDEO_FORMATS, files.csv: (".csv",), first_frame: PICTURE_FORMATS}
    written = {path: formats for path, formats in suffixes.items() if path is not None}
    for path, formats in written.items():
        known_suffix(path, formats)
    check_no_overwrite(list(written), frame_files(video))
    if first_frame is not None and first_frame.resolve().parent == Path(video).resolve():
        raise InvalidInputError(f"{str(first_frame)!r} would be one of its frames: name another")
    for path in written:
        check_writable(path)
    return files


def _ask_for_window(video: str, clip: Frames) -> NoReturn:
    width, height = clip.size
    x, y, w, h = width // 3, height // 3, width // 6, height // 6
    print_stderr(
        f"error: where is the object in the first frame of {video}, {width} x {height} pixels?\n"
        f"  Give its left and top edge, width and height: --window {x},{y},{w},{h}\n"
        "  To read them off, write the first frame with rulers: "
        f"meanshiftpp track {video} --first-frame first.png"
    )
    raise typer.Exit(2)


def _tracker(sides: list[float] | None, options: dict[str, Any]) -> Tracker:
    from meanshiftpp.tracking.tracker import Tracker

    bandwidth: Any = sides[0] if sides and len(sides) == 1 else sides
    return Tracker(bandwidth, **options)


def _write_first(clip: Frames, path: Path) -> None:
    from meanshiftpp.images import picture
    from meanshiftpp.tracking import marks

    picture.write(path, marks.ruled(next(iter(clip))))
    print_stderr(f"wrote {path}: give the window as --window left,top,width,height")


# -- the work -------------------------------------------------------------------------------------


def _run(
    clip: Frames,
    tracker: Tracker,
    start: tuple[float, ...],
    files: Files,
    name: str,
    most: int | None,
    endless: bool,
) -> Summary:
    """Track, and write what was asked for; from a camera, until Ctrl-C."""
    from meanshiftpp.tracking import marks
    from meanshiftpp.video.frames import write_frames

    summary = Summary(name, list(clip.size), float(clip.fps))
    count = most if clip.count is None else min(clip.count, most or clip.count)
    with ExitStack() as stack:
        note = stack.enter_context(_table(files.csv)) if files.csv else None
        write = (
            stack.enter_context(write_frames(files.video, clip.fps, clip.size))
            if files.video
            else None
        )
        bar = stack.enter_context(progress())
        task = bar.add_task("tracking", total=count)
        try:
            for ok, window, frame in _tracked(islice(clip, most), tracker, start, summary):
                if note:
                    note(summary.frames - 1, window, ok, summary.score)
                if write:
                    mask = tracker.mask if files.show_mask else None
                    write(marks.tracked(frame, window, ok, mask))
                bar.advance(task)
        except KeyboardInterrupt:
            if not endless:
                raise
    summary.output = str(files.video) if files.video else None
    summary.csv = str(files.csv) if files.csv else None
    return summary


def _tracked(
    frames: Iterator[NDArray[np.uint8]],
    tracker: Tracker,
    start: tuple[float, ...],
    summary: Summary,
) -> Iterator[tuple[bool, Window, NDArray[np.uint8]]]:
    """Give what is found in each frame; in the first, that is what was given."""
    for frame in frames:
        if summary.frames:
            begin = perf_counter()
            ok, window = tracker.update(frame)
            summary.seconds += perf_counter() - begin
        else:
            if (frame == frame[..., :1]).all():
                print_stderr(
                    "warning: the frames are grey: there is only lightness to follow, no colour"
                )
            tracker.init(frame, start)
            ok, window = True, tracker.window
        summary.add(ok, window, tracker.score)
        yield ok, window, frame


@contextmanager
def _table(path: Path) -> Iterator[Callable[[int, Window, bool, float], None]]:
    """Write a line a frame."""
    from meanshiftpp._support.files import atomic_path

    with atomic_path(path) as target, target.open("w", encoding="utf-8") as file:
        file.write(f"{COLUMNS}\n")

        def note(frame: int, window: Window, ok: bool, score: float) -> None:
            file.write(f"{row(frame, window, ok, score)}\n")

        yield note


# -- what is said ---------------------------------------------------------------------------------


def _lines(summary: Summary) -> Iterator[tuple[str, str]]:
    width, height = summary.size
    yield "frames", f"{summary.frames:,} of {width} x {height}"
    yield "lost", _stretches(summary)
    yield "last window", f"{','.join(map(str, summary.window))}, score {summary.score:.2f}"
    each = summary.seconds / max(summary.frames - 1, 1)
    yield "time", f"{duration(each)} an update, {duration(summary.seconds)} in all"
    if summary.output:
        yield "video", summary.output
    if summary.csv:
        yield "windows", summary.csv


def _stretches(summary: Summary) -> str:
    if not summary.lost:
        return "never"
    lost = sum(last - first + 1 for first, last in summary.lost)
    shown = [f"{a} to {b}" if a < b else f"{a}" for a, b in summary.lost[:STRETCHES_SHOWN]]
    rest = len(summary.lost) - len(shown)
    more = f" and {rest:,} more times" if rest else ""
    return f"in {pluralize(lost, 'frame')}: {', '.join(shown)}{more}"
