"""The searches of several grids, in a pool of threads unless the grids are small."""

from __future__ import annotations

from concurrent.futures import CancelledError, ThreadPoolExecutor

from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Search

FEW_CELLS = 1 << 14  # of all grids together, whose searches take about two milliseconds


def search_all(grids: list[Grid], search: Search, n_threads: int) -> list[Modes]:
    """Search small grids one after the other, else each on one thread.

    A grid with more than a thread's share of the cells is searched on all threads.
    """
    n_cells = sum(map(len, grids))
    if n_cells <= FEW_CELLS:
        return [search.modes(grid, n_threads=n_threads) for grid in grids]
    share = n_cells / n_threads
    results = {
        i: search.modes(grid, n_threads=n_threads)
        for i, grid in enumerate(grids)
        if len(grid) > share
    }
    small = [i for i in range(len(grids)) if i not in results]
    errors: list[BaseException] = []  # after the first, or Ctrl-C, no further search starts

    def search_small(i: int) -> Modes:
        if errors:
            raise CancelledError
        try:
            return search.modes(grids[i], n_threads=1)
        except BaseException as error:
            errors.append(error)
            raise

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            results |= dict(zip(small, pool.map(search_small, small), strict=True))
        except BaseException as error:
            errors.append(error)
            raise errors[0] from None
    return [results[i] for i in range(len(grids))]
