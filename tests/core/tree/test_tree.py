"""The tree: significant clusters, whatever the order of rows, threads, units and origin."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from meanshiftpp import Grid, seek
from meanshiftpp.core.tree import JoinedModes, Tree, join_modes
from meanshiftpp.core.tree.critical import CRITICAL, critical_values
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.estimators.condensed import CondensedTree


def mixture(
    n: int, d: int, k: int, sep: float = 6.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw k Gaussians on a line with gaps of `sep` standard deviations, and their labels."""
    rng = np.random.default_rng([n, d, k, seed])
    truth = np.arange(n) % k
    X = rng.normal(size=(n, d))
    X[:, 0] += sep * truth
    return X, truth


def partition(labels: np.ndarray) -> np.ndarray:
    """Number labels by their first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.ravel()]


def rows_and_labels(tree: Tree) -> dict[tuple[float, ...], int]:
    order = np.lexsort(tree.sample.rows.T)
    rows = map(tuple, tree.sample.rows[order].tolist())
    return dict(zip(rows, partition(tree.labels[order]).tolist(), strict=True))


# -- the right clusters -----------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", ["normal", "uniform", "exponential"])
def test_one_blob_is_one_cluster(kind, d):
    whole = 0
    for seed in range(10):
        rng = np.random.default_rng([d, seed])
        whole += Tree.of_points(getattr(rng, kind)(size=(500, d))).n_clusters == 1
    assert whole >= 9


@pytest.mark.parametrize("k", [2, 5, 10])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_separate_blobs_are_found(d, k):
    X, truth = mixture(150 * k, d, k)
    tree = Tree.of_points(X)
    labels = tree.labels[tree.find(X)]
    assert tree.n_clusters == k
    assert adjusted_rand_score(truth, labels) > 0.95


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_shapes_are_found(make):
    options = {"factor": 0.5} if make is make_circles else {}
    X, truth = make(1500, noise=0.05, random_state=0, **options)
    tree = Tree.of_points(X)
    assert adjusted_rand_score(truth, tree.labels[tree.find(X)]) > 0.98


def test_ring_stays_whole():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 1000)
    ring = np.c_[np.cos(angle), np.sin(angle)] + rng.normal(scale=0.05, size=(1000, 2))
    assert Tree.of_points(ring).n_clusters == 1


def test_rounded_values_are_not_clusters():
    X = np.random.default_rng(0).normal(scale=3, size=(1000, 2)).round()
    assert Tree.of_points(X).n_clusters == 1


@pytest.mark.parametrize("weight", [np.full(600, 50), np.r_[np.ones(599), 5000]])
def test_heavy_rows_are_not_clusters(weight):
    X = np.random.default_rng(0).normal(size=(600, 2))
    assert Tree.of_points(X, weight).n_clusters == 1


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_radii_are_in_the_unit_of_the_data(scale):
    X = np.random.default_rng(0).uniform(size=(4000, 2)) * scale
    radius = 2.0 ** np.median(Tree.of_points(X).radii)
    # Of the 15 points of the lightest window, the mean square distance is half the squared radius.
    assert radius == pytest.approx(scale * np.sqrt(15 / 4000 / np.pi / 2), rel=0.1)


def test_blobs_across_the_edge_of_a_period_are_one():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 10, (300, 1)), rng.normal(180, 10, (300, 1))] % 360
    assert Tree.of_points(X).n_clusters == 3
    assert Tree.of_points(X, periodic=[360]).n_clusters == 2


# -- laws -------------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.sampled_from([1, 2, 3, 5]))
@settings(max_examples=15)
def test_order_and_threads_do_not_matter(seed, d):
    rng = np.random.default_rng(seed)
    X, _ = mixture(300, d, 3, sep=rng.uniform(2, 6), seed=seed)
    expected = Tree.of_points(X, n_threads=1)
    shuffled = Tree.of_points(rng.permutation(X), n_threads=3)
    assert rows_and_labels(shuffled) == rows_and_labels(expected)
    assert [s.score for s in shuffled.splits] == [s.score for s in expected.splits]


def test_whole_weights_are_repetitions():
    X, _ = mixture(300, 2, 3)
    weight = np.random.default_rng(0).integers(0, 4, 300)
    weighted, repeated = Tree.of_points(X, weight), Tree.of_points(np.repeat(X, weight, axis=0))
    assert rows_and_labels(weighted) == rows_and_labels(repeated)


def test_equal_real_weights_change_nothing():
    X, _ = mixture(300, 2, 3)
    assert rows_and_labels(Tree.of_points(X, np.full(300, 0.5))) == rows_and_labels(
        Tree.of_points(X)
    )


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_unit_of_all_features_does_not_matter(scale):
    X, _ = mixture(600, 2, 3, sep=5)
    assert Tree.of_points(X * scale).n_clusters == Tree.of_points(X).n_clusters == 3


def test_unit_of_one_feature_does_not_matter():
    X, truth = mixture(600, 2, 3, sep=8)
    X[:, 1] *= 4.0**8
    tree = Tree.of_points(X)
    assert adjusted_rand_score(truth, tree.labels[tree.find(X)]) == 1


@given(st.integers(0, 1000))
@settings(max_examples=10)
def test_origin_hardly_matters(seed):
    X, _ = mixture(1000, 2, 4, sep=5)
    shifted = X + np.random.default_rng(seed).uniform(-1, 1, 2)
    a, b = Tree.of_points(X), Tree.of_points(shifted)
    assert adjusted_rand_score(a.labels[a.find(X)], b.labels[b.find(shifted)]) >= 0.98


@pytest.mark.parametrize(
    "X", [np.zeros((1, 1)), np.zeros((2, 3)), np.ones((500, 2)), [[0.0], [1.0]], np.eye(3)]
)
def test_degenerate_data_is_one_cluster(X):
    assert Tree.of_points(X).n_clusters == 1


def test_constant_feature_is_ignored():
    X, _ = mixture(600, 2, 3)
    wide = np.c_[X, np.full(600, 7.0)]
    assert Tree.of_points(wide).n_clusters == 3


def test_far_values_do_not_hide_clusters():
    X, _ = mixture(600, 2, 3)
    far = np.r_[X, [[1e9, -1e9]]]
    assert Tree.of_points(far).n_clusters == 3
    assert Tree.of_grid(Grid.from_points(far, 0.3)).n_clusters >= 3


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.sampled_from([0.05, 0.3, 0.7, 1.0]))
@settings(max_examples=30)
def test_splits_of_rounded_values_fit_their_labels(seed, k, strictness):
    X = np.random.default_rng(seed).integers(0, k, (400, 2)).astype(float)
    tree = Tree.of_points(X, strictness=strictness)
    assert len(tree.splits) + 1 == tree.n_clusters
    assert all(tree.across(split) != split.cluster for split in tree.splits)
    modes = join_modes(tree, seek(Grid.from_points(X, 0.5)))
    condensed = CondensedTree(modes)
    assert condensed.nodes[0].child_size == 400
    assert len(condensed) == 2 * len(tree.splits) + 1
    for label in range(len(modes)):
        condensed.explain(label)


def test_looser_and_cut_trees_look_in_both_units():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(400, 2)), rng.normal((0, 3.6), size=(400, 2))])
    X *= [200, 1]
    truth, tree = np.repeat([0, 1], 400), Tree.of_points(X)
    assert tree.n_clusters == 1
    assert adjusted_rand_score(truth, tree.cut(n_clusters=2).labels[tree.find(X)]) > 0.8
    (two,) = tree.looser([2])
    assert adjusted_rand_score(truth, two.labels[tree.find(X)]) > 0.8
    assert Tree.of_points(X, strictness=two.strictness).n_clusters == two.n_clusters
    assert two.weakest.score >= two.strictness


def test_looser_trees_are_the_strictest_with_so_many_clusters():
    X, _ = mixture(900, 2, 2)
    tree = Tree.of_points(X)
    for looser in tree.looser([3, 5]):
        assert looser.n_clusters > tree.n_clusters
        assert looser.strictness < tree.strictness
        stricter = looser.regrow(looser.strictness * 1.01)
        assert stricter.n_clusters <= looser.n_clusters


def test_tree_of_no_rows_is_an_error():
    with pytest.raises(InvalidInputError, match="at least one row"):
        Tree.of_points(np.empty((0, 2)))


# -- cuts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6, 9])
def test_cut_has_the_wanted_number_of_clusters(k):
    X, _ = mixture(900, 2, 4)
    assert Tree.of_points(X).cut(n_clusters=k).n_clusters == k


def test_cut_of_more_clusters_than_peaks_has_as_many_as_there_are():
    assert (
        Tree.of_points(np.random.default_rng(0).normal(size=(30, 2))).cut(n_clusters=25).n_clusters
        < 25
    )


def test_cut_undoes_the_weakest_split_if_no_strictness_has_the_number():
    rng = np.random.default_rng(2)
    k = rng.integers(3, 9)
    X = rng.normal(size=(200, 2)) + rng.uniform(0, 12, (k, 2))[rng.integers(0, k, 200)]
    tree = Tree.of_points(X)
    assert tree.n_clusters == 3
    assert 2 not in {tree.regrow(s).n_clusters for s in np.geomspace(0.1, 10, 30)}
    cut = tree.cut(n_clusters=2)
    weakest = min(tree.splits, key=lambda split: split.score)
    assert cut.n_clusters == 2
    assert [split.score for split in cut.splits] == [
        split.score for split in tree.splits if split is not weakest
    ]


def test_cut_by_persistence_undoes_shallow_splits():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (500, 1)), rng.normal(4, 1, (500, 1)), rng.normal(40, 1, (500, 1))]
    tree = Tree.of_points(X)
    assert [tree.cut(persistence=p).n_clusters for p in (0.0, 0.95, 1.0)] == [3, 2, 1]


def test_stricter_trees_have_fewer_clusters():
    X, _ = mixture(800, 2, 8, sep=3)
    tree = Tree.of_points(X)
    assert tree.regrow(0.5).n_clusters >= tree.n_clusters >= tree.regrow(2.0).n_clusters


def test_splits_pass_their_own_test():
    X, _ = mixture(1000, 2, 5)
    for split in Tree.of_points(X).splits:
        assert split.z >= split.critical
        assert split.score >= 1
        assert 0 < split.persistence < 1


# -- joining ----------------------------------------------------------------------------------


def test_clusters_are_unions_of_basins():
    X, truth = mixture(2000, 2, 3)
    modes = seek(Grid.from_points(X, 0.3))
    joined = join_modes(Tree.of_points(X), modes)
    assert len(modes) > 3
    assert len(joined) == 3
    for basin in range(len(modes)):
        assert len(np.unique(joined.cell_labels[modes.cell_labels == basin])) == 1
    assert adjusted_rand_score(truth, joined.label(X)) > 0.98
    assert joined.weights.sum() == 2000
    assert (np.diff(joined.weights) <= 0).all()


def test_sparse_surroundings_are_noise_on_demand():
    X, _ = mixture(2000, 2, 3)
    X = np.r_[X, np.random.default_rng(1).uniform(-15, 30, (200, 2))]
    modes, tree = seek(Grid.from_points(X, 0.5)), Tree.of_points(X)
    kept, without = join_modes(tree, modes).label(X), join_modes(tree, modes, noise=True).label(X)
    assert (kept >= 0).all()
    assert (without[2000:] == -1).mean() > 0.4
    assert (without[:2000] == -1).mean() < 0.05


def test_tree_of_a_grid_depends_on_the_grid_only():
    X, _ = mixture(3000, 2, 3)
    whole = Grid.from_points(X, 0.4)
    parts = sum(
        (Grid.from_points(part, 0.4) for part in np.array_split(X[::-1], 7)), Grid.empty(0.4, 2)
    )
    a, b = Tree.of_grid(whole), Tree.of_grid(parts)
    assert a.n_clusters == 3
    assert_array_equal(a.labels, b.labels)
    assert a.splits == b.splits


def test_joining_leaves_dropped_modes_out():
    X, _ = mixture(600, 2, 3)
    tree, modes = Tree.of_points(X), seek(Grid.from_points(X, 0.4))
    dropped = modes.keep(5)
    assert (dropped.cell_labels == -1).any()
    joined = join_modes(tree, dropped)
    assert_array_equal(joined.cell_labels == -1, dropped.cell_labels == -1)
    assert_array_equal(join_modes(tree, joined).cell_labels, joined.cell_labels)


def test_joined_modes_can_be_pickled_and_dropped():
    X, _ = mixture(600, 2, 3)
    joined = join_modes(Tree.of_points(X), seek(Grid.from_points(X, 0.5)))
    assert isinstance(joined, JoinedModes)
    assert_array_equal(pickle.loads(pickle.dumps(joined)).label(X), joined.label(X))
    assert len(joined.keep(1e9).clusters) == 0


def test_critical_values_exist_for_every_number_of_features():
    assert critical_values(1).tolist() == list(CRITICAL[1])
    assert critical_values(60).tolist() == list(CRITICAL[max(CRITICAL)])


def test_the_page_of_the_method_lists_the_critical_values():
    page = (Path(__file__).parents[3] / "docs" / "method.md").read_text("utf-8")
    number = r" ([\d.]+) \|"
    rows = re.findall(rf"^\| (\d) (?:or more )?\|{4 * number}$", page, re.MULTILINE)
    listed = {int(n): tuple(map(float, values)) for n, *values in rows}
    assert listed == CRITICAL
