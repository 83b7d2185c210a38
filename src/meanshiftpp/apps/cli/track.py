"""The command `meanshiftpp track`: follow a window through a video, from the first frame on.

The video and the table of windows are written frame by frame, and get their names at the end.
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

from meanshiftpp._support.text import pluralize
from meanshiftpp.apps.cli.console import (
    duration,
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

INTERVALS_SHOWN = 4


class Adapt(StrEnum):
    """How the tracker learns, as the command line spells it."""

    robust = "robust"
    paper = "paper"
    none = "none"


@dataclass(frozen=True)
class Outputs:
    """The files to write; None for those that are not written."""

    video: Path | None
    csv: Path | None
    show_mask: bool


@dataclass
class Summary:
    """The result of a run; the fields are the keys of the JSON output."""

    file: str
    size: list[int]
    fps: float
    frames: int = 0
    window: list[int] = field(default_factory=list)  # in the last frame
    score: float = 1.0
    lost: list[list[int]] = field(default_factory=list)  # intervals: first and last frame
    seconds: float = 0.0  # in updates only
    output: str | None = None
    csv: str | None = None

    def add(self, ok: bool, window: Window, score: float) -> None:
        """Add the result of the next frame."""
        if not ok:
            if not self.lost or self.lost[-1][1] != self.frames - 1:
                self.lost.append([self.frames, self.frames])
            self.lost[-1][1] = self.frames
        self.frames += 1
        self.window, self.score = list(window), score


def track(
    video: Annotated[
        str,
        typer.Argument(
            metavar="VIDEO", help="A video, a folder of frames, or the number of a camera."
        ),
    ],
    window: Annotated[
        str | None,
        typer.Option(
            "--window", "-w", metavar="X,Y,W,H", help="The object's window in the first frame."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="Output video with the window drawn."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="CSV", help=f"Output table of the windows: {COLUMNS}.")
    ] = None,
    show_mask: Annotated[
        bool, typer.Option("--show-mask", help="Tint the tracked pixels.")
    ] = False,
    first_frame: Annotated[
        Path | None,
        typer.Option(
            metavar="PNG", help="Write the first frame with rulers, to find the window, and stop."
        ),
    ] = None,
    bandwidth: Annotated[
        str | None,
        typer.Option(
            "--bandwidth",
            "-b",
            metavar="H[,H,H]",
            help="Size of a colour cell, or one per channel.",
        ),
    ] = None,
    adapt: Annotated[
        Adapt,
        typer.Option(
            help="How the tracker learns colours: robustly, as in the paper, or not at all."
        ),
    ] = Adapt.robust,
    scale: Annotated[
        bool,
        typer.Option(
            "--scale/--no-scale", help="Whether the size of the window follows the object."
        ),
    ] = True,
    frames: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Stop after N frames.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Track an object through a video.

    Draws the window into OUT: a line around the object, dashed and captioned while it is lost.

    A camera is tracked until Ctrl-C.
    """
    start = None if window is None else _parse_window(window)
    cell_size = None if bandwidth is None else parse_bandwidth(bandwidth, n_features=3)
    with report_errors():
        from meanshiftpp.video.frames import read_frames

        source = _source(video)
        outputs = Outputs(output, csv, show_mask)
        _check_outputs(outputs, first_frame, video)
        with read_frames(source) as clip:
            if first_frame is not None:
                _write_first_frame(clip, first_frame)
                return
            if start is None:
                _exit_without_window(video, clip)
            if not (output or csv or as_json):
                raise typer.BadParameter(
                    "expected an output, got none; add -o OUT.mp4, --csv CSV or --json"
                )
            tracker = _tracker(cell_size, adapt, scale)
            summary = _run(clip, tracker, start, outputs, video, frames, isinstance(source, int))
    if as_json:
        typer.echo(json.dumps(asdict(summary)))
    else:
        print_table(summary.file, _summary_lines(summary))


# -- input -------------------------------------------------------------------------------------


def _parse_window(text: str) -> tuple[float, ...]:
    """Parse a window such as `130,90,48,54`; the tracker rounds it to pixels."""
    try:
        values = tuple(map(float, text.split(",")))
    except ValueError:
        values = ()
    if len(values) != 4 or not all(map(math.isfinite, values)):
        raise typer.BadParameter(
            f"expected four numbers x,y,width,height, such as 130,90,48,54; got {text!r}",
            param_hint="'--window'",
        )
    return values


def _source(video: str) -> str | int:
    """Return the number of a camera for digits, unless a file has that name."""
    return int(video) if video.isdecimal() and not Path(video).exists() else video


def _check_outputs(outputs: Outputs, first_frame: Path | None, video: str) -> None:
    """Check that the results can be written, before the work starts."""
    from meanshiftpp._support.files import (
        check_no_overwrite,
        check_writable,
        known_suffix,
        real_path,
    )
    from meanshiftpp.images.picture import PICTURE_FORMATS
    from meanshiftpp.video.frames import VIDEO_FORMATS, frame_files

    suffixes = {outputs.video: VIDEO_FORMATS, outputs.csv: (".csv",), first_frame: PICTURE_FORMATS}
    written = {path: formats for path, formats in suffixes.items() if path is not None}
    for path, formats in written.items():
        known_suffix(path, formats)
    check_no_overwrite(list(written), frame_files(video))
    if first_frame is not None and real_path(first_frame).parent == real_path(video):
        raise InvalidInputError(
            f"{str(first_frame)!r} must be outside the folder of frames, "
            "or it would be read as one of them; choose another file"
        )
    for path in written:
        check_writable(path)


def _exit_without_window(video: str, clip: Frames) -> NoReturn:
    width, height = clip.size
    x, y, w, h = width // 3, height // 3, width // 6, height // 6
    print_stderr(
        "error: --window is missing: where is the object in the first frame of "
        f"{video}, {width} x {height} pixels?\n"
        f"  Pass its left and top edge, width and height, such as --window {x},{y},{w},{h}\n"
        "  To find them, write the first frame with rulers: "
        f"meanshiftpp track {video} --first-frame first.png"
    )
    raise typer.Exit(2)


def _tracker(bandwidth: float | list[float] | None, adapt: Adapt, scale: bool) -> Tracker:
    from meanshiftpp.tracking.tracker import Tracker

    options: dict[str, Any] = {"adapt": None if adapt is Adapt.none else str(adapt)}
    return Tracker(bandwidth, scale=scale, **options)


def _write_first_frame(clip: Frames, path: Path) -> None:
    from meanshiftpp.images import picture
    from meanshiftpp.tracking import marks

    picture.write(path, marks.with_rulers(next(iter(clip))))
    print_stderr(f"wrote {path}; pass the object's window as --window left,top,width,height")


# -- tracking ----------------------------------------------------------------------------------


def _run(
    clip: Frames,
    tracker: Tracker,
    start: tuple[float, ...],
    outputs: Outputs,
    name: str,
    max_frames: int | None,
    endless: bool,
) -> Summary:
    """Track the object and write the outputs; with a camera, until Ctrl-C."""
    from meanshiftpp.tracking import marks
    from meanshiftpp.video.frames import write_frames

    summary = Summary(name, list(clip.size), float(clip.fps))
    count = max_frames if clip.count is None else min(clip.count, max_frames or clip.count)
    with ExitStack() as stack:
        write_row = stack.enter_context(_table(outputs.csv)) if outputs.csv else None
        write_frame = (
            stack.enter_context(write_frames(outputs.video, clip.fps, clip.size))
            if outputs.video
            else None
        )
        bar = stack.enter_context(progress())
        task = bar.add_task("tracking", total=count)
        try:
            for ok, window, frame in _track(islice(clip, max_frames), tracker, start, summary):
                if write_row:
                    write_row(summary.frames - 1, window, ok, summary.score)
                if write_frame:
                    mask = tracker.mask if outputs.show_mask else None
                    write_frame(marks.tracked(frame, window, ok, mask))
                bar.advance(task)
        except KeyboardInterrupt:
            if not endless:
                raise
    summary.output = str(outputs.video) if outputs.video else None
    summary.csv = str(outputs.csv) if outputs.csv else None
    return summary


def _track(
    frames: Iterator[NDArray[np.uint8]],
    tracker: Tracker,
    start: tuple[float, ...],
    summary: Summary,
) -> Iterator[tuple[bool, Window, NDArray[np.uint8]]]:
    """Yield the result of each frame, and add it to the summary; the first is the start window."""
    for frame in frames:
        if summary.frames:
            begin = perf_counter()
            ok, window = tracker.update(frame)
            summary.seconds += perf_counter() - begin
        else:
            if (frame == frame[..., :1]).all():
                print_stderr(
                    "warning: the frames are grey, so the tracker can only follow lightness"
                )
            tracker.init(frame, start)
            ok, window = True, tracker.window
        summary.add(ok, window, tracker.score)
        yield ok, window, frame


@contextmanager
def _table(path: Path) -> Iterator[Callable[[int, Window, bool, float], None]]:
    """Open the table of windows; yield a function that writes the row of a frame."""
    from meanshiftpp._support.files import atomic_path

    with atomic_path(path) as target, target.open("w", encoding="utf-8") as file:
        file.write(f"{COLUMNS}\n")

        def write_row(frame: int, window: Window, ok: bool, score: float) -> None:
            file.write(f"{row(frame, window, ok, score)}\n")

        yield write_row


# -- output ------------------------------------------------------------------------------------


def _summary_lines(summary: Summary) -> Iterator[tuple[str, str]]:
    width, height = summary.size
    yield "frames", f"{summary.frames:,} of {width} x {height}"
    yield "lost", _lost_intervals(summary)
    yield "last window", f"{','.join(map(str, summary.window))}, score {summary.score:.2f}"
    each = summary.seconds / max(summary.frames - 1, 1)
    yield "time", f"{duration(each)} per update, {duration(summary.seconds)} in total"
    if summary.output:
        yield "video", summary.output
    if summary.csv:
        yield "windows", summary.csv


def _lost_intervals(summary: Summary) -> str:
    if not summary.lost:
        return "never"
    lost = sum(last - first + 1 for first, last in summary.lost)
    intervals = [f"{a} to {b}" if a < b else f"{a}" for a, b in summary.lost[:INTERVALS_SHOWN]]
    rest = len(summary.lost) - len(intervals)
    more = f" and {rest:,} more times" if rest else ""
    return f"in {pluralize(lost, 'frame')}: {', '.join(intervals)}{more}"
