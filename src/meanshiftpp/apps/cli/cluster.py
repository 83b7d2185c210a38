"""`meanshiftpp cluster`: points in, a label for each out.

Points that fit comfortably are read once and kept. Others are streamed: a first pass builds the
grid, a second labels; so are points with a checkpoint or a ready grid. At a given bandwidth both
ways give the same labels; without one, a stream's is chosen from a sample.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meanshiftpp.apps.cli.console import (
    counted,
    duration,
    errors_in_words,
    row_progress,
    say,
    show_facts,
    status,
)
from meanshiftpp.apps.cli.options import (
    AsJson,
    Bandwidth,
    CheckpointFile,
    Columns,
    Every,
    Files,
    Periods,
    Resolution,
    Threads,
    check_picture,
    first_pass,
    free_memory,
    open_source,
    read_bytes,
    read_periods,
    read_sides,
    same_columns,
)
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from meanshiftpp.core.modes import Modes
    from meanshiftpp.io.sources import Source

SIZES_SHOWN = 5
SAMPLE = 1_000_000  # rows that a bandwidth and a picture of streamed points are made from


@dataclass
class Summary:
    """What a run found, for people and for machines."""

    file: str
    columns: list[str]
    points: int
    bandwidth: list[float]
    cells: int
    iterations: int
    converged: bool
    clusters: int
    sizes: list[int]
    centers: list[list[float]]
    noise: int
    streamed: bool
    grid_weight: float | None = None  # of a grid made before, whose points may be others
    seconds: dict[str, float] = field(default_factory=dict)
    output: str | None = None
    label_column: str | None = None
    plot: str | None = None


@dataclass
class Task:
    """What is asked for, and the time each part took."""

    source: Source
    sides: list[float] | None
    resolution: int
    periods: list[float | None] | None
    tol: float
    max_iter: int
    min_size: int
    threads: int | None
    named: bool  # whether the columns were asked for
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass
class Found:
    """The modes, and the way to the labels of the source's points, which are asked for in order."""

    modes: Modes
    label: Callable[[NDArray[Any]], NDArray[np.int32]]
    points: NDArray[Any] | None = None  # all of them, or a sample
    tally: NDArray[np.int64] | None = None  # points labelled so far: noise, then each cluster


def cluster(
    files: Files,
    bandwidth: Bandwidth = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where labels go: a table beside all columns of FILE, .npy alone; a raster as "
            ".tif, a point cloud as .las or .laz.",
        ),
    ] = None,
    columns: Columns = None,
    as_json: AsJson = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Draw the clusters; also .svg and .pdf.")
    ] = None,
    resolution: Resolution = 1,
    periodic: Periods = None,
    tol: Annotated[
        float, typer.Option(min=0, metavar="T", help="Stop once all points together move less.")
    ] = 1e-3,
    max_iter: Annotated[
        int, typer.Option(min=1, metavar="N", help="Stop after so many steps.")
    ] = 300,
    min_cluster_size: Annotated[
        int, typer.Option(min=1, metavar="N", help="Smaller clusters are noise: label -1.")
    ] = 1,
    threads: Threads = None,
    stream: Annotated[
        bool | None,
        typer.Option("--stream/--no-stream", help="Read twice in chunks, or once and keep all."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Points that take more, as 500M or 2G, are streamed. Without it, a quarter of "
            "the free memory.",
        ),
    ] = None,
    checkpoint: CheckpointFile = None,
    every: Every = 30.0,
    grid: Annotated[
        Path | None,
        typer.Option(metavar="GRID", help="Label by this grid (of `grid build`), made before."),
    ] = None,
) -> None:
    """Find the clusters of the points in FILE.

    Prints a short table, and writes a label for each row to OUT: 0 is the largest cluster. Files
    that do not fit into memory comfortably are read twice, in chunks.
    """
    sides = None if bandwidth is None else read_sides(bandwidth)
    periods = read_periods(periodic)
    limit = free_memory() // 4 if memory is None else read_bytes(memory)
    if stream is False and checkpoint:
        raise typer.BadParameter("--checkpoint needs a stream, and --no-stream forbids it")
    if grid:
        given = {"--bandwidth": bandwidth, "--periodic": periodic, "--checkpoint": checkpoint}
        _refuse_with_a_grid({**given, "--no-stream": stream is False})
    with errors_in_words():
        from meanshiftpp._support.files import check_apart
        from meanshiftpp.io.streams import check_output

        if output:
            check_output(output)
        if plot:
            check_picture(plot)
        source = open_source(files, columns)
        check_apart([output, plot, checkpoint], [*source.paths, *([grid] if grid else [])])
        if output:
            check_output(output, source)
        how = (sides, resolution, periods, tol, max_iter, min_cluster_size, threads)
        task = Task(source, *how, named=columns is not None)
        streamed = bool(checkpoint or grid)
        if not streamed:
            streamed = source.nbytes > limit if stream is None else stream
        if grid:
            found = _by_grid(task, grid)
        elif streamed:
            found = _streamed(task, checkpoint, every)
        else:
            found = _kept(task)
        if found.points is None and (plot or any(_periods(found.modes))):
            found.points = source.sample(SAMPLE)[0]
        summary = _summary(task, found, streamed)
        if output:
            summary.label_column = _write(output, task, found)
            summary.output = str(output)
        if found.tally is not None:
            _tell_labelled(summary, task, found, found.tally)
        if plot:
            with status(f"drawing {plot}"):
                _draw(plot, task, found, summary)
                summary.plot = str(plot)
        if checkpoint:
            checkpoint.unlink(missing_ok=True)
        summary.seconds = task.seconds
    if 2 * summary.sizes.count(1) > summary.points:
        say(
            "more than half of the points are alone in their cluster: a larger bandwidth joins "
            "them, and meanshiftpp sweep shows what there is at which"
        )
    _show(summary, as_json)


# -- what is asked for -----------------------------------------------------------------------------


def _refuse_with_a_grid(given: dict[str, object]) -> None:
    """Refuse options that a grid has decided: they are a mistake somewhere."""
    for name, value in given.items():
        if value:
            raise typer.BadParameter(f"{name} has no meaning with --grid, which was made before")


# -- the work --------------------------------------------------------------------------------------


def _kept(task: Task) -> Found:
    """Read all points, and keep them."""
    from meanshiftpp.core.modes import fit_labels

    source = task.source
    with status(f"reading {source.name}"):
        start = perf_counter()
        points = source.read()
        task.seconds["read"] = perf_counter() - start
    start = perf_counter()
    with source.named():
        bandwidth = _bandwidth(task, lambda: (points, len(points)))
    with status(f"clustering {len(points):,} points"), source.named():
        options: Any = {"tol": task.tol, "max_iter": task.max_iter, "n_threads": task.threads}
        cells: Any = {"resolution": task.resolution, "periodic": task.periods}
        modes, labels = fit_labels(points, bandwidth, **cells, **options)
        modes = _checked(modes, task)
        labels[labels >= len(modes)] = -1  # labels are ordered by size
        task.seconds["cluster"] = perf_counter() - start
    return Found(modes, _in_order(labels), points)


def _streamed(task: Task, checkpoint: Path | None, every: float) -> Found:
    """Build the grid in a pass over the points, and search it."""
    from meanshiftpp.core.modes import fine_cells

    source = task.source
    start = perf_counter()
    bandwidth = _bandwidth(task, lambda: source.sample(SAMPLE))
    fine, _ = fine_cells(bandwidth, task.periods, len(source.columns), task.resolution)
    grid = first_pass(source, fine, task.periods, checkpoint, every, task.threads)
    task.seconds["read"] = perf_counter() - start
    return _searched(task, grid)


def _by_grid(task: Task, path: Path) -> Found:
    """Take a grid that was made before, and count the points that it labels."""
    import numpy as np

    from meanshiftpp.core.grid import Grid
    from meanshiftpp.core.gridfile import columns_of

    grid = Grid.load(path)
    if grid.n_features != len(task.source.columns):
        raise InvalidInputError(
            f"{path} is a grid of {counted(grid.n_features, 'feature')}, but {task.source.name} "
            f"has {len(task.source.columns)}: {', '.join(task.source.columns)}; see --columns"
        )
    here, there = task.source.columns, columns_of(path)
    same_columns(task.source.name, here, path, there, asked_for=task.named)
    found = _searched(task, grid)
    tally = np.zeros(len(found.modes) + 1, np.int64)

    def label(points: NDArray[Any]) -> NDArray[np.int32]:
        labels = found.label(points)
        tally[:] += np.bincount(labels + 1, minlength=len(tally))
        return labels

    return Found(found.modes, label, tally=tally)


def _tell_labelled(summary: Summary, task: Task, found: Found, tally: NDArray[np.int64]) -> None:
    """Put the numbers of the file where those of the grid are: they may be of other points."""
    if not summary.output:
        start = perf_counter()
        for chunk in task.source:
            if len(chunk):
                with chunk.named():
                    found.label(chunk.points)
        task.seconds["label"] = perf_counter() - start
    summary.grid_weight = found.modes.grid.total
    summary.points, summary.noise = int(tally.sum()), int(tally[0])
    summary.sizes = tally[1:].tolist()


def _searched(task: Task, grid: Any) -> Found:
    from meanshiftpp.core.modes import seek

    with status(f"searching {len(grid):,} cells"):
        start = perf_counter()
        options: Any = {"tol": task.tol, "max_iter": task.max_iter, "n_threads": task.threads}
        modes = seek(grid, resolution=task.resolution, **options)
        modes = _checked(modes, task)
        task.seconds["cluster"] = perf_counter() - start
    return Found(modes, lambda points: modes.label(points, n_threads=task.threads))


def _bandwidth(task: Task, sample: Callable[[], tuple[NDArray[Any], int]]) -> Any:
    """Take the bandwidth that was given, or choose one and say it, to the last digit.

    Parameters
    ----------
    task : Task
        What is asked for.
    sample : callable
        Gives points, and how many there are in all.
    """
    import numpy as np

    from meanshiftpp.bandwidth.choice import bandwidth_from_sample

    if task.sides:
        return task.sides[0] if len(task.sides) == 1 else task.sides
    with status(f"choosing a bandwidth for {task.source.name}"):
        points, total = sample()
        bandwidth = bandwidth_from_sample(points, total, n_threads=task.threads)
    if not np.isfinite(points).all():
        return bandwidth  # of nothing: the binning will say where the bad value is
    chosen = ",".join(f"{side!r}" for side in bandwidth.tolist())
    say(f"bandwidth chosen from {counted(len(points), 'point')}: -b {chosen}")
    return bandwidth


def _checked(modes: Modes, task: Task) -> Modes:
    if not modes.converged:
        say(f"warning: points still moved after {modes.n_iter} iterations; see --max-iter")
    return modes.keep(task.min_size) if task.min_size > 1 else modes


def _in_order(labels: NDArray[np.int32]) -> Callable[[NDArray[Any]], NDArray[np.int32]]:
    """Hand out labels that are there already, as many as there are points each time."""
    start = 0

    def label(points: NDArray[Any]) -> NDArray[np.int32]:
        nonlocal start
        start += len(points)
        return labels[start - len(points) : start]

    return label


def _write(output: Path, task: Task, found: Found) -> str | None:
    from meanshiftpp.io.streams import write_labels

    start = perf_counter()
    with row_progress() as bar:
        count = bar.add_task("labelling", total=task.source.rows)
        column = write_labels(
            output, task.source, found.label, progress=lambda rows: bar.advance(count, rows)
        )
    task.seconds["write"] = perf_counter() - start
    return column


def _draw(path: Path, task: Task, found: Found, summary: Summary) -> None:
    from meanshiftpp._support.files import atomic_path
    from meanshiftpp.plot import clusters

    assert found.points is not None  # were sampled for this
    figure = clusters(
        found.points,
        found.modes.label(found.points, n_threads=task.threads),
        centers=summary.centers,
        weights=summary.sizes,
        columns=task.source.columns,
        title=task.source.paths[0].name,
        subtitle=f"{summary.points:,} points, {counted(summary.clusters, 'cluster')}, "
        f"bandwidth {_sides(summary)}",
    )
    with atomic_path(path) as target, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # no font has it: the picture has a box instead
        figure.savefig(target)


def _periods(modes: Modes) -> list[float | None]:
    return [length or None for length in (modes.grid.period * modes.grid.bandwidth).tolist()]


def _summary(task: Task, found: Found, streamed: bool) -> Summary:
    from meanshiftpp.core.periods import nearest_copies

    modes, centers = found.modes, found.modes.centers
    if found.points is not None:
        centers = nearest_copies(centers, found.points, _periods(modes))
    total, kept = int(modes.grid.total), int(modes.weights.sum())
    return Summary(
        file=task.source.name,
        columns=list(task.source.columns),
        points=total,
        bandwidth=modes.bandwidth.tolist(),
        cells=len(modes.grid),
        iterations=modes.n_iter,
        converged=modes.converged,
        clusters=len(modes),
        sizes=[int(weight) for weight in modes.weights],
        centers=centers.tolist(),
        noise=total - kept,
        streamed=streamed,
    )


# -- what is said ----------------------------------------------------------------------------------


def _show(summary: Summary, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(summary)))
        return
    show_facts(summary.file, _lines(summary))


def _lines(summary: Summary) -> Iterator[tuple[str, str]]:
    yield "points", f"{summary.points:,} in {', '.join(summary.columns)}"
    yield "bandwidth", _sides(summary)
    weight = "" if summary.grid_weight is None else f", of a grid of weight {summary.grid_weight:,}"
    yield "cells", f"{summary.cells:,}{weight}"
    yield "iterations", f"{summary.iterations}{'' if summary.converged else ', not converged'}"
    yield "clusters", f"{summary.clusters:,}"
    yield "sizes", _sizes(summary.sizes)
    if summary.noise:
        yield "noise", counted(summary.noise, "point")
    names = {"cluster": "clustering", "label": "labelling", "read": "reading", "write": "writing"}
    took = [f"{names[part]} {duration(time)}" for part, time in summary.seconds.items()]
    yield "time", ", ".join(took)
    if summary.output:
        column = f", column {summary.label_column}" if summary.label_column else ""
        yield "labels", f"{summary.output}{column}"
    if summary.plot:
        yield "picture", summary.plot


def _sides(summary: Summary) -> str:
    distinct = dict.fromkeys(f"{side:.4g}" for side in summary.bandwidth)
    return ", ".join(distinct if len(distinct) == 1 else [f"{h:.4g}" for h in summary.bandwidth])


def _sizes(sizes: list[int]) -> str:
    first = "  ".join(f"{size:,}" for size in sizes[:SIZES_SHOWN])
    rest = len(sizes) - SIZES_SHOWN
    return f"{first}  and {rest:,} more" if rest > 0 else first or "none"
