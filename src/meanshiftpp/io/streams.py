"""Cluster files of any size in two passes over chunks, in memory that does not grow with the file.

The first pass, in this module, adds the grids of all chunks, or their tallies if there is no
bandwidth; the second, in `label_files`, labels each chunk and writes it. Reading, labelling and
writing run in separate threads and overlap. The labels are the same as those of all points at once.

    source = open_points("stars.parquet")                 # or a folder, .npy, .tif, .laz, ...
    modes = seek(build_grid(source, bandwidth=0.5))
    write_labels("labelled.parquet", source, modes.label)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic
from typing import Any

from numpy.typing import ArrayLike

from meanshiftpp._support.checks import Periodic, as_not_negative
from meanshiftpp._support.files import check_readable, exists, is_folder, known_suffix, suffix_of
from meanshiftpp.core.grid import Grid
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io import arrays
from meanshiftpp.io.checkpoint import Checkpoint, Total
from meanshiftpp.io.clouds import source as clouds
from meanshiftpp.io.maps import rasters
from meanshiftpp.io.rows import Missing, check_missing
from meanshiftpp.io.sources import Progress, Source, check_source, format_names
from meanshiftpp.io.tables import source as tables

__all__ = ["add_points", "build_grid", "open_points"]

FORMATS = (*tables.READABLE, *arrays.FORMATS, *rasters.FORMATS, *clouds.FORMATS)
CHECKPOINT_SECONDS = 30.0


def open_points(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str] | None = None,
    *,
    weight: str | None = None,
    missing: Missing = "error",
    where: str | None = None,
) -> Source:
    r"""Open files of points without reading them.

    Parameters
    ----------
    paths : path or sequence of paths
        Tables (.parquet, .csv, .csv.gz, .arrow, .feather), arrays (.npy, .zarr), a raster (.tif)
        or point clouds (.las, .laz): a file, several of one kind, or a folder of them. The files
        of a folder are sorted by name; those whose name begins with a dot or an underscore are
        ignored.
    columns : sequence of str, default=None
        The features, in this order. By default all numeric columns of a table or an array, all
        bands of a raster except alpha, and x, y and z of a point cloud. Columns of arrays are named
        x0, x1, ...; bands of rasters have their descriptions as names, or band1, band2, ...; all
        dimensions of a point cloud can be chosen.
    weight : str, default=None
        A column of weights, which is then not a feature.
    missing : {"error", "drop", "label"}, default="error"
        Rows with a missing value (NaN, an empty field) in a feature or weight: raise an error,
        leave them out of the output too, or label them -1. A raster cannot leave pixels out.
    where : str, default=None
        Conditions on the rows that are points, such as ``classification != 2 and z > 1.5``: columns
        compared with numbers or, in tables, with quoted texts. Other rows are labelled -1.

    Returns
    -------
    source : Source
        An iterable of chunks, for `build_grid` and `write_labels`; `read` returns all points.

    Examples
    --------
    >>> from pathlib import Path
    >>> from meanshiftpp.stream import open_points
    >>> _ = Path("towns.csv").write_text("name,x,y\nA,1.5,2\nB,3.5,4\n")
    >>> source = open_points("towns.csv")
    >>> source.columns
    ('x', 'y')
    >>> source.read()
    array([[1.5, 2. ],
           [3.5, 4. ]])
    """
    columns = _as_columns(columns)
    all_paths = _as_paths(paths)
    files = [file for path in all_paths for file in _files(Path(path))]
    if not files:
        raise InvalidInputError("expected at least one file, got none")
    openers: dict[str, Callable[[list[Path], Sequence[str] | None], Source]] = {
        **dict.fromkeys(tables.READABLE, tables.TableSource),
        **dict.fromkeys(rasters.FORMATS, rasters.RasterSource),
        **dict.fromkeys(clouds.FORMATS, clouds.CloudSource),
        ".npy": arrays.NpySource,
        ".zarr": arrays.ZarrSource,
    }
    kinds = {openers[_suffix(file)]: _suffix(file) for file in files}
    if len(kinds) > 1:
        raise InvalidInputError(
            f"files must be of one kind, got {' and '.join(kinds.values())}; open each kind alone"
        )
    source = next(iter(kinds))(files, columns)
    check_missing(missing)
    if missing == "drop" and isinstance(source, rasters.RasterSource):
        expected = "'error' or 'label' for a raster, whose labels are an image"
        raise InvalidInputError.for_parameter("missing", expected, missing)
    if weight is not None and weight in (columns or ()):
        expected = f"a column other than those to cluster, {format_names(source.columns)}"
        raise InvalidInputError.for_parameter("weight", expected, weight)
    source = source if weight is None else source.weighted(weight)
    source = source if where is None else source.selected(where)
    source.missing = missing
    return source


def build_grid(
    source: Source,
    bandwidth: float | ArrayLike,
    *,
    periodic: Periodic = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = CHECKPOINT_SECONDS,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Grid:
    """Build the grid of all points of a source: the first pass.

    Parameters
    ----------
    source : Source
        The points, from `open_points`.
    bandwidth : float or array-like of shape (n_features,)
        The size of a cell, one for all features or one per feature.
    periodic : optional
        As in `Grid.from_points`.
    checkpoint : path, default=None
        A file for the grid so far and the position. If it exists, the run that wrote it is
        continued and ends with the same grid, bit for bit; a checkpoint of other data or another
        bandwidth is an error.
    every : float, default=30
        Seconds between checkpoints.
    n_threads : int, default=None
        The number of threads. By default every core that this process may use.
    progress : callable, default=None
        A function that is called with the number of rows processed since its last call.

    Returns
    -------
    grid : Grid
        Equal to `Grid.from_points` of all points.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.stream import build_grid, open_points
    >>> np.save("points.npy", np.array([[0.1, 0.2], [0.3, 0.1], [7.0, 7.0]]))
    >>> build_grid(open_points("points.npy"), bandwidth=0.5)
    Grid(2 cells, 2 features, weight 3, bandwidth 0.5)
    """
    check_source(source)
    return add_points(
        source,
        Grid.empty(bandwidth, len(source.columns), periodic=periodic),
        checkpoint=checkpoint,
        every=as_not_negative(every, "every"),
        n_threads=n_threads,
        progress=progress,
    )


def add_points(
    source: Source,
    start: Total,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = CHECKPOINT_SECONDS,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Total:
    """Add all points of a source to an empty grid or tally, with the options of `build_grid`."""
    done = Checkpoint(start) if checkpoint is None else Checkpoint.resume(checkpoint, source, start)
    position, rows = done.position, done.rows
    total: Any = done.total.start_sum()
    report = progress or (lambda rows: None)
    report(rows)
    saved = monotonic()
    with closing(source.chunks(position)) as chunks:  # ends the reader's thread on errors too
        for chunk in chunks:
            if len(chunk):
                total.add_chunk(chunk, n_threads=n_threads)
            position, rows = chunk.end, rows + chunk.size
            report(chunk.size)
            if checkpoint is not None and monotonic() - saved >= every:
                Checkpoint(total.total(), position, rows).save(checkpoint, source)
                saved = monotonic()
    result: Total = total.total()
    if checkpoint is not None and position != done.position:
        Checkpoint(result, position, rows).save(checkpoint, source)
    if not len(result):
        raise source.no_points() if source.weight is None else source.no_weight()
    return result


def _as_paths(paths: Any) -> list[str | os.PathLike[str]]:
    if isinstance(paths, str | os.PathLike):
        return [paths]
    given = list(paths) if isinstance(paths, Iterable) else [paths]
    if not all(isinstance(path, str | os.PathLike) for path in given):
        raise InvalidInputError.for_parameter("paths", "a path or a sequence of paths", paths)
    return given


def _as_columns(columns: object) -> list[str] | None:
    if columns is None:
        return None
    names = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else []
    if not all(isinstance(name, str) for name in names) or not 0 < len(set(names)) == len(names):
        raise InvalidInputError.for_parameter(
            "columns", "distinct names, at least one, or None for all numeric columns", columns
        )
    return names


# -- files -----------------------------------------------------------------------------------------


def _files(path: Path) -> Iterator[Path]:
    """Yield the readable files of a folder, or the file itself."""
    if not exists(path):
        check_readable(path)  # reports a name with a typing error, whatever its suffix
    if not is_folder(path) or arrays.is_zarr(path):
        known_suffix(f"x{_suffix(path)}" if is_folder(path) else path, FORMATS)
        yield path
        return
    readable = sorted(
        file
        for file in path.rglob("*")
        if suffix_of(file) in FORMATS
        and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    )
    # Some programs write an empty partition as an empty .csv, without a header.
    files = [file for file in readable if file.suffix.lower() != ".csv" or not _is_empty(file)]
    if not readable:
        raise InvalidInputError(
            f"the folder {str(path)!r} must contain files of points: {', '.join(FORMATS)}"
        )
    yield from files or readable


def _is_empty(file: Path) -> bool:
    check_readable(file)  # reports a link that leads nowhere
    return file.stat().st_size == 0


def _suffix(path: Path) -> str:
    """Return the suffix of a file; `.zarr` for any zarr store."""
    return ".zarr" if is_folder(path) and arrays.is_zarr(path) else suffix_of(path)
