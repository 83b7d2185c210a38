"""A tree as bytes: equal after reading, and every damage is an error."""

import io

import numpy as np
import pytest

from meanshiftpp.core.grid import Grid
from meanshiftpp.core.recipe import seek
from meanshiftpp.core.tree import Tree, join_modes, treefile
from meanshiftpp.errors import GridFileError

rng = np.random.default_rng(5)
X = np.concatenate([rng.normal(0, 1, (400, 2)), rng.normal(9, 1, (200, 2))])


def damaged(tree: Tree, **changes: object) -> bytes:
    """Return the bytes of a tree with some arrays changed; None leaves an array out."""
    with np.load(io.BytesIO(treefile.to_bytes(tree))) as archive:
        content = {**archive} | {name.replace("__", " "): value for name, value in changes.items()}
    file = io.BytesIO()
    np.savez(file, **{name: value for name, value in content.items() if value is not None})
    return file.getvalue()


@pytest.mark.parametrize(
    "tree",
    [
        Tree.of_points(X),
        Tree.of_points(np.rint(X)),
        Tree.of_points(X, periodic=(20.0, None), strictness=0.3),
        Tree.of_grid(Grid.from_points(X, 0.7)),
        Tree.of_points(X).cut(n_clusters=4),
        Tree.of_points(X[:1]),
    ],
    ids=repr,
)
def test_a_tree_is_equal_after_reading(tree):
    copy = treefile.from_bytes(treefile.to_bytes(tree))
    assert (copy.splits, copy.strictness) == (tree.splits, tree.strictness)
    for one, other in zip((*copy.sample, copy.radii), (*tree.sample, tree.radii), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(copy.labels, tree.labels)
    assert copy.regrow(0.5).splits == tree.regrow(0.5).splits
    modes = seek(Grid.from_points(X, 0.5))
    for noise in (False, True):
        one, other = (join_modes(each, modes, noise=noise) for each in (tree, copy))
        np.testing.assert_array_equal(one.cell_labels, other.cell_labels)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": np.array("another")},
        {"version": np.array(99)},
        {"strictness": np.array(0.0)},
        {"labels": None},
        {"labels": np.zeros(3, np.int64)},
        {"labels": np.zeros(600)},
        {"rows": np.zeros(600)},
        {"rows": np.full((600, 2), np.nan)},
        {"hashes": np.zeros(600, np.int64)},
        {"counts": np.zeros(600, np.int64)},
        {"_counts": np.zeros(600, np.int64)},
        {"_counts": np.full(600, 2**61)},
        {"labels": np.r_[-1, np.ones(599, np.int64)]},
        {"labels": np.zeros(600, np.int64)},
        {"window": np.array(0)},
        {"_period": np.zeros(3)},
        {"_period": np.full(2, 1e-3)},
        {"_period": np.full(2, -1.0)},
        {"_units": np.ones((3, 2))},
        {"_units": np.zeros((1, 2))},
        {"_units": np.full((1, 2), -1.0)},
        {"split__cluster": np.array([77.0])},
        {"split__joins": np.array([600.0])},
        {"split__depth": np.array([1.0, 2.0])},
    ],
    ids=str,
)
def test_a_damaged_tree_raises(changes):
    tree = Tree.of_points(X)
    assert len(tree.splits) == 1
    with pytest.raises(GridFileError, match=r"^'model' has no valid tree"):
        treefile.from_bytes(damaged(tree, **changes), "model")


@pytest.mark.parametrize("length", [0, 10, 1000])
def test_a_truncated_tree_raises(length):
    with pytest.raises(GridFileError, match="no valid tree"):
        treefile.from_bytes(treefile.to_bytes(Tree.of_points(X))[:length])
