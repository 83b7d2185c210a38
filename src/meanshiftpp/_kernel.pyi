"""The native module: the loops, in C++.

Arrays are C-contiguous and read only, unless marked otherwise: OUT arrays are written to. Points
and frames may have any strides. Cells are int64, sorted and distinct unless marked otherwise.
Functions release the GIL, and their results do not depend on `n_threads`. `InvalidInputError`
reports bad values of points; other errors of arguments are ValueError and TypeError.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]  # (m, d)
Counts = NDArray[np.uint64]  # (m,)
Sums = NDArray[np.uint64]  # (m, d)

# Limits

OFFSET_BITS: int  # bits of a point's fixed-point offset in its cell: 32
TIE_BITS: int  # a mean at most 2**-TIE_BITS of a cell below an edge counts as on it: 20
WINDOW_SUM_BITS: int  # bits of a window's sum along one axis: 63
FREE_STEPS: int  # steps of a search in which cells move however little: 64
DOUBLING_STEPS: int  # after which the longest move of a resting cell doubles: 8
COUNT_LIMIT: int  # the largest weight of a cell whose sums are exact: 2**32 - 1
MAX_CELL: int  # |x / cell_size| must stay below this: 2**51
MAX_EXACT: int  # float64 holds every integer up to this; keys of cells stay below it: 2**53
MAX_REACH: int  # the largest reach of a search: 64
MAX_FEATURES: int  # the largest number of axes of points and cells: 2**20
MAX_KEY_AXES: int  # cells of up to this many axes are numbered by a key: 10
MARGINAL_CELLS: int  # the largest number of occupied cells of a marginal: 65,536
MAX_COLOUR_CELLS: int  # the largest number of colours of ColourCells: 20,000

# Binning

class Assignment:
    """The cell of each point, made by `bin_points`."""

    def take(
        self,
        values: NDArray[np.int32],  # (m,)
        ids: NDArray[np.int32],  # (n,), as written by bin_points
        labels: NDArray[np.int32],  # OUT (n,); may be `ids`
    ) -> None:
        """Set labels[i] to values[cell of point i], or to -1 for a point without a cell."""

def bin_points(
    points: NDArray[np.generic],  # (n, d), float32, float64 or integers
    cell_size: NDArray[np.float64],  # (d,)
    weights: NDArray[np.uint64] | None,  # (n,)
    ids: NDArray[np.int32] | None,  # OUT (n,), for Assignment.take
    n_threads: int,
) -> tuple[Cells, Counts, Sums, Assignment]:
    """Count the points of each occupied cell, and sum their offsets in it."""

def bin_points_by(
    points: NDArray[np.generic],
    cell_size: NDArray[np.float64],
    weights: NDArray[np.uint64] | None,
    ids: NDArray[np.int32] | None,
    n_threads: int,
    strategy: str,
    isa: str | None,
) -> tuple[Cells, Counts, Sums, Assignment]:
    """Bin with a given strategy and instruction set; bit-identical to `bin_points`. For tests only.

    `strategy` is "auto", "dense", "ranked", "hash", "sorted" or "wide"; `isa` is one of
    `instruction_sets()`, or None for the best.
    """

def instruction_sets() -> list[str]:
    """Return the instruction sets that the loops are compiled for and that run here, best first."""

def merge_cells(
    cells: Cells,  # in any order, with repetitions
    counts: Counts,
    sums: Sums,
) -> tuple[Cells, Counts, Sums, NDArray[np.uint32]]:
    """Sort rows and add up those of the same cell; the last array is the new index of each row."""

def coarsen_cells(
    cells: Cells,
    counts: Counts,
    sums: Sums,
    factor: int,  # from 1 to 2**31 - 1
    n_threads: int,
) -> tuple[Cells, Counts, Sums]:
    """Return the grid of cells `factor` times as wide; each sum is rounded once per merged cell."""

# The search

_Modes = tuple[
    NDArray[np.int32],  # (m,), the mode of each cell
    NDArray[np.int64],  # (k, d), the cell that each mode is in
    NDArray[np.float64],  # (k, d), its position in that cell
    NDArray[np.uint64],  # (k,), its weight, falling
    int,  # steps
    bool,  # whether the search converged
]

def seek_modes(
    cells: Cells,
    counts: Counts,
    sums: Sums,
    cells_per_period: NDArray[np.int64],  # (d,), 0 for an axis without a period
    reach: int,
    tol: float,
    max_iter: int,
    n_threads: int,
) -> _Modes:
    """Move every cell to the mean of its window until nothing moves."""

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
    """Search with window sums by "rows", by "planes" or "auto". For tests only.

    The result is bit-identical to that of `seek_modes`.
    """

def join_modes(
    cells: Cells,  # distinct, not sorted
    weights: Counts,  # falling
    cells_per_period: NDArray[np.int64],
    reach: int,
    n_threads: int,
) -> tuple[
    NDArray[np.int32],  # (k,), of each mode the one that it belongs to, numbered by falling weight
    NDArray[np.int64],  # the modes that are left, in that order
    NDArray[np.uint64],  # and their weights
]:
    """Join each mode to the heaviest in its window, the end of a search on another device."""

def rest_limit(step: int, tol: float, bits: int, reach: int) -> int:
    """Return the longest move of a cell that rests in a step, in units of 2**-bits of a cell."""

# Queries

def find_cells(
    cells: Cells,
    counts: Counts,
    query: Cells,
    cells_per_period: NDArray[np.int64],
    reach: int,
    n_threads: int,
) -> NDArray[np.int64]:
    """Return the index of each query cell, else of the heaviest within reach, else -1."""

def window_counts(
    cells: Cells,
    counts: Counts,
    query: Cells,
    cells_per_period: NDArray[np.int64],
    reach: int,
    n_threads: int,
) -> Counts:
    """Return the sum of the counts of the cells at most `reach` away from each query cell."""

def sum_clusters(
    points: NDArray[np.generic],
    labels: NDArray[np.int32],  # -1 for none
    weights: NDArray[np.float64] | None,
    centers: NDArray[np.float64],  # (k, d)
    periods: NDArray[np.float64],  # (d,), 0 for a feature without a period
    units: NDArray[np.float64],  # (d,)
) -> tuple[
    float,  # the weight of all points
    NDArray[np.float64],  # (k,), the weight of each cluster
    NDArray[np.float64],  # (k, d), the weighted sum of offsets from its center, in units
    NDArray[np.float64],  # (k, d), and of their squares
    NDArray[np.float64],  # (k, d), the smallest offset, infinite without points
    NDArray[np.float64],  # (k, d), the largest
]:
    """Add up the points of each cluster, in one pass on one thread."""

# Marginals and lattices

LEAST_SPREAD: float  # a feature with a smaller spread is constant: 2**-950
PERIOD_BITS: int  # a period has 2**PERIOD_BITS cells of a lattice: 30
CODE_BITS: int  # of the longest code of a leaf, shared by all features: 512

class Marginal:
    """The occupied cells of one feature, at the finest size with at most MARGINAL_CELLS of them.

    The number of occupied cells only grows with the data, so marginals of parts add up to that of
    all points, in any order.
    """

    def __init__(
        self,
        level: int,  # a cell is 2**level wide; a period has MARGINAL_CELLS cells instead
        cells: NDArray[np.int64],  # (m,), rising
        counts: NDArray[np.uint64],  # (m,), the weight in each
        low: float,  # the least value; within the period, for a feature with one
        high: float,
        period: float,  # 0 for none
    ) -> None: ...
    def __add__(self, other: Marginal) -> Marginal: ...
    def __len__(self) -> int:
        """Return the number of occupied cells."""

    @property
    def level(self) -> int: ...
    @property
    def cells(self) -> NDArray[np.int64]: ...
    @property
    def counts(self) -> NDArray[np.uint64]: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def period(self) -> float: ...
    @property
    def fine_level(self) -> int:
        """The level of the cells of a tree, for a feature without a period."""

    @property
    def spread(self) -> float:
        """The standard deviation; far outliers are moved to a limit."""

    @property
    def varies(self) -> bool:
        """Whether the feature is not constant, apart from the rounding of its values."""

class Lattice:
    """Cells of the same size along all features, in the units of a tree.

    A value x has the coordinate ``(floor(x / cell_size) - low) >> shift``. Points outside of the
    `extent` are not part of the tree; they are far beyond nearly all others. Arrays have one value
    per feature.
    """

    def __init__(
        self,
        cell_size: NDArray[np.float64],
        cells_per_period: NDArray[np.int64],  # 0 for none
        low: NDArray[np.int64],  # the first cell
        extent: NDArray[np.int64],  # how many there are
        shift: NDArray[np.int64],  # bits of the number of a cell that are dropped
        scale: NDArray[np.float64],  # length of a coordinate in the tree; 1 without a period
        units: NDArray[np.float64],  # length in data units of 1 in the tree; 0 for a constant
        constants: NDArray[np.float64],  # medians, for features with a single coordinate
    ) -> None: ...
    @property
    def cell_size(self) -> NDArray[np.float64]: ...
    @property
    def cells_per_period(self) -> NDArray[np.int64]: ...
    @property
    def low(self) -> NDArray[np.int64]: ...
    @property
    def extent(self) -> NDArray[np.int64]: ...
    @property
    def shift(self) -> NDArray[np.int64]: ...
    @property
    def scale(self) -> NDArray[np.float64]: ...
    @property
    def units(self) -> NDArray[np.float64]: ...
    @property
    def constants(self) -> NDArray[np.float64]: ...
    @property
    def period(self) -> NDArray[np.float64]:
        """The period of each feature in the tree; 0 for none."""

    def positions(self, points: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return the positions of points in the tree, without rounding to coordinates."""

    def middles(self, points: NDArray[np.generic]) -> NDArray[np.float64]:
        """Return positions that are equal for all points with the same coordinates."""

    def wrapped(self, offsets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return offsets of positions the shorter way round each period."""

    def values(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return positions in the tree as points in data units."""

def marginals(
    points: NDArray[np.generic],  # (n, d)
    weights: NDArray[np.uint64] | None,  # (n,); points of weight 0 do not count
    period: NDArray[np.float64],  # (d,), 0 for none
    n_threads: int,
) -> list[Marginal]:
    """Return the marginal of each feature; raise for a value that is not finite."""

def check_finite(points: NDArray[np.generic], n_threads: int) -> None:
    """Raise for the first value that is not finite."""

def unit_choices(marginals: Sequence[Marginal]) -> list[NDArray[np.float64]]:
    """Return the units in which to look at features: all alike, and each by its spread.

    Spreads are rounded to powers of four of the largest. A constant feature has the unit 0. The
    list is empty if all features are constant.
    """

def plan_lattice(
    marginals: Sequence[Marginal],
    units: NDArray[np.float64],  # (d,), relative to each other
    total: float,  # the weight of all points
) -> tuple[Lattice, NDArray[np.float64], bool]:
    """Return the finest lattice whose codes fit, the piles at the ends of features, and is_plain.

    A pile is a row of feature, value and width; the width is negative at the low end. Features are
    plain if none has a pile at its end or is rounded.
    """

# Leaves

_Leaves = tuple[
    NDArray[np.uint64],  # (m, words), the first code in the box of each leaf
    NDArray[np.uint16],  # (m,), the free bits of the codes in it
    NDArray[np.float64],  # (m, d), means in the tree
    NDArray[np.int64],  # (m,), weights
]

def build_leaves(
    points: NDArray[np.generic],  # (n, d)
    weights: NDArray[np.uint64] | None,  # (n,); points of weight 0 belong to no leaf
    lattice: Lattice,
    limit: int,  # the largest weight of a box that is not halved further
    n_threads: int,
) -> tuple[
    _Leaves,
    NDArray[np.uint32],  # the points inside, along the Morton curve
    NDArray[np.uint32],  # (m + 1,), where each leaf begins among them
    float,  # the sum of the squared weights of points with equal coordinates
]:
    """Divide points into the largest boxes of at most `limit` weight."""

def find_leaves(
    points: NDArray[np.generic],
    lattice: Lattice,
    ends: NDArray[np.float64],  # (k, 3), piles whose points were spread
    codes: NDArray[np.uint64],  # (m, words), rising
    bits: NDArray[np.uint16],  # (m,)
    n_threads: int,
) -> NDArray[np.int32]:
    """Return the leaf whose box holds each point, -1 for none."""

def take_leaves(
    rows: NDArray[np.uint32],  # as of build_leaves
    first: NDArray[np.uint32],
    values: NDArray[np.int32],  # (m,)
    labels: NDArray[np.int32],  # OUT (n,); points of no leaf keep their value
    n_threads: int,
) -> None:
    """Set labels[i] to values[leaf of point i]."""

class Piles:
    """Points of which many are equal: their piles are spread, or count less."""

    def __init__(
        self,
        marginals: Sequence[Marginal],
        lattice: Lattice,
        ends: NDArray[np.float64],  # (k, 3)
        positions: NDArray[np.float64],  # (m, d), of leaves of one coordinate each
        weights: NDArray[np.int64],  # (m,)
        total: float,  # the weight of all points
        whole: bool,  # whether a weight of w stands for w equal points
        row: int,  # the counts of one row, 1 for whole weights
        grain: NDArray[np.float64],  # (d,), width of the cells whose middles the points are, or 0
    ) -> None: ...
    @property
    def total(self) -> int:
        """The sum of the counts, after repeated points count less."""

    def leaves(self, limit: int, n_threads: int) -> tuple[_Leaves, NDArray[np.int32]]:
        """Return leaves of at most `limit` counts, and that of each position or -1."""

def least_shift(cells: Cells, least: int, most: int) -> int:  # cells in any order
    """Return how many bits to drop from cells, at least so many, until `most` are distinct."""

# The tree

def grow_tree(
    lattice: Lattice,
    positions: NDArray[np.float64],  # (m, d), of the leaves
    weights: NDArray[np.int64],  # (m,), positive
    sizes: NDArray[np.float64],  # (m,), counts of the points in each leaf
    hosts: NDArray[np.int64] | None,  # (m,), of an earlier tree of the same leaves
    rows: float,  # effective number of rows of all leaves, at most the sum of the weights
    strictness: NDArray[np.float64],  # of each stage, falling
    enough: int,  # the next stage follows if there are fewer clusters
    critical: NDArray[np.float64],  # line, plane, slope, least
    n_threads: int,
) -> tuple[
    NDArray[np.int64],  # (m,), the cluster of each leaf
    NDArray[np.int64],  # (m,), log2 of the radius of its lightest window, in units of 2**-16
    dict[str, NDArray[np.generic]],  # the splits as columns
    int,  # the mass of the lightest windows
    int,  # the number of masses tried
    NDArray[np.int64],  # (m,), the leaf whose cluster each leaf is in; -1 for its own background
]:
    """Grow the tree of significant clusters, all of which have points."""

def leaf_limit(rows: float, total: float) -> int:
    """Return the largest weight of a leaf that blurs a window less than noise."""

def finer_limit(
    labels: NDArray[np.int64],  # (m,), the cluster of each leaf
    weights: NDArray[np.int64],  # (m,)
    rows: float,
    limit: int,
) -> int:
    """Return the weight of the leaves that small parts of a tree need; `limit` if it has none."""

def join_small(
    size: NDArray[np.float64],  # of each cluster
    cluster: NDArray[np.int64],  # (k,), of each split
    other: NDArray[np.int64],  # (k,), the cluster across
    level: NDArray[np.float64],  # (k,), of the saddle: lower where it is denser
    min_size: float,
) -> list[int]:
    """Return the splits to undo: the smallest cluster joins across its densest saddle first."""

def weakest_first(
    size: NDArray[np.float64],  # of each cluster
    cluster: NDArray[np.int64],  # (k,), of each split
    parent: NDArray[np.int64],
    other: NDArray[np.int64],  # the cluster across
    stage: NDArray[np.int64],
    depth: NDArray[np.float64],
) -> list[int]:
    """Return the order in which splits are undone: the loosest stage, then the least separation."""

# Images

def convert_colours(
    rgb: NDArray[np.generic],  # (n, 3)
    space: str,  # "rgb", "lab", "luv" or "hsv"
    white: float,  # the full scale of rgb
    n_threads: int,
) -> NDArray[np.float32]:
    """Convert sRGB to another colour space."""

class MergeTable:
    """The learned cost of merging two regions: symmetric trees of depth 5."""

    def __init__(
        self,
        features: NDArray[np.uint8],  # (trees, 5)
        thresholds: NDArray[np.float32],  # (trees, 5)
        values: NDArray[np.int16],  # (trees, 32), in steps of 2^-16
        bias: int,
    ) -> None: ...
    def score(self, features: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return log odds that both sides of each border are one region, in steps of 2^-16."""

class MergeTrace:
    """The borders that the learned stage met, for training."""

    def __init__(self) -> None: ...
    def features(self) -> NDArray[np.float32]:
        """Return the 38 features of each scored border."""

    def sides(self) -> NDArray[np.uint32]:
        """Return the nodes on both sides: first the smaller one."""

    def merged(self) -> NDArray[np.uint32]:
        """Return the two nodes that each merge joined; its own node has the next number."""

    def region_of_pixels(self) -> NDArray[np.uint32]:
        """Return the node of each pixel before the first merge."""

class Hierarchy:
    """The finest regions of an image, and the order in which they merge."""

    def __init__(
        self,
        colours: NDArray[np.float32],  # (n, 3)
        clusters: NDArray[np.int32],  # (n,), negative for masked pixels
        shape: tuple[int, ...],  # depth, height, width
        weights: tuple[float, float, float],  # of the colours
        min_size: int,
        limit: float,  # the highest level of a merge; the default cut has level 1
        n_threads: int,
        table: MergeTable | None = None,  # None: the learned stage does not apply
        lab: NDArray[np.float32] | None = None,  # (n, 3); None: the colours are in Lab
        trace: MergeTrace | None = None,
    ) -> None: ...
    def cut(
        self, colours: NDArray[np.float32], wanted: int, min_size: int, n_threads: int
    ) -> NDArray[np.int32]:
        """Return labels by falling size, -1 for masked pixels; `wanted` is a number of regions."""

    def count(self, level: float) -> int:
        """Return the number of regions of a cut."""

# Trackers

class ColourCells:
    """The cells of CIE Lab that bytes can lie in, and the table from colour to cell."""

    def __init__(self, sides: tuple[float, float, float]) -> None: ...
    def __len__(self) -> int: ...

class _Tracker:
    """The methods of both trackers. Frames are uint8 of shape (height, width, 3)."""

    def init(
        self,
        frame: NDArray[np.uint8],
        window: tuple[int, int, int, int],  # left, top, width, height, inside the frame
        selected: NDArray[np.uint8] | None,  # (height, width) of the window, not 0 for the object
    ) -> None: ...
    def update(self, frame: NDArray[np.uint8]) -> tuple[bool, tuple[int, int, int, int]]:
        """Return whether the object is present, and the window."""

    def mask(
        self,
        frame: NDArray[np.uint8],
        out: NDArray[np.uint8],  # OUT (height, width), zeros before
    ) -> None:
        """Set the pixels of the object to 1."""

    def cells(self) -> Cells:
        """Return the colour cells of the object."""

    def score(self) -> float:
        """Return a score of the object's presence, from 0 to 1."""

class ColourTracker(_Tracker):
    """The robust tracker: colour cells weighted by object against surroundings."""

    def __init__(
        self, cells: ColourCells, scale: bool, settings: Mapping[str, float] = {}
    ) -> None: ...
    def signals(self) -> list[float]: ...

class CellFollower(_Tracker):
    """Algorithm 3 of the paper."""

    def __init__(
        self, sides: tuple[float, float, float], adapt: bool, tol: float, max_iter: int
    ) -> None: ...
