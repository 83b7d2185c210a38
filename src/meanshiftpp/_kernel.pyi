"""The loops, in C++. Arrays are C-contiguous unless said otherwise; OUT marks those written to."""

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]
Counts = NDArray[np.uint64]
Sums = NDArray[np.uint64]

OFFSET_BITS: int  # of a point's fixed-point offset in its cell: 32
TIE_BITS: int  # a mean within 2**-TIE_BITS of a cell below an edge counts as on it: 20
WINDOW_SUM_BITS: int  # of a sum over a window along one axis: 63
COUNT_LIMIT: int  # the largest weight of a cell whose sums are exact: 2**32 - 1
MAX_CELL: int  # |x / cell_size| must stay below this: 2**51
MAX_EXACT: int  # float64 holds every integer up to this; keys of cells stay below it: 2**53
MAX_REACH: int  # the largest reach of a search: 64
MAX_KEY_AXES: int  # cells of up to this many axes are numbered by a key: 6
MAX_COLOUR_CELLS: int  # of ColourCells: 20,000

_Modes = tuple[
    NDArray[np.int32],  # label of each cell
    NDArray[np.int64],  # cell of each mode
    NDArray[np.float64],  # its place in that cell
    NDArray[np.uint64],  # its weight
    int,  # steps
    bool,  # whether the search converged
]

class Assignment:
    def take(
        self,
        values: NDArray[np.int32],
        ids: NDArray[np.int32],
        labels: NDArray[np.int32],
    ) -> None:
        """OUT labels[i] = values[cell of point i], -1 without one; `labels` may be `ids`."""

def bin_points(
    points: NDArray[np.generic],  # any strides
    cell_size: NDArray[np.float64],
    weights: NDArray[np.uint64] | None,
    ids: NDArray[np.int32] | None,  # OUT, for Assignment.take
    n_threads: int,
) -> tuple[Cells, Counts, Sums, Assignment]: ...
def bin_points_by(
    points: NDArray[np.generic],
    cell_size: NDArray[np.float64],
    weights: NDArray[np.uint64] | None,
    ids: NDArray[np.int32] | None,
    n_threads: int,
    strategy: str,
    isa: str | None,
) -> tuple[Cells, Counts, Sums, Assignment]:
    """`bin_points` by a given strategy and instruction set. For tests only.

    `strategy` is "auto", "dense", "ranked", "hash", "sorted" or "wide"; `isa` is one of
    `instruction_sets`, or None for the best. The results are bit-identical.
    """

class Hierarchy:
    """Regions of an image, from the finest on, and the order in which they merge."""

    def __init__(
        self,
        colours: NDArray[np.float32],  # (n, 3)
        clusters: NDArray[np.int32],  # (n,), negative where masked
        shape: tuple[int, ...],  # depth, height, width
        weights: tuple[float, float, float],
        min_size: int,
        limit: float,
        n_threads: int,
    ) -> None: ...
    def cut(self, colours: NDArray[np.float32], level: float, min_size: int) -> NDArray[np.int32]:
        """Labels by falling size, -1 where masked."""

    def count(self, level: float) -> int:
        """Regions at a cut."""

def convert_colours(
    rgb: NDArray[np.generic], space: str, white: float, n_threads: int
) -> NDArray[np.float32]: ...
def instruction_sets() -> list[str]:
    """Names the loops over points are compiled for and this machine runs, best first."""

def merge_cells(
    cells: Cells, counts: Counts, sums: Sums
) -> tuple[Cells, Counts, Sums, NDArray[np.uint32]]:
    """Sort the rows and add up those of the same cell; the last array is where each row went."""

def seek_modes(
    cells: Cells,
    counts: Counts,
    sums: Sums,
    cells_per_period: NDArray[np.int64],
    reach: int,
    tol: float,
    max_iter: int,
    n_threads: int,
) -> _Modes: ...
def seek_modes_by(
    cells: Cells,
    counts: Counts,
    sums: Sums,
    cells_per_period: NDArray[np.int64],
    reach: int,
    tol: float,
    max_iter: int,
    n_threads: int,
    window_sums: str,
) -> _Modes:
    """`seek_modes` with window sums by "rows", by "planes" or "auto". For tests only.

    The results are bit-identical.
    """

def find_cells(
    cells: Cells,
    counts: Counts,
    query: Cells,
    cells_per_period: NDArray[np.int64],
    reach: int,
    n_threads: int,
) -> NDArray[np.int64]:
    """Index of each (sorted, distinct) query cell, else of the heaviest within reach, else -1."""

def window_counts(
    cells: Cells,
    counts: Counts,
    query: Cells,
    cells_per_period: NDArray[np.int64],
    reach: int,
    n_threads: int,
) -> Counts:
    """Sum of the counts at most `reach` cells away from each (sorted, distinct) query cell."""

class ColourCells:
    """The cells of CIE Lab that bytes can have, and the table from colour to cell."""

    def __init__(self, sides: tuple[float, float, float]) -> None: ...
    def __len__(self) -> int: ...

class _Follower:
    """What both trackers have. Frames are uint8 (height, width, 3), any strides."""

    def init(
        self,
        frame: NDArray[np.uint8],
        window: tuple[int, int, int, int],  # inside the frame
        selected: NDArray[np.uint8] | None,  # (h, w) of the window, not 0: the object
    ) -> None: ...
    def update(self, frame: NDArray[np.uint8]) -> tuple[bool, tuple[int, int, int, int]]: ...
    def mask(self, frame: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
        """OUT, zeros before: 1 at the pixels followed."""

    def cells(self) -> Cells: ...
    def score(self) -> float: ...

class ColourTracker(_Follower):
    """Cells weighted by object against background."""

    def __init__(self, cells: ColourCells, scale: bool) -> None: ...

class CellFollower(_Follower):
    """Algorithm 3."""

    def __init__(
        self, sides: tuple[float, float, float], adapt: bool, tol: float, max_iter: int
    ) -> None: ...
