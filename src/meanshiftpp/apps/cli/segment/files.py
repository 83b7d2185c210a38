"""Plan the jobs of `meanshiftpp segment`: the task, each input file and the file of its result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from meanshiftpp._support.files import is_folder

if TYPE_CHECKING:
    from meanshiftpp.apps.cli.segment.measure import Measurements
    from meanshiftpp.images.levels import ValueRange


class Style(StrEnum):
    """Kinds of output."""

    fill = "fill"
    overlay = "overlay"
    labels = "labels"
    palette = "palette"


@dataclass(frozen=True)
class Task:
    """The segmentation and the kind of output, the same for all files."""

    style: Style
    regions: bool | int  # a number of regions, of pictures only
    options: dict[str, Any]  # for `segment`, `palette` and `VideoSegmenter`
    region_options: dict[str, Any]  # for `segment` and `VideoSegmenter`
    value_range: ValueRange = None  # of pictures only
    measurements: Measurements | None = None  # of pictures only

    @property
    def noun(self) -> str:
        """The name of the segments."""
        return "regions" if self.regions else "clusters"


@dataclass(frozen=True)
class Job:
    """An input file and the file for its result."""

    source: Path
    target: Path
    free_suffix: bool  # the user named a folder only, so the format can be changed


def plan_jobs(sources: list[Path], output: str, style: Style) -> tuple[list[Job], set[Path]]:
    """Return a job for each input file, and the folders to create for the results."""
    from meanshiftpp.video.frames import VIDEO_FORMATS, is_video

    out = Path(output)
    if len(sources) == 1 and is_folder(sources[0]) and out.suffix.lower() in VIDEO_FORMATS:
        return [Job(sources[0], out, False)], set()  # a folder of frames becomes one video
    files = list(_input_files(sources))
    if "{name}" in output:
        targets = [Path(output.replace("{name}", file.stem)) for file in files]
        jobs = [Job(file, target, False) for file, target in zip(files, targets, strict=True)]
        return jobs, {target.parent for target in targets}
    if len(files) == 1 and sources == files and not output.endswith("/") and not is_folder(out):
        return [Job(files[0], out, False)], set()
    if out.suffix and not is_folder(out):
        raise typer.BadParameter(
            f"expected a folder, or a path with {{name}} in it, for several files; got {output!r}",
            param_hint="'--output'",
        )
    video_suffix = ".mp4" if style in (Style.fill, Style.overlay) else ".png"
    suffixes = [video_suffix if is_video(file) else _suffix(file, style) for file in files]
    jobs = [
        Job(file, out / (file.stem + suffix), True)
        for file, suffix in zip(files, suffixes, strict=True)
    ]
    return jobs, {out}


def _suffix(file: Path, style: Style) -> str:
    """Return the format for a picture's result; the labels of a .tif stay a .tif."""
    is_tiff = file.suffix.lower() in (".tif", ".tiff")
    return file.suffix if is_tiff and style is Style.labels else ".png"


def media_files(folder: Path) -> list[Path]:
    """Return the pictures and videos in a folder, sorted by name."""
    from meanshiftpp.images.picture import PICTURE_FORMATS
    from meanshiftpp.video.frames import is_video

    files = sorted(folder.iterdir())
    return [file for file in files if file.suffix.lower() in PICTURE_FORMATS or is_video(file)]


def _input_files(sources: Iterable[Path]) -> Iterator[Path]:
    """Yield the files, with folders expanded; an empty folder stays and fails as a job."""
    for source in sources:
        yield from (is_folder(source) and media_files(source)) or [source]
