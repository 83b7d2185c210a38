"""The tasks that run on Dask's workers: bin a block, add grids, sample rows, label a block.

They are separate from `estimator`, so that workers import only the parts that a task needs: without
scikit-learn, a worker starts in a fraction of the time. Results are boxed in arrays, because Dask
reduces arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meanshiftpp._support.checks import as_points, thread_count
from meanshiftpp._support.devices import to_host
from meanshiftpp._support.extras import need
from meanshiftpp.core.accumulate import GridSum
from meanshiftpp.core.chunk import Chunk, chunk_from_arrow
from meanshiftpp.core.scale import SAMPLE_SIZE, sample_indices
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meanshiftpp.core.grid import Grid
    from meanshiftpp.core.modes import Modes
    from meanshiftpp.core.recipe import CheckedRecipe, Recipe


class Part(NamedTuple):
    """Row groups of a Parquet file; None for all."""

    path: str
    row_groups: tuple[int, ...] | None


Source = tuple[str, tuple[str, ...]]  # "blocks" or "partitions", and the names of the columns


def boxed(points: Any, *weight: Any, task: Any, block_id: Any, **options: Any) -> NDArray[Any]:
    """Run a task on a block of rows and box its result."""
    return _box(task(points, weight[0][:, 0] if weight else None, block_id[0], **options))


def identity(box: NDArray[Any], **_: Any) -> NDArray[Any]:
    """Return a box; Dask's reductions begin with a function of each block."""
    return box


def combined(combine: Callable[[Sequence[Any]], Any], boxes: Any, **_: Any) -> NDArray[Any]:
    """Combine the results in some boxes, or in one, to a box."""
    boxes = boxes if isinstance(boxes, list) else [boxes]
    return _box(combine([box.item() for box in boxes]))


def _box(value: Any) -> NDArray[Any]:
    box = np.empty((1, 1), object)
    box[0, 0] = value
    return box


def bin_block(
    points: NDArray[Any],
    weight: NDArray[Any] | None,
    number: int,
    *,
    recipe: CheckedRecipe,
    n_jobs: int | None,
    source: Source,
) -> Grid:
    """Return the grid of a block."""
    chunk = _chunk(points, weight, number, source)
    return recipe.bin(chunk, n_threads=task_threads(n_jobs))


def bin_parts(
    parts: Sequence[Part],
    *,
    recipe: CheckedRecipe,
    n_jobs: int | None,
    columns: list[str],
    kind: str,
) -> Grid:
    """Return the grid of parts of Parquet files, whose columns must have one type."""
    from meanshiftpp.io.sources import rows_per_chunk
    from meanshiftpp.io.tables.formats import open_parquet

    total, n_threads = GridSum(recipe.empty()), task_threads(n_jobs)
    rows = rows_per_chunk(np.dtype(kind).itemsize * len(columns))
    expected = need("pyarrow", "dask").from_numpy_dtype(np.dtype(kind))
    for path, row_groups in parts:
        with open_parquet(Path(path)) as file:
            types = {field.name: field.type for field in file.schema_arrow}
            if any(types.get(name) != expected for name in columns):
                raise InvalidInputError.for_file(path, "has other columns than the data frame")
            options = {"row_groups": row_groups, "columns": columns, "use_threads": n_threads > 1}
            for batch in file.iter_batches(rows, **options):
                if batch.num_rows:
                    chunk = chunk_from_arrow(batch.select(columns), path)
                    total.add_chunk(chunk, n_threads=n_threads)
    return total.grid()


def _chunk(points: Any, weight: Any, number: int, source: Source) -> Chunk:
    kind, columns = source
    return Chunk(points, weight, source=f"X.{kind}[{number}]", columns=columns)


def add(grids: Sequence[Grid]) -> Grid:
    """Return the sum of grids."""
    total = GridSum(grids[0])
    for grid in grids[1:]:
        total.add(grid)
    return total.grid()


def join_lists(lists: Sequence[list[Any]]) -> list[Any]:
    """Return the items of all lists, in order."""
    return list(chain.from_iterable(lists))


def block_size(
    points: NDArray[Any], weight: NDArray[Any] | None, number: int
) -> list[tuple[int, float]]:
    """Count the rows of positive weight and their weight; binning reports bad weights."""
    if weight is None:
        return [(len(points), len(points))]
    positive = weight[weight > 0]
    return [(len(positive), float(positive.sum()))]


def sample_block(
    points: NDArray[Any], weight: NDArray[Any] | None, number: int, *, starts: NDArray[np.int64]
) -> list[tuple[NDArray[Any], NDArray[np.float64] | None]]:
    """Return those rows of a block that `select_bandwidth` samples, and their weights."""
    points = as_points(points)
    if weight is not None:
        points, weight = points[weight > 0], weight[weight > 0]
    rows = sample_indices(int(starts[-1]), SAMPLE_SIZE)
    in_block = rows[(rows >= starts[number]) & (rows < starts[number + 1])] - starts[number]
    row_weights = None if weight is None else to_host(weight[in_block]).astype(np.float64)
    return [(to_host(points[in_block]), row_weights)]


def label_block(
    points: NDArray[Any],
    *,
    modes: Modes,
    recipe: Recipe,
    n_jobs: int | None,
    source: Source,
    block_id: Any,
) -> NDArray[np.int32]:
    """Return the labels of a block as a column."""
    with _chunk(points, None, block_id[0], source).locating_errors():
        return recipe.label(modes, points, n_threads=task_threads(n_jobs))[:, None]


def task_threads(n_jobs: int | None) -> int:
    """Return the threads of a task on its worker; negative numbers count from all cores."""
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, thread_count(None) + 1 + n_jobs)
