"""`meanshiftpp segment`: photographs and videos in, their regions out.

A list of files becomes a list of jobs, each with the file it will be written to. A job that fails
is reported, the others go on. As everywhere on the command line, nothing heavy is imported before
a command runs.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meanshiftpp._support.extras import need
from meanshiftpp.apps.cli.console import duration, pluralize, print_stderr, progress, report_errors
from meanshiftpp.apps.cli.options import AsJson, Threads
from meanshiftpp.errors import FileAccessError, InvalidInputError, MeanShiftPPError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from meanshiftpp.images.picture import Picture

COLORS_SHOWN = 5


class Space(StrEnum):
    """Colour spaces, as the command line spells them."""

    lab = "lab"
    rgb = "rgb"
    luv = "luv"
    hsv = "hsv"
    none = "none"


class Style(StrEnum):
    """What is written."""

    fill = "fill"
    overlay = "overlay"
    labels = "labels"
    palette = "palette"


@dataclass(frozen=True)
class Task:
    """What to do with each file."""

    style: Style
    regions: bool
    options: dict[str, Any]  # of `segment`, `palette` and `VideoSegmenter` alike
    region_options: dict[str, Any]

    @property
    def what(self) -> str:
        """The name of what is found."""
        return "regions" if self.regions else "clusters"


@dataclass(frozen=True)
class Job:
    """A file and where its result goes."""

    source: Path
    target: Path
    free_suffix: bool  # the user named a folder: the format is ours to choose


@dataclass
class Batch:
    """The work on all files."""

    task: Task
    bar: Any  # of progress
    kept: dict[Path, Path]  # what must not be written over, and the file it is or came from
    notes: list[str] = field(default_factory=list)  # what there is to know about a file

    def checked(self, job: Job, target: Path) -> Path:
        """Return the name for a result, if it is free and can be written."""
        from meanshiftpp._support.files import check_writable

        other = self.kept.get(target.resolve())
        if other is not None:
            what = "over" if target.resolve() == other.resolve() else "over the result of"
            raise InvalidInputError(f"{job.source}: its result would be written {what} {other}")
        check_writable(target)
        return target


@dataclass
class Result:
    """What came out of a file, for people and for machines."""

    file: str
    output: str
    size: list[int]
    what: str  # regions, clusters or colors
    found: int
    seconds: float
    frames: int | None = None
    palette: list[dict[str, Any]] = field(default_factory=list)


def _above_zero(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"expected a number above 0, got {value}")
    return value


def segment(
    photos: Annotated[
        list[Path], typer.Argument(metavar="PHOTO", help="Pictures, videos, or folders of them.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="A file; for several, a folder or a name with {name} in it.",
        ),
    ],
    bandwidth: Annotated[
        float | None,
        typer.Option(
            "--bandwidth",
            "-b",
            metavar="H",
            callback=_above_zero,
            help="Side of a cell, in units of the colour space.",
        ),
    ] = None,
    space: Annotated[
        Space | None, typer.Option(help="Where colours are compared; none: as they are.")
    ] = None,
    clusters: Annotated[
        bool, typer.Option("--clusters", help="Clusters of colours, not connected regions.")
    ] = False,
    spatial: Annotated[
        float | None,
        typer.Option(
            metavar="PX", callback=_above_zero, help="Cluster by place too: side of a cell."
        ),
    ] = None,
    detail: Annotated[
        float | None,
        typer.Option(
            metavar="X", callback=_above_zero, help="Above 1: more regions; below: fewer."
        ),
    ] = None,
    min_size: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Smaller regions join a neighbour.")
    ] = None,
    overlay: Annotated[bool, typer.Option("--overlay", help="Outlines on the photograph.")] = False,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Write a label image, from 1: 16-bit .png, or .tif."),
    ] = False,
    palette: Annotated[bool, typer.Option("--palette", help="Colours and their shares.")] = False,
    as_json: AsJson = False,
    threads: Threads = None,
) -> None:
    """Segment photographs and videos into regions.

    Writes each with its regions in their mean colour, or what --overlay, --labels or --palette ask
    for. Goes on after a file that fails, and then exits with 1.
    """
    options: dict[str, Any] = {"bandwidth": bandwidth, "n_threads": threads}
    if space:
        options["space"] = None if space is Space.none else str(space)
    region_options = {"spatial": spatial, "detail": detail, "min_size": min_size}
    region_options = {name: value for name, value in region_options.items() if value is not None}
    task = Task(_style(overlay, labels, palette), not clusters, options, region_options)
    _refuse_idle_options(task)
    with report_errors():
        need("PIL", "image")
        jobs = _jobs(photos, output, task.style)
        results, failed, notes = _run(jobs, task)
    if as_json:
        typer.echo(json.dumps({"files": [asdict(result) for result in results], "failed": failed}))
    elif results:
        _show(results)
    for words in notes:
        print_stderr(words)
    for each in failed:
        print_stderr(f"error: {each['error']}")
    if failed and len(jobs) > 1:
        print_stderr(f"{len(failed)} of {pluralize(len(jobs), 'file')} failed")
    if failed:
        raise typer.Exit(1)


# -- what is asked for ----------------------------------------------------------------------------


def _style(overlay: bool, labels: bool, palette: bool) -> Style:
    wanted = {Style.overlay: overlay, Style.labels: labels, Style.palette: palette}
    asked = [style for style, yes in wanted.items() if yes]
    if len(asked) > 1:
        names = " and ".join(f"--{style}" for style in asked)
        raise typer.BadParameter(f"{names} exclude each other: one output at a time")
    return asked[0] if asked else Style.fill


def _refuse_idle_options(task: Task) -> None:
    """Refuse options that would do nothing: they are a mistake somewhere."""
    idle: set[str] = set()
    if task.style is Style.palette:
        idle, other = {"spatial", "detail", "min_size"}, "--palette"
    elif not task.regions:
        idle, other = {"detail", "min_size"}, "--clusters"
    for name in sorted(idle & set(task.region_options)):
        option = name.replace("_", "-")
        raise typer.BadParameter(f"--{option} has no meaning with {other}")


def _jobs(sources: list[Path], output: str, style: Style) -> list[Job]:
    """Say where the result of each file goes; make the folders for them."""
    from meanshiftpp.video.frames import VIDEO_FORMATS, is_video

    out = Path(output)
    if len(sources) == 1 and sources[0].is_dir() and out.suffix.lower() in VIDEO_FORMATS:
        return [Job(sources[0], out, False)]  # a folder of frames
    files = list(_expanded(sources))
    if "{name}" in output:
        targets = [Path(output.replace("{name}", file.stem)) for file in files]
        _make_folders({target.parent for target in targets})
        return [Job(file, target, False) for file, target in zip(files, targets, strict=True)]
    if len(files) == 1 and sources == files and not output.endswith("/") and not out.is_dir():
        return [Job(files[0], out, False)]
    if out.suffix and not out.is_dir():
        raise typer.BadParameter(
            f"several files need a folder, or a name with {{name}} in it; got {output!r}",
            param_hint="'--output'",
        )
    _make_folders([out])
    moving = ".mp4" if style in (Style.fill, Style.overlay) else ".png"
    suffixes = [moving if is_video(file) else ".png" for file in files]
    return [
        Job(file, out / (file.stem + suffix), True)
        for file, suffix in zip(files, suffixes, strict=True)
    ]


def _make_folders(folders: Iterable[Path]) -> None:
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            words = f"cannot make the folder {str(folder)!r}: {error.strerror}"
            raise FileAccessError(words) from error


def _expanded(sources: Iterable[Path]) -> Iterator[Path]:
    """Give the files, and folders that have none: what is wrong with one is said in its turn."""
    for source in sources:
        yield from (source.is_dir() and _inside(source)) or [source]


def _inside(folder: Path) -> list[Path]:
    from meanshiftpp.images.picture import PICTURE_FORMATS
    from meanshiftpp.video.frames import is_video

    inside = sorted(folder.iterdir())
    return [p for p in inside if p.suffix.lower() in PICTURE_FORMATS or is_video(p)]


# -- the work -------------------------------------------------------------------------------------


def _run(jobs: list[Job], task: Task) -> tuple[list[Result], list[dict[str, str]], list[str]]:
    """Do all jobs; return what came out, what failed with the reason, and what was noted."""
    from meanshiftpp.video.frames import is_video

    results: list[Result] = []
    failed: list[dict[str, str]] = []
    with progress() as bar:
        batch = Batch(task, bar, {job.source.resolve(): job.source for job in jobs})
        count = bar.add_task("segmenting", total=len(jobs))
        for job in jobs:
            try:
                if job.source.is_dir() and not _inside(job.source):
                    raise InvalidInputError(f"no pictures in folder {str(job.source)!r}")
                batch.checked(job, job.target)
                work = _video if job.source.is_dir() or is_video(job.source) else _photo
                with _noted(job, batch):
                    results.append(work(job, batch))
                batch.kept[Path(results[-1].output).resolve()] = job.source
            except (MeanShiftPPError, MemoryError) as error:
                words = _named(job, str(error) or "out of memory")
                failed.append({"file": str(job.source), "error": words})
            bar.advance(count)
    return results, failed, batch.notes


@contextmanager
def _noted(job: Job, batch: Batch) -> Iterator[None]:
    """Keep warnings, to be said when the bar is gone."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", UserWarning)
        yield
    batch.notes += [_named(job, str(note.message)) for note in notes]


def _named(job: Job, words: str) -> str:
    """Word an error or a warning for the command line: which file, and which option."""
    words = words.replace("space=None", "--space none")
    return words if str(job.source) in words else f"{job.source}: {words}"


def _photo(job: Job, batch: Batch) -> Result:
    from meanshiftpp._support.files import known_suffix
    from meanshiftpp.images import draw, picture
    from meanshiftpp.images import segmentation as image

    task = batch.task
    is_label_image = task.style is Style.labels
    known_suffix(job.target, picture.LABEL_FORMATS if is_label_image else picture.PICTURE_FORMATS)
    photo = picture.read(job.source)
    if task.style is Style.palette:
        return _palette(job, photo, task)
    options = {**task.options, **_layout(photo)}
    start = perf_counter()
    labels = image.segment(photo.values, regions=task.regions, **options, **task.region_options)
    seconds = perf_counter() - start
    found, target = int(labels.max()) + 1, job.target
    if is_label_image:
        if job.free_suffix and (found >= 2**16 or labels.ndim > 2 or photo.place):
            target = batch.checked(job, target.with_suffix(".tif"))
        picture.write_labels(target, labels + 1, photo.place)
    else:
        shown = draw.limits(photo.values, photo.channel_axis, mask=photo.mask)
        rgb = draw.as_rgb(photo.values, photo.channel_axis, limits=shown)
        picture.write(target, _drawn(rgb, labels, draw.region_colors(rgb, labels), task))
    return _result(job, target, labels.shape, task.what, found, seconds)


def _layout(photo: Picture) -> dict[str, Any]:
    """Give what the functions on images have to know of a file."""
    layout = {"channel_axis": photo.channel_axis, "mask": photo.mask}
    return {**layout, "space": None} if photo.bands else layout


def _drawn(
    rgb: NDArray[np.uint8], labels: NDArray[np.int32], colors: NDArray[np.float64], task: Task
) -> NDArray[np.uint8]:
    from meanshiftpp.images import draw

    if task.style is Style.overlay:
        return draw.overlay(rgb, labels)
    return draw.fill(labels, colors, lines=task.regions)


def _result(
    job: Job, target: Path, shape: tuple[int, ...], what: str, found: int, seconds: float
) -> Result:
    return Result(str(job.source), str(target), list(shape[::-1]), what, found, seconds)


def _palette(job: Job, photo: Picture, task: Task) -> Result:
    from meanshiftpp.images import draw, picture
    from meanshiftpp.images import segmentation as image

    start = perf_counter()
    found = image.palette(photo.values, **{**task.options, **_layout(photo)})
    seconds = perf_counter() - start
    shown = draw.limits(photo.values, photo.channel_axis, mask=photo.mask)
    colours = draw.as_rgb(found.colors[None], limits=shown)[0]
    picture.write(job.target, draw.palette_strip(colours, found.shares))
    result = _result(job, job.target, photo.shape, "colors", len(found), seconds)
    result.palette = [
        {"color": f"#{bytes(colour).hex()}", "values": values, "share": share}
        for colour, values, share in zip(
            colours.tolist(), found.colors.tolist(), found.shares.tolist(), strict=True
        )
    ]
    return result


def _video(job: Job, batch: Batch) -> Result:
    from meanshiftpp._support.files import known_suffix
    from meanshiftpp.video import VideoSegmenter, read_frames, write_frames
    from meanshiftpp.video.frames import VIDEO_FORMATS

    task, bar = batch.task, batch.bar
    if task.style in (Style.labels, Style.palette):
        raise InvalidInputError(f"--{task.style} is for pictures, {str(job.source)!r} is a video")
    known_suffix(job.target, VIDEO_FORMATS)
    segmenter = VideoSegmenter(regions=task.regions, **task.options, **task.region_options)
    seconds, frames = 0.0, 0
    with read_frames(job.source) as clip, write_frames(job.target, clip.fps, clip.size) as write:
        count = bar.add_task(job.source.name, total=clip.count)
        for frame in clip:
            start = perf_counter()
            labels = segmenter.update(frame)
            seconds += perf_counter() - start
            write(_drawn(frame, labels, segmenter.colors, task))
            frames += 1
            bar.advance(count)
        bar.remove_task(count)
    found = len(segmenter.colors)
    result = _result(job, job.target, clip.size[::-1], task.what, found, seconds)
    result.frames = frames
    return result


# -- what is shown --------------------------------------------------------------------------------


def _show(results: list[Result]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    for name in ("file", "size", "found", "time", "written to"):
        number = name in ("size", "time")
        table.add_column(name, justify="right" if number else "left", no_wrap=number)
    for result in results:
        size = " x ".join(map(str, result.size))
        if result.frames is not None:
            size += f", {pluralize(result.frames, 'frame')}"
        found = pluralize(result.found, result.what.removesuffix("s"))
        if result.palette:
            found = "  ".join(each["color"] for each in result.palette[:COLORS_SHOWN])
        name, time = Path(result.file).name, duration(result.seconds)
        table.add_row(name, size, found, time, result.output)
    Console(highlight=False).print(table)
