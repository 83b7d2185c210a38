"""Rasters on the ground: polygons of `meanshiftpp segment`, and lengths in metres."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from meanshiftpp.apps.cli.segment.files import Job, Style, Task
from meanshiftpp.errors import InvalidInputError


class Metres(float):
    """A length on the ground."""


def in_pixels(task: Task, source: Path) -> Task:
    """Return the task with the size of a spatial cell in pixels of a file."""
    spatial = task.region_options.get("spatial")
    if not isinstance(spatial, Metres):
        return task
    from meanshiftpp._support.files import suffix_of
    from meanshiftpp.io.maps.rasters import FORMATS, RasterSource
    from meanshiftpp.io.maps.scenes import Scene

    if suffix_of(source) not in FORMATS:
        raise InvalidInputError.for_file(
            source, "is not a GeoTIFF, so a length in metres is unknown; give --spatial in pixels"
        )
    pixels = Scene(RasterSource([source], None)).pixels(spatial)
    return replace(task, region_options={**task.region_options, "spatial": pixels})


def write_map(job: Job, task: Task, bar: Any) -> tuple[tuple[int, int], int, float]:
    """Segment a raster and write its polygons; return its shape, their number and the seconds."""
    _check_task(task)
    from meanshiftpp._support.files import suffix_of
    from meanshiftpp.io.maps.rasters import FORMATS, RasterSource
    from meanshiftpp.io.maps.scenes import Scene, check_polygons, write_polygons
    from meanshiftpp.io.maps.tiles import RegionOptions, scene_regions, tile_count

    if suffix_of(job.source) not in FORMATS:
        problem = "cannot become polygons, which need a GeoTIFF (.tif) as input"
        raise InvalidInputError.for_file(
            job.source, f"{problem}; write a picture or an .svg instead"
        )
    scene = Scene(RasterSource([job.source], None))
    check_polygons(job.target, scene)
    scene.source.warn_of_no_data()
    options = {**task.options, **task.region_options}
    options.pop("space", None)
    if not isinstance(task.regions, bool):
        options["regions"] = task.regions
    count = bar.add_task(job.source.name, total=tile_count(scene.shape))
    start = perf_counter()
    try:
        with scene_regions(
            scene, RegionOptions(**options), job.target, lambda: bar.advance(count)
        ) as (labels, _):
            seconds = perf_counter() - start
            n_polygons = write_polygons(job.target, scene, labels)
    finally:
        bar.remove_task(count)
    return scene.shape, n_polygons, seconds


def _check_task(task: Task) -> None:
    """Raise for options that polygons cannot have."""
    if task.style is not Style.fill:
        raise InvalidInputError(
            f"polygons need a .gpkg or .geojson without --{task.style}; run one at a time"
        )
    if not task.regions:
        raise InvalidInputError(
            "--clusters has no polygons here; use meanshiftpp cluster, which writes them too"
        )
    pictures_only = {"--range": task.value_range, "--measure": task.measurements}
    for option in (option for option, value in pictures_only.items() if value is not None):
        raise InvalidInputError(f"{option} has no effect on polygons; leave it out")
    if task.options.get("space") is not None:
        raise InvalidInputError(
            f"--space {task.options['space']} has no effect on polygons, which compare bands; "
            "leave it out"
        )
