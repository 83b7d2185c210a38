"""Files of labels: the second pass over a source, which labels each chunk and writes it."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.files import (
    atomic_path,
    check_no_overwrite,
    check_writable,
    is_folder,
    known_suffix,
    suffix_of,
)
from meanshiftpp._support.read_ahead import read_ahead
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io import arrays
from meanshiftpp.io.clouds import source as clouds
from meanshiftpp.io.maps import rasters
from meanshiftpp.io.rows import written
from meanshiftpp.io.sources import (
    LabelPoints,
    LabelWriter,
    Progress,
    Source,
    check_source,
    label_column_name,
)
from meanshiftpp.io.tables import source as tables
from meanshiftpp.io.tables.csv_lines import CsvLines

__all__ = ["Labels", "check_output", "write_labels"]

OUTPUTS = (*tables.FORMATS, ".npy", *rasters.FORMATS, *clouds.FORMATS)

Labels = LabelPoints | NDArray[np.int32]


def write_labels(
    path: str | os.PathLike[str],
    source: Source,
    labels: Labels,
    *,
    progress: Progress | None = None,
) -> str | None:
    r"""Label all points of a source and write the labels: the second pass.

    Parameters
    ----------
    path : path
        The output. A table (.parquet, .csv, .arrow, .feather) gets all columns of the source and a
        column of labels, and a .csv the unchanged lines of a .csv source; an .npy file gets the
        labels only. The labels of a raster are a .tif with the same georeference, and -1 for pixels
        without data. Those of a point cloud are an additional dimension of a .las or .laz file. A
        partially written file never has this name.
    source : Source
        The points, from `open_points`.
    labels : callable or int32 array of shape (n_points,)
        A function that returns a label for each point of an array, such as `Modes.label`; or the
        labels themselves, one per point in the order of the source.
    progress : callable, default=None
        A function that is called with the number of rows processed since its last call.

    Returns
    -------
    column : str or None
        The name of the label column: `label`, or `label_2` and so on if the source has a `label`.

    Raises
    ------
    InvalidInputError
        The number of labels differs from the number of points, or a file of the source has changed
        since it was opened.

    Examples
    --------
    >>> from pathlib import Path
    >>> from meanshiftpp import seek
    >>> from meanshiftpp.stream import build_grid, open_points, write_labels
    >>> _ = Path("in.csv").write_text("town,x\nA,0.1\nB,7.0\nC,0.2\n")
    >>> source = open_points("in.csv")
    >>> write_labels("out.csv", source, seek(build_grid(source, 0.5)).label)
    'label'
    >>> Path("out.csv").read_text().split()
    ['town,x,label', 'A,0.1,0', 'B,7.0,1', 'C,0.2,0']
    """
    check_source(source)
    if not callable(labels):
        labels = _as_labels(labels)
    check_output(path, source)
    source.check_unchanged()  # the labels may be those of an earlier pass
    whole = suffix_of(path) != ".npy" and _csv_files(suffix_of(path), source) is None
    report = progress or (lambda rows: None)
    with atomic_path(path) as target, _writer(target, Path(path), source) as writer:
        labelled = _labelled(source.chunks(whole=whole), labels)
        with closing(read_ahead(labelled)) as chunks:  # ends the reader threads on errors too
            for chunk, chunk_labels in chunks:
                if not isinstance(source, rasters.RasterSource):  # it has a label for no data
                    chunk, chunk_labels = written(chunk, chunk_labels, source.missing)
                writer.write(chunk, chunk_labels)
                report(chunk.size)
        return writer.column


def check_output(
    path: str | os.PathLike[str], source: Source | None = None, *, also: Sequence[str] = ()
) -> None:
    """Check before a long computation that its labels can be written.

    Parameters
    ----------
    path : path
        The output. It is neither created nor changed.
    source : Source, default=None
        The points that will be labelled.
    also : sequence of str, default=()
        Suffixes of outputs that the caller writes itself, to list them in the message.

    Raises
    ------
    InvalidInputError
        The suffix is unknown or does not suit the source, or such a file cannot hold one of the
        columns.
    FileAccessError
        The folder does not exist or is not writable, or `path` is a folder or a file of the source.

    Examples
    --------
    >>> from meanshiftpp.stream import check_output
    >>> check_output("labels.txt")
    Traceback (most recent call last):
        ...
    meanshiftpp.errors.InvalidInputError: 'labels.txt' must end in .parquet, .csv, .arrow, .feather,
    .npy, .tif, .tiff, .las or .laz
    """
    formats: Sequence[str] = OUTPUTS
    if source is not None:
        formats = (*tables.FORMATS, ".npy")
        if isinstance(source, rasters.RasterSource):
            formats = rasters.FORMATS
        elif isinstance(source, clouds.CloudSource):
            formats = (*clouds.FORMATS, *formats)
        check_no_overwrite([path], source.paths)
    if not is_folder(path):  # check_writable reports a folder
        known_suffix(path, (*formats, *also))
    check_writable(path)
    if isinstance(source, tables.TableSource):
        source.check_fits(Path(path))


def _writer(target: Path, final: Path, source: Source) -> LabelWriter:
    """Open a writer to the temporary file `target`; error messages name the `final` one."""
    suffix = target.suffix.lower()
    if isinstance(source, rasters.RasterSource):
        return rasters.RasterLabels(target, source)
    if suffix in clouds.FORMATS and isinstance(source, clouds.CloudSource):
        return clouds.CloudLabels(target, source)
    if lines := _csv_files(suffix, source):
        column = label_column_name(source.schema().names)  # type: ignore[attr-defined]
        return CsvLines(target, lines, column)
    if suffix == ".npy":
        return arrays.NpyLabels(target, _rows_written(source))
    return tables.TableLabels(target, final, source)


def _csv_files(suffix: str, source: Source) -> list[Path] | None:
    """Return the files whose lines a .csv file copies; None if they are not all .csv files."""
    return (
        source.csv_files() if suffix == ".csv" and isinstance(source, tables.TableSource) else None
    )


def _rows_written(source: Source) -> int:
    """Return the number of rows that get a label."""
    if source.missing == "drop":
        return sum(len(chunk) for chunk in source)
    return source.rows if source.rows is not None else sum(chunk.size for chunk in source)


def _labelled(
    chunks: Generator[Chunk, None, None], labels: Labels
) -> Iterator[tuple[Chunk, NDArray[np.int32]]]:
    """Yield each chunk with its labels."""
    if not callable(labels):
        yield from _sliced(chunks, labels)
        return
    with closing(chunks):
        for chunk in chunks:
            with chunk.locating_errors():
                chunk_labels = labels(chunk.points) if len(chunk) else np.empty(0, np.int32)
            if np.shape(chunk_labels) != (len(chunk),):
                raise InvalidInputError(
                    f"labels must return one label per point, {len(chunk)} for {chunk.source}; "
                    f"got shape {np.shape(chunk_labels)}"
                )
            yield chunk, _as_labels(chunk_labels)


def _sliced(
    chunks: Generator[Chunk, None, None], labels: NDArray[np.int32]
) -> Iterator[tuple[Chunk, NDArray[np.int32]]]:
    """Yield each chunk with its part of all labels; check their number."""
    end = 0
    with closing(chunks):
        for chunk in chunks:
            start, end = end, end + len(chunk)
            if end <= len(labels):  # otherwise only count, for the error message
                yield chunk, labels[start:end]
    if end != len(labels):
        raise InvalidInputError.for_parameter(
            "labels", f"an array of {end} labels, one per point of the source", len(labels)
        )


def _as_labels(labels: object) -> NDArray[np.int32]:
    """Check an array of labels."""
    array = np.asarray(labels)
    if array.ndim != 1 or not np.can_cast(array.dtype, np.int32):
        raise InvalidInputError(
            "labels must be a function or a 1-D array of int32, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return np.ascontiguousarray(array, np.int32)
