"""Cases without a CUDA kernel; they run on the host, with two copies.

Binning and merging run on the GPU, except for a few points outside the box of the others. The
search and the queries number cells by a key and visit each cell of a window; `supports_windows`
states which windows they cover. The search covers more by buckets; see `buckets.suits_buckets`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, TypeVarTuple, cast

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.checks import has_periods
from meanshiftpp._support.devices import to_host
from meanshiftpp.backends import host
from meanshiftpp.backends.cuda.launch import MAX_AXES, Array, cp
from meanshiftpp.backends.protocol import Binned
from meanshiftpp.errors import InvalidInputError

MAX_WINDOW_CELLS = 4096

_Args = TypeVarTuple("_Args")
_Result = TypeVar("_Result")


def supports_windows(n_axes: int, cells_per_period: NDArray[np.int64], reach: int) -> bool:
    """Return whether the kernels cover such windows: few axes, no period, not too many cells."""
    return (
        n_axes <= MAX_AXES
        and not has_periods(cells_per_period)
        and (2 * reach + 1) ** n_axes <= MAX_WINDOW_CELLS
    )


def run_on_host(function: Callable[[*_Args], _Result], *args: *_Args) -> _Result:
    """Call a function of `host` with copies of the arrays, and copy its arrays to the GPU."""
    result = cast(Any, function)(*map(to_host, args))
    return cast(_Result, _to_gpu(result))


def _to_gpu(value: Any) -> Any:
    if isinstance(value, tuple):  # a named tuple
        return type(value)(*map(_to_gpu, value))
    return cp.asarray(value) if isinstance(value, np.ndarray) else value


def bin_on_host(
    points: Array, cell_size: NDArray[np.float64], rows: NDArray[np.int64]
) -> tuple[Binned, NDArray[np.int32]]:
    """Bin some rows of X, and return the cell of each; an error states the first bad row of X."""
    order = np.argsort(rows)
    chosen = to_host(points[cp.asarray(rows[order])])
    ids, labels = np.empty((2, len(rows)), np.int32)
    try:
        binned = host.bin_points(chosen, cell_size, None, ids, 1)
    except InvalidInputError as error:
        row = None if error.row is None else int(rows[order[error.row]])
        raise InvalidInputError(error.problem, row=row, column=error.column) from None
    binned.assignment.take(np.arange(len(binned.counts), dtype=np.int32), ids, ids)
    labels[order] = ids
    return binned, labels


def raise_host_error(
    point: Array,
    cell_size: NDArray[np.float64],
    row: int | None = None,
    weight: int | None = None,
) -> NoReturn:
    """Raise the error that the host raises for one point, an array (1, d), with its row in X."""
    weights = None if weight is None else np.array([weight], np.uint64)
    try:
        host.bin_points(to_host(point), cell_size, weights, None, 1)
    except InvalidInputError as error:
        raise InvalidInputError(error.problem, row=row, column=error.column) from None
    raise RuntimeError("internal error: the host accepts this point; please report this")
