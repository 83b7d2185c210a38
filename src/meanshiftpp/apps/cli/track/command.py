"""The command `meanshiftpp track`: follow windows through a video, from one of its frames on.

The video and the table of windows are written frame by frame, and get their names at the end.
"""

from __future__ import annotations

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from meanshiftpp.apps.cli.shared.console import print_stderr, print_table, report_errors
from meanshiftpp.apps.cli.shared.options import AsJson, parse_bandwidth
from meanshiftpp.apps.cli.track.run import (
    Outputs,
    Summary,
    frames_from,
    parse_start,
    run,
    summary_lines,
)
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.tracking.windows import COLUMNS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from meanshiftpp.tracking.tracker import Tracker
    from meanshiftpp.video.frames import Frames


class Adapt(StrEnum):
    """How the tracker learns, as the command line spells it."""

    robust = "robust"
    paper = "paper"
    none = "none"


def track(
    video: Annotated[
        str,
        typer.Argument(
            metavar="VIDEO", help="A video, a folder of frames, or the number of a camera."
        ),
    ],
    window: Annotated[
        list[str] | None,
        typer.Option(
            "--window",
            "-w",
            metavar="X,Y,W,H",
            help="The object's window in the first frame; repeat it for several objects.",
        ),
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            metavar="FRAME|TIME",
            help="The first frame: its number, counted from 0, or a time such as 4.5s or 1:05.",
        ),
    ] = "0",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="Output video with the window drawn."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help=f"Output table of the windows: {COLUMNS}.",
        ),
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
    """Track objects through a video.

    Draws the windows into OUT: a line around each object, dashed and captioned while it is lost.

    A camera is tracked until Ctrl-C.
    """
    windows, first = [_parse_window(text) for text in window or ()], parse_start(start)
    cell_size = None if bandwidth is None else parse_bandwidth(bandwidth, n_features=3)
    if first_frame is not None:
        _check_options_of_first_frame({"--window": window, "--output": output, "--csv": csv})
    with report_errors():
        from meanshiftpp.video.frames import read_frames

        source = _source(video)
        outputs = Outputs(output, csv, show_mask)
        _check_outputs(outputs, first_frame, video)
        with read_frames(source) as clip:
            number, images = frames_from(clip, first, start)
            if first_frame is not None:
                _write_first_frame(next(images), first_frame)
                return
            if not windows:
                _exit_without_window(video, clip, start if number else "")
            if not (output or csv or as_json):
                raise typer.BadParameter(
                    "expected an output, got none; add -o OUT.mp4, --csv CSV or --json"
                )
            trackers = [_tracker(cell_size, adapt, scale) for _ in windows]
            summary = Summary(video, list(clip.size), float(clip.fps), number)
            limits: dict[str, Any] = {"max_frames": frames, "endless": isinstance(source, int)}
            run(clip, images, trackers, windows, outputs, summary, **limits)
    if as_json:
        typer.echo(json.dumps(summary.as_json()))
    else:
        print_table(summary.file, summary_lines(summary))


# -- input -------------------------------------------------------------------------------------


def _check_options_of_first_frame(given: dict[str, object]) -> None:
    """Raise for options that need tracking."""
    for name, value in given.items():
        if value:
            raise typer.BadParameter(
                f"--first-frame writes a frame and does not track, but {name} was given; "
                "leave one of them out"
            )


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
    from meanshiftpp._support.files import exists

    if not video:
        expected = "the name of a video or folder, or the number of a camera"
        raise typer.BadParameter(f"expected {expected}; got ''", param_hint="'VIDEO'")
    return int(video) if video.isdecimal() and not exists(video) else video


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


def _exit_without_window(video: str, clip: Frames, start: str) -> NoReturn:
    width, height = clip.size
    option = f" --start {start}" if start else ""
    x, y, w, h = width // 3, height // 3, width // 6, height // 6
    print_stderr(
        "error: --window is missing: where is the object in the first frame of "
        f"{video}, {width} x {height} pixels?\n"
        f"  Pass its left and top edge, width and height, such as --window {x},{y},{w},{h}\n"
        "  To find them, write the first frame with rulers: "
        f"meanshiftpp track {video}{option} --first-frame first.png"
    )
    raise typer.Exit(2)


def _tracker(bandwidth: float | list[float] | None, adapt: Adapt, scale: bool) -> Tracker:
    from meanshiftpp.tracking.tracker import Tracker

    options: dict[str, Any] = {"adapt": None if adapt is Adapt.none else str(adapt)}
    return Tracker(bandwidth, scale=scale, **options)


def _write_first_frame(frame: NDArray[np.uint8], path: Path) -> None:
    from meanshiftpp.images import picture
    from meanshiftpp.tracking import marks

    picture.write(path, marks.with_rulers(frame))
    print_stderr(f"wrote {path}; pass the object's window as --window left,top,width,height")
