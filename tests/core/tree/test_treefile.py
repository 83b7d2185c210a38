"""A tree as bytes: equal after reading, and every damage is an error."""

from __future__ import annotations

import io
from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tests.laws.kinds import KINDS

from meanshiftpp.core.tree import Clusters, Tree, treefile
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.errors import GridFileError

rng = np.random.default_rng(5)
X = np.concatenate([rng.normal(0, 1, (400, 2)), rng.normal(9, 1, (200, 2))])


def clusters_of(points, **options) -> Clusters:
    return Significant(**options).checked(points.shape[1]).fit(points).clusters


def damaged(tree: Tree, **changes: object) -> bytes:
    """Return the bytes of a tree with some arrays changed; None leaves an array out."""
    with np.load(io.BytesIO(treefile.to_bytes(tree))) as archive:
        content = {**archive} | {name.replace("__", " "): value for name, value in changes.items()}
    file = io.BytesIO()
    np.savez(file, **{name: value for name, value in content.items() if value is not None})
    return file.getvalue()


def assert_same(found: Tree, expected: Tree) -> None:
    for field in fields(Tree):
        one, other = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "leaves":
            for part in ("ends", "codes", "bits", "positions", "weights"):
                assert_array_equal(getattr(one, part), getattr(other, part))
            for a, b in zip(one.lattice.__getstate__(), other.lattice.__getstate__(), strict=True):
                assert_array_equal(a, b)
        elif isinstance(one, np.ndarray):
            assert_array_equal(one, other)
        else:
            assert one == other, field.name


@pytest.mark.parametrize("cluster_all", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_a_tree_is_equal_after_reading(name, cluster_all):
    kind = KINDS[name]
    clusters = clusters_of(kind.X, periodic=kind.periodic, cluster_all=cluster_all)
    for tree in (clusters.tree, clusters.tree.cut(n_clusters=4, n_threads=1)):
        copy = treefile.from_bytes(treefile.to_bytes(tree))
        assert_same(copy, tree)
        cut, expected = (each.cut(n_clusters=6, n_threads=1) for each in (copy, tree))
        assert_same(cut, expected)
        one, other = (Clusters.of_tree(each, cluster_all=cluster_all) for each in (copy, tree))
        assert_array_equal(one.label(kind.X), other.label(kind.X))
        assert_array_equal(one.weights, other.weights)


def test_a_tree_of_few_or_equal_points_is_equal_after_reading():
    for points in (X[:1], X[:2], X[:31], np.ones((9, 3)), np.full((4, 1), 1e308)):
        tree = clusters_of(points).tree
        assert_same(treefile.from_bytes(treefile.to_bytes(tree)), tree)


LEAVES = 600


@pytest.mark.parametrize(
    "changes",
    [
        {"format": np.array("another")},
        {"version": np.array(99)},
        {"strictness": np.array(0.0)},
        {"factor": np.array(np.nan)},
        {"rows": np.array(1e9)},
        {"window": np.array(0)},
        {"n_levels": np.array(-1)},
        {"labels": None},
        {"labels": np.zeros(3, np.int64)},
        {"labels": np.zeros(LEAVES)},
        {"labels": np.zeros(LEAVES, np.int64)},
        {"labels": np.r_[-1, np.ones(LEAVES - 1, np.int64)]},
        {"labels": np.r_[10**9, np.ones(LEAVES - 1, np.int64)]},
        {"sizes": np.full(LEAVES, -1.0)},
        {"far": np.full(LEAVES, 9.0)},
        {"far": np.full(LEAVES, -1.0)},
        {"radii": np.full(LEAVES, np.inf)},
        {"radii": np.full(LEAVES, 1e5)},
        {"hosts": np.full(LEAVES, LEAVES)},
        {"hosts": np.full(LEAVES, -2)},
        {"hosts": np.roll(np.arange(LEAVES), 1)},
        {"weights": np.zeros(LEAVES, np.int64)},
        {"codes": np.zeros((LEAVES, 1), np.uint64)},
        {"codes": np.zeros((LEAVES, 2), np.uint64)},
        {"bits": np.full(LEAVES, 65, np.uint16)},
        {"positions": np.full((LEAVES, 2), np.nan)},
        {"positions": np.zeros((LEAVES, 3))},
        {"cell_size": np.zeros(2)},
        {"cell_size": np.ones(3)},
        {"scale": np.full(2, -1.0)},
        {"units": np.full(2, -1.0)},
        {"shift": np.full(2, 63)},
        {"shift": np.zeros(2, np.int64)},
        {"extent": np.zeros(2, np.int64)},
        {"extent": np.full(2, 2**60)},
        {"low": np.full(2, 2**60)},
        {"cells_per_period": np.full(2, -1)},
        {"ends": np.array([[2.0, 0.0, 1.0]])},
        {"ends": np.array([[0.5, 0.0, 1.0]])},
        {"ends": np.zeros((1, 2))},
        {"split__cluster": np.array([77.0])},
        {"split__parent": np.array([77.0])},
        {"split__joins": np.array([float(LEAVES)])},
        {"split__top": np.array([-1.0])},
        {"split__depth": np.array([1.0, 2.0])},
        {"split__dimension": np.array([0.0])},
        {"split__window": np.array([0.0])},
        {"split__saddle": np.array([np.nan])},
    ],
    ids=str,
)
def test_a_damaged_tree_raises(changes):
    tree = clusters_of(X).tree
    assert (len(tree.splits), len(tree.labels)) == (1, LEAVES)
    with pytest.raises(GridFileError, match=r"^'model' has no valid tree"):
        treefile.from_bytes(damaged(tree, **changes), "model")


def test_every_array_is_needed():
    tree = clusters_of(X).tree
    with np.load(io.BytesIO(treefile.to_bytes(tree))) as archive:
        names = archive.files
    for name in names:
        with pytest.raises(GridFileError, match="no valid tree"):
            treefile.from_bytes(damaged(tree, **{name: None}))


def test_every_truncated_tree_raises():
    data = treefile.to_bytes(clusters_of(X[::10]).tree)
    for length in [*range(0, len(data) - 1, 97), len(data) - 1]:
        with pytest.raises(GridFileError, match="no valid tree"):
            treefile.from_bytes(data[:length])


def test_a_changed_byte_raises_or_changes_a_number_only():
    """An archive has checksums, so a changed byte of an array raises."""
    tree = clusters_of(X[::10]).tree
    data = treefile.to_bytes(tree)
    for at in np.random.default_rng(0).integers(0, len(data), 150).tolist():
        changed = data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
        try:
            found = treefile.from_bytes(changed)
        except GridFileError:
            continue
        assert_same(found, tree)  # the byte was padding or metadata
