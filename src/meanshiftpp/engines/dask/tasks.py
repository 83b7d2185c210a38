"""The tasks that run on Dask's workers: bin a block, add up grids or tallies, label a block.

They are separate from `estimator`, so that workers import only the parts that a task needs: without
scikit-learn, a worker starts in a fraction of the time. Results are boxed in arrays, because Dask
reduces arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from meanshiftpp._support.checks import thread_count
from meanshiftpp._support.extras import need
from meanshiftpp.core.chunk import Chunk, chunk_from_arrow
from meanshiftpp.engines.sums import Total, add_up, bin_chunks
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meanshiftpp.core.recipe import CheckedRecipe
    from meanshiftpp.core.tree import Clusters
    from meanshiftpp.core.tree.significant import Significant


class Part(NamedTuple):
    """Row groups of a Parquet file; None for all."""

    path: str
    row_groups: tuple[int, ...] | None


Source = tuple[str, tuple[str, ...]]  # "blocks" or "partitions", and the names of the columns


def identity(box: NDArray[Any], **_: Any) -> NDArray[Any]:
    """Return a box; Dask's reductions begin with a function of each block."""
    return box


def added(boxes: Any, **_: Any) -> NDArray[Any]:
    """Add up the results in some boxes, or in one, to a box."""
    boxes = boxes if isinstance(boxes, list) else [boxes]
    return _box(add([box.item() for box in boxes]))


def _box(value: Any) -> NDArray[Any]:
    box = np.empty((1, 1), object)
    box[0, 0] = value
    return box


def bin_block(
    points: NDArray[Any],
    *weight: NDArray[Any],
    recipe: CheckedRecipe | Significant,
    n_jobs: int | None,
    source: Source,
    block_id: Any,
) -> NDArray[Any]:
    """Return the grid or the tally of a block, boxed; weights are a column."""
    chunk = _chunk(points, weight[0][:, 0] if weight else None, block_id[0], source)
    return _box(recipe.bin(chunk, n_threads=task_threads(n_jobs)))


def bin_parts(
    parts: Sequence[Part],
    *,
    recipe: CheckedRecipe | Significant,
    n_jobs: int | None,
    columns: list[str],
    kind: str,
) -> Total:
    """Return the grid or the tally of parts of files, whose columns must have one type."""
    n_threads = task_threads(n_jobs)
    return bin_chunks(_file_chunks(parts, columns, kind, n_threads), recipe, n_threads)


def _file_chunks(
    parts: Sequence[Part], columns: list[str], kind: str, n_threads: int
) -> Iterator[Chunk]:
    from meanshiftpp.io.sources import rows_per_chunk
    from meanshiftpp.io.tables.formats import open_parquet

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
                    yield chunk_from_arrow(batch.select(columns), path)


def _chunk(points: Any, weight: Any, number: int, source: Source) -> Chunk:
    kind, columns = source
    return Chunk(points, weight, source=f"X.{kind}[{number}]", columns=columns)


def add(parts: Sequence[Total]) -> Total:
    """Return the sum of grids or of tallies, of at least one."""
    total = add_up(("a part", part) for part in parts)
    assert total is not None
    return total


def label_block(
    points: NDArray[Any],
    *,
    label: Callable[..., NDArray[Any]],
    n_jobs: int | None,
    source: Source,
    block_id: Any,
) -> NDArray[Any]:
    """Return the labels of a block, or other values, as a column."""
    with _chunk(points, None, block_id[0], source).locating_errors():
        return label(points, n_threads=task_threads(n_jobs))[:, None]


def leaf_values(
    clusters: Clusters, values: NDArray[Any], points: NDArray[Any], *, n_threads: int
) -> NDArray[Any]:
    """Return the value of each point's leaf; the last value is for points of no leaf."""
    return values[clusters.leaf_ids(points, n_threads=n_threads)]


def task_threads(n_jobs: int | None) -> int:
    """Return the threads of a task on its worker; negative numbers count from all cores."""
    if n_jobs is None:
        return 1
    return n_jobs if n_jobs > 0 else max(1, thread_count(None) + 1 + n_jobs)
