"""The tree: the right clusters, in any unit, and the laws of its cuts and background."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from meanshiftpp.core.tree import Clusters, Observed, Tree, grow
from meanshiftpp.core.tree.critical import CRITICAL, critical_values
from meanshiftpp.errors import InvalidInputError


def tree_of(X, periodic=None, **options) -> Tree:
    """Grow the tree of points."""
    X = np.asarray(X, np.float64)
    period = np.array(periodic or [0.0] * X.shape[1])
    return grow(Observed(X), period, n_threads=1, **options).tree


def labels_of(tree: Tree, X) -> np.ndarray:
    return Clusters.of_tree(tree).label(X)


def mixture(n: int, d: int, k: int, sep: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    """Draw k Gaussians on a line with gaps of `sep` standard deviations, and their labels."""
    truth = np.arange(n) % k
    X = np.random.default_rng([n, d, k]).normal(size=(n, d))
    X[:, 0] += sep * truth
    return X, truth


# -- the right clusters ----------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", ["normal", "uniform", "exponential"])
def test_one_blob_is_one_cluster(kind, d):
    sizes = [getattr(np.random.default_rng([d, seed]), kind)(size=(500, d)) for seed in range(10)]
    assert sum(tree_of(X).n_clusters == 1 for X in sizes) >= 9


@pytest.mark.parametrize("k", [2, 5, 10])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_separate_blobs_are_found(d, k):
    X, truth = mixture(150 * k, d, k)
    tree = tree_of(X)
    assert tree.n_clusters in (k, k + 1)  # one false split in twelve data sets is not too many
    assert adjusted_rand_score(truth, labels_of(tree, X)) > 0.95


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_shapes_are_found(make):
    options = {"factor": 0.5} if make is make_circles else {}
    X, truth = make(1500, noise=0.05, random_state=0, **options)
    assert adjusted_rand_score(truth, labels_of(tree_of(X), X)) > 0.98


def test_ring_stays_whole():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 1000)
    ring = np.c_[np.cos(angle), np.sin(angle)] + rng.normal(scale=0.05, size=(1000, 2))
    assert tree_of(ring).n_clusters == 1


@pytest.mark.parametrize("seed", [2, 4])
def test_ring_of_several_windows_in_thickness_stays_whole(seed):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 100_000)
    ring = np.c_[np.cos(angle), np.sin(angle), np.zeros(len(angle))]
    assert tree_of(ring + rng.normal(scale=0.05, size=ring.shape)).n_clusters == 1


def test_a_rare_cluster_far_away_is_found():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(100_000, 2)), rng.normal(12, 0.3, (200, 2))]
    model = Clusters.of_tree(tree_of(X))
    assert_array_equal(model.weights, [100_000, 200])


def test_blobs_across_the_edge_of_a_period_are_one():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 10, (300, 1)), rng.normal(180, 10, (300, 1))] % 360
    assert tree_of(X).n_clusters == 3
    assert tree_of(X, periodic=[360.0]).n_clusters == 2


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_radii_are_in_the_unit_of_the_lattice(scale):
    X = np.random.default_rng(0).uniform(size=(4000, 2)) * scale
    tree = tree_of(X)
    radius = 2.0 ** np.median(tree.radii) * tree.leaves.lattice.units[0]
    # The mean square distance of the points of a window is half its squared radius.
    expected = scale * np.sqrt(tree.window / 4000 / np.pi / 2)
    assert radius == pytest.approx(expected, rel=0.15)


def test_unit_of_one_feature_does_not_matter():
    X, truth = mixture(600, 2, 3, sep=8)
    X[:, 1] *= 4.0**8
    assert adjusted_rand_score(truth, labels_of(tree_of(X), X)) == 1


def test_constant_and_far_values_do_not_hide_clusters():
    X, _ = mixture(600, 2, 3)
    assert tree_of(np.c_[X, np.full(600, 7.0)]).n_clusters == 3
    assert tree_of(np.r_[X, [[1e9, -1e9]]]).n_clusters == 3


def test_equal_real_weights_change_rows_at_borders_only():
    X, _ = mixture(300, 2, 3, sep=8)
    counts = np.full(300, 1 << 20, np.uint64)
    weighted = Observed(X, counts, whole=False, squares=float((counts**2).sum()))
    assert weighted.rows == 300
    found, expected = grow(weighted, np.zeros(2), n_threads=1).tree, tree_of(X)
    assert found.n_clusters == expected.n_clusters
    assert adjusted_rand_score(labels_of(found, X), labels_of(expected, X)) > 0.98


def test_no_rows_are_an_error():
    with pytest.raises(InvalidInputError, match="at least one row"):
        tree_of(np.empty((0, 2)))


def test_splits_pass_their_own_test():
    for split in tree_of(mixture(1000, 2, 5)[0]).splits:
        assert split.z >= split.critical
        assert split.score >= 1
        assert 0 < split.persistence < 1
        assert split.stage == 0


def test_values_too_narrow_for_a_period_warn():
    cell = 360 / 65536
    X = 1800.5 * cell + np.random.default_rng(0).normal(0, cell / 50, (200, 1))
    with pytest.warns(UserWarning, match=r"feature 0 counts as constant: .* leave the period out"):
        assert tree_of(X, periodic=[360.0]).n_clusters == 1
    tree_of(np.repeat([[10.1], [370.1], [-349.9]], 5, axis=0), periodic=[360.0])  # equal values


# -- cuts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6, 9])
def test_cut_has_the_wanted_number_of_clusters(k):
    tree = tree_of(mixture(900, 2, 4)[0])
    cut = tree.cut(n_clusters=k, n_threads=1)
    assert cut.n_clusters == len(np.unique(cut.labels)) == k
    stages = [split.stage for split in cut.splits]
    assert (max(stages, default=0) > 0) == (k > 4)


def test_cut_of_more_clusters_than_peaks_has_as_many_as_there_are():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert tree_of(X).cut(n_clusters=25, n_threads=1).n_clusters < 25


def test_cut_undoes_the_split_that_separates_the_least():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (900, 1)), rng.normal(9, 1, (900, 1)), rng.normal(40, 1, (30, 1))]
    tree = tree_of(X)
    assert tree.n_clusters == 3
    two = Clusters.of_tree(tree.cut(n_clusters=2, n_threads=1))
    assert_array_equal(two.weights, [930, 900])


def test_cut_by_persistence_undoes_shallow_splits():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (500, 1)), rng.normal(4, 1, (500, 1)), rng.normal(40, 1, (500, 1))]
    tree = tree_of(X)
    cuts = [tree.cut(persistence=p, n_threads=1).n_clusters for p in (0.0, 0.95, 1.0)]
    assert cuts == [3, 2, 1]


def test_small_clusters_join_across_the_densest_saddle():
    rng = np.random.default_rng(0)
    places = ((0, 500), (8, 80), (30, 500))
    X = np.concatenate([rng.normal(place, 1, (n, 1)) for place, n in places])
    tree = tree_of(X)
    assert tree.n_clusters == 3
    (_, near, far) = np.split(labels_of(tree.cut(min_size=100, n_threads=1), X), [500, 580])
    assert set(near) == {0}
    assert set(far) == {1}


def test_a_cut_of_equal_points_is_whole():
    tree = tree_of(np.ones((10, 2)))
    assert tree.cut(n_clusters=4, n_threads=1).n_clusters == 1


def test_stricter_trees_have_fewer_clusters():
    X, _ = mixture(800, 2, 8, sep=3)
    counts = [tree_of(X, strictness=s).n_clusters for s in (0.5, 1.0, 2.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2]


# -- background ------------------------------------------------------------------------------------


def with_background(tree: Tree, own: bool) -> Tree:
    """Return a tree whose sparse leaves are background: of the first cluster, or their own."""
    top = int(np.argmin(np.where(tree.labels == 0, tree.radii, np.inf)))
    sparse = (tree.labels != 0) & (tree.radii > np.median(tree.radii))
    return replace(tree, hosts=np.where(sparse, -1 if own else top, np.arange(len(tree.labels))))


@pytest.mark.parametrize("own", [False, True])
def test_background_belongs_to_its_host_in_every_cut(own):
    X, _ = mixture(900, 2, 4)
    tree = with_background(tree_of(X), own)
    moved = tree.hosts != np.arange(len(tree.labels))
    assert 100 < moved.sum() < 800
    before = None
    for k in range(1, 9):
        cut = tree.cut(n_clusters=k, n_threads=1)
        groups = cut.groups
        assert_array_equal(groups[~moved], cut.labels[~moved])
        assert cut.n_clusters == k
        if own and k > 1:
            assert (groups[moved] == cut.background).all()
            assert len(Clusters.of_tree(cut)) == k + 1
        else:
            host = np.flatnonzero(tree.labels == 0)[0] if own else tree.hosts[moved][0]
            assert (groups[moved] == cut.labels[host]).all()
            assert len(Clusters.of_tree(cut)) == k
        if before is not None:
            assert len(np.unique(np.c_[groups, before], axis=0)) == len(np.unique(groups))
        before = groups


@pytest.mark.parametrize("own", [False, True])
def test_background_is_noise_on_demand(own):
    tree = with_background(tree_of(mixture(900, 2, 4)[0]), own)
    moved = tree.hosts != np.arange(len(tree.labels))
    found = Clusters.of_tree(tree, cluster_all=False)
    assert (found.leaf_labels[moved] == -1).all()
    assert len(found) == 4


def test_least_size_counts_without_the_background():
    X, _ = mixture(900, 2, 4)
    tree = with_background(tree_of(X), own=True)
    sizes = np.bincount(tree.groups, tree.sizes)[:-1]
    cut = tree.cut(min_size=float(sizes.min()) + 1, n_threads=1)
    assert cut.n_clusters < 4
    assert np.bincount(cut.groups, cut.sizes)[np.unique(cut.labels)].min() > sizes.min()


def test_a_wide_cluster_keeps_the_background_of_a_bump():
    """The bump would own a sector of the wide cluster otherwise."""
    rng = np.random.default_rng(7)
    X = np.r_[rng.normal(0, 1, (8000, 2)), rng.normal([1.5, 1], 0.03, (80, 2))]
    tree = tree_of(X)
    assert tree.n_clusters == 2
    labels = Clusters.of_tree(tree).label(X)
    assert (labels[8000:] == 1).mean() > 0.95
    assert (labels[:8000] == 1).sum() < 60
    raw = tree.labels[tree.leaves.locate(X, 1)[0]]
    assert np.bincount(raw).min() > 200


# -- critical values -------------------------------------------------------------------------------


def test_critical_values_exist_for_every_number_of_features():
    assert critical_values(1).tolist() == list(CRITICAL[1])
    assert critical_values(60).tolist() == list(CRITICAL[max(CRITICAL)])


def test_the_page_of_the_method_lists_the_critical_values():
    page = (Path(__file__).parents[3] / "docs" / "method.md").read_text("utf-8")
    number = r" ([\d.]+) \|"
    rows = re.findall(rf"^\| (\d) (?:or more )?\|{4 * number}$", page, re.MULTILINE)
    listed = {int(n): tuple(map(float, values)) for n, *values in rows}
    assert listed == CRITICAL
