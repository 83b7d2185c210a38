"""Run the jobs of `meanshiftpp segment`: segment each file and write its result.

A job that fails is recorded with its error, and the others go on.
"""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from meanshiftpp.apps.cli.segment.files import Job, Style, Task, media_files
from meanshiftpp.apps.cli.segment.maps import in_pixels, write_map
from meanshiftpp.apps.cli.shared.console import error_text, progress, warning_text
from meanshiftpp.apps.cli.shared.options import MAP_FORMATS, is_map
from meanshiftpp.errors import FileAccessError, InvalidInputError, MeanShiftPPError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from meanshiftpp.images.picture import Picture

_SCALE_ADVICE = "use --range image to scale them, or --space none for raw values"


@dataclass
class Result:
    """The result of a file; the fields are the keys of the JSON output."""

    file: str
    output: str
    size: list[int]
    what: str  # regions, clusters, colors or polygons
    found: int  # the median of its frames for a video
    seconds: float
    frames: int | None = None
    labels: int | None = None  # of all frames of a video
    palette: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Report:
    """The outcome of all jobs."""

    results: list[Result] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)  # file and error
    warnings: list[str] = field(default_factory=list)


@dataclass
class Batch:
    """The state shared by the jobs of a run."""

    task: Task
    bar: Any  # the progress bar
    protected: dict[Path, Path]  # files not to overwrite, and the inputs that they are or come from

    def check_target(self, target: Path) -> Path:
        """Check that a result can be written without overwriting an input or another result."""
        from meanshiftpp._support.files import check_writable, real_path

        other = self.protected.get(real_path(target))
        if other is not None:
            overwritten = str(other)
            if real_path(target) != real_path(other):
                overwritten = f"the result of {other}"
            raise InvalidInputError(
                f"its result would overwrite {overwritten}; choose another --output"
            )
        check_writable(target)
        return target


def run_jobs(jobs: list[Job], task: Task) -> Report:
    """Run all jobs; return the results, the failures with their errors, and the warnings."""
    from meanshiftpp._support.files import real_path

    report = Report()
    with progress() as bar:
        batch = Batch(task, bar, {real_path(job.source): job.source for job in jobs})
        if task.measurements is not None:
            batch.check_target(task.measurements.path)
        count = bar.add_task("segmenting", total=len(jobs))
        for job in jobs:
            try:
                with _recorded_warnings(job, report):
                    result = _run_job(job, batch)
                report.results.append(result)
                batch.protected[real_path(result.output)] = job.source
            except (MeanShiftPPError, MemoryError) as error:
                report.failed.append({"file": str(job.source), "error": _error_text(job, error)})
            bar.advance(count)
    if task.measurements is not None and report.results:
        task.measurements.write()
    return report


def _run_job(job: Job, batch: Batch) -> Result:
    from meanshiftpp._support.files import is_folder
    from meanshiftpp.video.frames import is_video

    of_frames = is_folder(job.source)
    if of_frames and not media_files(job.source):
        place = f"folder {str(job.source)!r}"
        raise InvalidInputError("contains no pictures or videos", place=place)
    _reject_points(job.source)
    batch.check_target(job.target)
    batch = replace(batch, task=in_pixels(batch.task, job.source))
    if is_map(job.target):
        shape, n_polygons, seconds = write_map(job, batch.task, batch.bar)
        return _result(job, job.target, shape, "polygons", n_polygons, seconds)
    return (_segment_video if of_frames or is_video(job.source) else _segment_photo)(job, batch)


def _reject_points(path: Path) -> None:
    """Raise for a file of points, which another command reads."""
    from meanshiftpp._support.files import is_file, suffix_of
    from meanshiftpp.images.picture import PICTURE_FORMATS

    if suffix_of(path) in PICTURE_FORMATS or not is_file(path):
        return
    from meanshiftpp.io.streams import FORMATS

    if suffix_of(path) in FORMATS:
        problem = "is a file of points, not a picture; use meanshiftpp cluster"
        raise InvalidInputError.for_file(path, problem)


# -- messages ----------------------------------------------------------------------------------


@contextmanager
def _recorded_warnings(job: Job, report: Report) -> Iterator[None]:
    """Record warnings, to print them after the progress bar is removed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    report.warnings += [_warning_text(job, each.message) for each in caught]


def _error_text(job: Job, error: MeanShiftPPError | MemoryError) -> str:
    """Word an error for the command line: with the file, and with options for parameters."""
    if isinstance(error, FileAccessError):
        return str(error)  # it names the file, which may be the input or the output
    if isinstance(error, InvalidInputError):
        if error.place is not None:
            return str(error)
        if error.parameter == "image":
            values = f"values must be {error.expected}, got {error.got}"
            return f"{job.source}: {values}; {_SCALE_ADVICE}"
    return f"{job.source}: {error_text(error)}"


def _warning_text(job: Job, warning: Warning | str) -> str:
    """Word a warning for the command line."""
    from meanshiftpp.images.picture import PictureWarning
    from meanshiftpp.io.maps.vectors import MapWarning

    if isinstance(warning, PictureWarning | MapWarning):
        return str(warning)
    return f"{job.source}: {warning_text(warning, 'use a larger --bandwidth')}"


# -- pictures ----------------------------------------------------------------------------------


def _segment_photo(job: Job, batch: Batch) -> Result:
    from meanshiftpp._support.files import known_suffix
    from meanshiftpp.images import draw, picture
    from meanshiftpp.images.palettes import PALETTE_FORMATS
    from meanshiftpp.images.segmentation import segment
    from meanshiftpp.images.vector import SVG_FORMATS, write_svg

    task = batch.task
    is_label_image = task.style is Style.labels
    formats: tuple[str, ...] = picture.PICTURE_FORMATS
    if is_label_image:
        formats = picture.LABEL_FORMATS
    more = {Style.palette: PALETTE_FORMATS, Style.fill: SVG_FORMATS}
    formats += more.get(task.style, ())
    if task.style is Style.fill and job.source.suffix.lower() in picture.TIFF:
        formats += MAP_FORMATS  # for the message; `_run_job` has written maps
    known_suffix(job.target, formats)
    photo = picture.read(job.source)
    if task.style is Style.palette:
        return _find_palette(job, photo, task)
    options = {**task.options, **_layout(photo, task)}
    if photo.place and task.regions and "space" not in task.options:
        options["space"] = None  # a map, whose bands are compared as they are for polygons
    start = perf_counter()
    labels = segment(photo.values, regions=task.regions, **options, **task.region_options)
    seconds = perf_counter() - start
    n_found, target = int(labels.max()) + 1, job.target
    if is_label_image:
        if job.free_suffix and (n_found >= 2**16 or labels.ndim > 2 or photo.place):
            target = batch.check_target(target.with_suffix(".tif"))
        picture.write_labels(target, labels + 1, photo.place, photo.spacing)
    else:
        rgb = draw.as_rgb(photo.values, photo.channel_axis, limits=_limits(photo, task))
        colors = draw.region_colors(rgb, labels)
        if target.suffix.lower() in SVG_FORMATS:
            write_svg(target, labels, colors)
        else:
            picture.write(target, _drawn(rgb, labels, colors, task))
    if task.measurements is not None:
        task.measurements.add(job.source, labels + 1, photo)
    return _result(job, target, labels.shape, task.noun, n_found, seconds)


def _find_palette(job: Job, photo: Picture, task: Task) -> Result:
    from meanshiftpp.images import draw, picture
    from meanshiftpp.images.colours import palette
    from meanshiftpp.images.palettes import PALETTE_FORMATS, write_palette

    start = perf_counter()
    found = palette(photo.values, **{**task.options, **_layout(photo, task)})
    seconds = perf_counter() - start
    rgb = draw.as_rgb(found.colors[None], limits=_limits(photo, task))[0]
    if job.target.suffix.lower() in PALETTE_FORMATS:
        write_palette(job.target, rgb, found.shares, job.source.stem)
    else:
        picture.write(job.target, draw.palette_strip(rgb, found.shares))
    result = _result(job, job.target, photo.shape, "colors", len(found), seconds)
    result.palette = [
        {"color": f"#{bytes(color).hex()}", "values": values, "share": share}
        for color, values, share in zip(
            rgb.tolist(), found.colors.tolist(), found.shares.tolist(), strict=True
        )
    ]
    return result


def _layout(photo: Picture, task: Task) -> dict[str, Any]:
    """Return the options of `segment` for pictures, some of which depend on the file."""
    layout: dict[str, Any] = {"channel_axis": photo.channel_axis, "mask": photo.mask}
    layout["value_range"] = task.value_range
    return {**layout, "space": None} if photo.bands else layout


def _limits(photo: Picture, task: Task) -> Any:
    """Return the values that are drawn as black and as white."""
    from meanshiftpp.images import draw

    if isinstance(task.value_range, tuple):
        return task.value_range
    return draw.limits(photo.values, photo.channel_axis, mask=photo.mask)


# -- videos ------------------------------------------------------------------------------------


def _segment_video(job: Job, batch: Batch) -> Result:
    from meanshiftpp._support.files import known_suffix
    from meanshiftpp.video.frames import VIDEO_FORMATS, read_frames, write_frames
    from meanshiftpp.video.segmenter import VideoSegmenter

    task, bar = batch.task, batch.bar
    if task.style in (Style.labels, Style.palette):
        raise InvalidInputError(f"--{task.style} works on pictures only, and this is a video")
    if not isinstance(task.regions, bool):
        raise InvalidInputError("--regions works on pictures only; use --detail for a video")
    pictures_only = {"--range": task.value_range, "--measure": task.measurements}
    for option in (option for option, value in pictures_only.items() if value is not None):
        raise InvalidInputError(f"{option} works on pictures only, and this is a video")
    known_suffix(job.target, VIDEO_FORMATS)
    segmenter = VideoSegmenter(regions=task.regions, **task.options, **task.region_options)
    seconds, counts = 0.0, []
    with read_frames(job.source) as clip, write_frames(job.target, clip.fps, clip.size) as write:
        count = bar.add_task(job.source.name, total=clip.count)
        for frame in clip:
            start = perf_counter()
            labels = segmenter.update(frame)
            seconds += perf_counter() - start
            write(_drawn(frame, labels, segmenter.colors, task))
            counts.append(_count_segments(labels))
            bar.advance(count)
        bar.remove_task(count)
    n_found = int(statistics.median_low(counts))
    result = _result(job, job.target, clip.size[::-1], task.noun, n_found, seconds)
    result.frames, result.labels = len(counts), len(segmenter.colors)
    return result


def _count_segments(labels: NDArray[np.int32]) -> int:
    """Return the number of labels in a frame; masked pixels have none."""
    import numpy as np

    return int(np.count_nonzero(np.bincount(labels.ravel() + 1)[1:]))


# -- both --------------------------------------------------------------------------------------


def _drawn(
    rgb: NDArray[np.uint8], labels: NDArray[np.int32], colors: NDArray[np.float64], task: Task
) -> NDArray[np.uint8]:
    from meanshiftpp.images import draw

    if task.style is Style.overlay:
        return draw.overlay(rgb, labels)
    return draw.fill(labels, colors, lines=bool(task.regions))


def _result(
    job: Job, target: Path, shape: tuple[int, ...], noun: str, n_found: int, seconds: float
) -> Result:
    return Result(str(job.source), str(target), list(shape[::-1]), noun, n_found, seconds)
