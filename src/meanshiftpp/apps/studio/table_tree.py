"""The tree of a table: its significant clusters at many values of strictness.

Growing a tree takes tens of milliseconds, and its bandwidth and the search follow. All three are
stored, so a line that is dragged over the tree only joins modes and looks up labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.bandwidth.significant import Basins, recipe_of_tree, shared_counts
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.core.tree import JoinedModes, Tree, join_modes
from meanshiftpp.core.tree.valleys import COUNTS, Candidate, describe_candidates

__all__ = ["Cuts", "link_trees"]

# The preferred numbers E24, in steps of about 10 %, from 0.2 to 62.
_E24 = "10 11 12 13 15 16 18 20 22 24 27 30 33 36 39 43 47 51 56 62 68 75 82 91"
_HUNDREDTHS = (int(n) * 10**k for k in range(3) for n in _E24.split())
STRICTNESSES = [n / 100 for n in _HUNDREDTHS if 20 <= n <= 6200]
COARSE_STEP = 4  # of these numbers, for the first picture
MAX_CLUSTERS = 40  # of the loosest tree; twice as many as at a strictness of 1 if that is more
MAX_STORED = 4_000_000  # cells and rows of stored searches
MAX_OTHERS = 16  # stored trees of values that are not among these numbers


class Cuts:
    """The clusters of points at each strictness, and the tree that they form.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        The points, which must be finite.
    rows : ndarray
        The rows whose labels are wanted.
    """

    def __init__(self, points: NDArray[Any], rows: NDArray[np.intp]) -> None:
        self._points, self._rows = points, rows
        self._first = Tree.of_points(points)
        self._basins = Basins(self._first.sample, len(points))
        self._recipes: dict[float, Recipe] = {}  # with their trees, oldest first
        self._searches: dict[bytes, tuple[Modes, NDArray[np.int32]]] = {}  # oldest first
        self._drawn: set[float] = set()  # the trees of the last picture

    # -- clusters ------------------------------------------------------------------------------

    def recipe(self, strictness: float) -> Recipe:
        """Return the recipe of `MeanShiftPP(strictness=strictness)`."""
        if strictness not in self._recipes:
            tree = self._first if strictness == 1 else self._first.regrow(strictness)
            recipe = Recipe(join=True, strictness=strictness)
            self._recipes[strictness] = recipe_of_tree(recipe, tree, self._basins)
            others = [each for each in self._recipes if each not in STRICTNESSES]
            if len(others) > MAX_OTHERS:
                del self._recipes[others[0]]
        return self._recipes[strictness]

    @property
    def _trees(self) -> dict[float, Tree]:
        """The stored trees by strictness."""
        return {key: each.tree for key, each in self._recipes.items() if each.tree is not None}

    def clusters(self, strictness: float) -> tuple[JoinedModes, NDArray[np.int32]]:
        """Return the joined modes of all points, and the labels of the rows."""
        modes, cells = self._search(self.recipe(strictness))
        joined = join_modes(self._trees[strictness], modes)
        return joined, joined.cell_labels[cells]

    def _search(self, recipe: Recipe) -> tuple[Modes, NDArray[np.int32]]:
        """Return the modes at the bandwidth of a recipe, and the cell of each row."""
        key = np.asarray(recipe.bandwidth).tobytes()
        found = self._searches.pop(key, None)
        if found is None:
            cells = np.empty(len(self._points), np.int32)
            separate = Recipe(recipe.bandwidth).checked(self._points.shape[1])
            modes, _ = separate.fit(self._points, cells=cells)
            found = modes, cells[self._rows]
        self._searches[key] = found
        while len(self._searches) > 1 and self._n_stored() > MAX_STORED:
            del self._searches[next(iter(self._searches))]
        return found

    def _n_stored(self) -> int:
        return sum(len(modes.grid) + len(cells) for modes, cells in self._searches.values())

    # -- the picture ---------------------------------------------------------------------------

    def grow(self) -> Iterator[bool]:
        """Grow the trees of the picture one by one; yield whether the picture should be drawn.

        Coarse steps of strictness come first. Steps between which the number of clusters changes
        are then divided, the largest change first.
        """
        for phase in (self._coarse(), self._fine()):
            for strictness in phase:
                self.recipe(strictness)
                yield False
            if self._drawn != set(self._recipes):
                yield True

    def _coarse(self) -> Iterator[float]:
        """Iterate over coarse steps from 1 to one cluster, and from 1 to too many."""
        one = STRICTNESSES.index(1.0)
        for strictness in STRICTNESSES[one::COARSE_STEP]:
            if strictness not in self._trees:
                yield strictness
            if strictness > 1 and self._trees[strictness].n_clusters == 1:
                break
        for strictness in STRICTNESSES[one::-COARSE_STEP]:
            if strictness not in self._trees:
                yield strictness
            if self._trees[strictness].n_clusters > self._limit:
                break

    def _fine(self) -> Iterator[float]:
        """Iterate over the middles of steps that change the number of clusters."""
        while True:
            trees, gaps = self._trees, []
            for low, high in pairwise(sorted(trees)):
                between = [each for each in STRICTNESSES if low < each < high]
                few, many = trees[high].n_clusters, trees[low].n_clusters
                if between and few != many and few <= self._limit:
                    gaps.append((abs(many - few), between[len(between) // 2]))
            if not gaps:
                return
            yield max(gaps)[1]

    @property
    def _limit(self) -> int:
        return max(MAX_CLUSTERS, 2 * self._trees[1.0].n_clusters)

    def _stops(self) -> list[float]:
        """Return the values at which a line can stop, the strictest first.

        Every cluster continues in the next looser tree. Trees are nearly nested, and those that are
        not, such as one with fewer clusters than a stricter one, are left out.
        """
        trees = self._trees
        kept = [each for each, tree in trees.items() if tree.n_clusters <= self._limit]
        stricter = sorted(each for each in kept if each >= 1)
        looser = sorted((each for each in kept if each <= 1), reverse=True)
        above = _longest_chain([trees[each] for each in stricter], lambda a, b: _continues(b, a))
        below = _longest_chain([trees[each] for each in looser], _continues)
        return [stricter[k] for k in reversed(above)] + [looser[k] for k in below[1:]]

    def picture(self) -> dict[str, Any]:
        """Return the branches of the tree, and the values at which a line can stop."""
        self._drawn = set(self._recipes)
        grown, stops = self._trees, self._stops()
        branches, branch_of = link_trees([grown[strictness] for strictness in stops])
        return {
            "type": "tree",
            "view": "table",
            "stops": stops,
            "branches": [[each.x, each.first, each.last, each.parent] for each in branches],
            "branch_of": branch_of,
            "advice": self._advice(stops),
        }

    def _advice(self, stops: Sequence[float]) -> str:
        """Return the next step for data without a significant valley."""
        trees = self._trees
        if trees[1.0].splits:
            return ""
        candidates: dict[int, Candidate] = {}
        for strictness in stops:
            tree = trees[strictness]
            if tree.splits:
                candidates.setdefault(tree.n_clusters, Candidate.of_tree(tree, strictness))
        sentence = describe_candidates(list(candidates.values())[: len(COUNTS)])
        advice = "drag the line of the tree" if candidates else "move the slider of the bandwidth"
        return f"{sentence}; {advice} to see others"


@dataclass
class Branch:
    """A cluster that stays one cluster over several values of strictness."""

    parent: int  # -1 for a root
    first: int  # the strictest tree that has it
    last: int  # the loosest tree that has it
    place: float  # mean of the first feature, which orders branches from left to right
    x: float = 0.0  # centre, where each leaf is 1 wide


def link_trees(trees: Sequence[Tree]) -> tuple[list[Branch], list[dict[int, int]]]:
    """Link the clusters of trees, the strictest first, to branches.

    A cluster is a part of the stricter cluster with which it shares most rows. Return the branches,
    and for each tree the branch of each of its clusters.
    """
    branches: list[Branch] = []
    branch_of: list[dict[int, int]] = []
    for i, tree in enumerate(trees):
        parents = _parents(trees[i - 1], tree) if i else {}
        n_parts = Counter(parents.values())
        own: dict[int, int] = {}
        for number, place in _places(tree):
            above = branch_of[-1][parents[number]] if i else -1
            if i and n_parts[parents[number]] == 1:
                branches[above].last = i
                own[number] = above
                continue
            own[number] = len(branches)
            branches.append(Branch(above, i, i, place))
        branch_of.append(own)
    _spread(branches)
    return branches, branch_of


def _places(tree: Tree) -> Iterator[tuple[int, float]]:
    """Iterate over the clusters and the means of their first feature."""
    counts = np.bincount(tree.labels, tree.sample.counts)
    sums = np.bincount(tree.labels, tree.sample.rows[:, 0] * tree.sample.counts)
    for number in np.flatnonzero(counts).tolist():
        yield number, float(sums[number] / counts[number])


def _parents(strict: Tree, loose: Tree) -> dict[int, int]:
    """Return for each cluster of the looser tree the stricter one with which it shares most."""
    table = shared_counts(loose.labels, strict.labels, loose.sample.counts)
    parents = table.argmax(axis=1).tolist()
    return {number: parents[number] for number in np.flatnonzero(table.any(axis=1)).tolist()}


def _continues(strict: Tree, loose: Tree) -> bool:
    """Return whether every cluster of the stricter tree has a part in the looser one."""
    return len(set(_parents(strict, loose).values())) == strict.n_clusters


def _longest_chain(trees: Sequence[Tree], fits: Callable[[Tree, Tree], bool]) -> list[int]:
    """Return a longest chain that begins at the first tree, and in which neighbours fit."""
    chains: list[list[int]] = [[0]]
    for k in range(1, len(trees)):
        fitting = [chain for chain in chains if chain and fits(trees[chain[-1]], trees[k])]
        chains.append([*max(fitting, key=len), k] if fitting else [])
    return max(reversed(chains), key=len)


def _spread(branches: Sequence[Branch]) -> None:
    """Place leaves side by side, and every other branch above the middle of its children."""
    children: dict[int, list[int]] = {}
    for number, branch in enumerate(branches):
        children.setdefault(branch.parent, []).append(number)
    n_leaves = 0

    def place_below(parent: int) -> float:
        """Place the descendants of a branch, and return where it is."""
        nonlocal n_leaves
        below = sorted(children.get(parent, ()), key=lambda number: branches[number].place)
        for number in below:
            branches[number].x = place_below(number)
        if below:
            return (branches[below[0]].x + branches[below[-1]].x) / 2
        n_leaves += 1
        return n_leaves - 0.5

    place_below(-1)
