"""The bandwidth of significant clusters: the coarsest whose basins follow them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from meanshiftpp import Grid, MeanShiftPP, seek
from meanshiftpp.bandwidth.significant import (
    Basins,
    agreement,
    bandwidth_of_tree,
    complete_recipe,
)
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.core.tree import Tree


def test_agreement_counts_rows_in_basins_of_their_cluster():
    basins, clusters = np.array([0, 0, 0, 1, 1]), np.array([7, 7, 9, 9, 9])
    assert agreement(basins, clusters, np.ones(5, np.int64)) == (0.8, 2 / 3)
    assert agreement(basins, clusters, np.array([1, 1, 0, 1, 1])) == (1, 1)


@pytest.mark.parametrize("make", [make_moons, make_blobs])
def test_basins_follow_the_clusters(make):
    X, _ = make(2000, random_state=0)
    tree = Tree.of_points(X)
    bandwidth = bandwidth_of_tree(tree, Basins(tree.sample, 2000))
    modes = seek(Grid.from_points(tree.sample.rows, bandwidth))
    followed, least = agreement(modes.label(tree.sample.rows), tree.labels, tree.sample.counts)
    assert followed >= 0.99
    assert least >= 0.8


def test_basins_of_many_rows_follow_the_clusters_of_the_sample():
    rng = np.random.default_rng(2)
    centers = rng.uniform(0, 20, (8, 2))
    X = (centers[rng.integers(0, 8, 200_000)] + rng.normal(size=(200_000, 2))).astype(np.float32)
    model = MeanShiftPP().fit(X)
    assert len(model.cluster_weights_) == Tree.of_points(X).n_clusters > 3


def test_whole_weights_choose_the_bandwidth_of_repeated_rows():
    X = np.random.default_rng(0).normal(size=(12_000, 2))
    repeats = np.repeat([1, 2, 3], 4_000)
    weighted = complete_recipe(Recipe(join=True), X, repeats.sum(), repeats)
    repeated = complete_recipe(Recipe(join=True), np.repeat(X, repeats, axis=0), repeats.sum())
    assert weighted.bandwidth.tolist() == repeated.bandwidth.tolist()


@pytest.mark.parametrize("factor", [1e-6, 0.37, 1e6])
def test_real_weights_choose_the_same_bandwidth_in_any_unit(factor):
    X = np.random.default_rng(0).normal(size=(12_000, 2))
    weight = np.random.default_rng(1).uniform(0.5, 1.5, 12_000)
    one = complete_recipe(Recipe(join=True), X, weight.sum(), weight)
    other = complete_recipe(Recipe(join=True), X, factor * weight.sum(), factor * weight)
    np.testing.assert_allclose(one.bandwidth, other.bandwidth, rtol=0.01)


def test_recipe_with_a_bandwidth_stays_as_it_is():
    recipe = Recipe(bandwidth=2.0, join=True)
    assert complete_recipe(recipe, np.zeros((5, 1)), 5) is recipe


def test_recipe_without_joining_gets_no_tree():
    X = np.random.default_rng(0).normal(size=(200, 2))
    recipe = complete_recipe(Recipe(), X, 200)
    assert recipe.tree is None
    assert recipe.bandwidth.shape == (2,)


def test_bandwidth_fits_into_the_period():
    X = np.random.default_rng(0).uniform(0, 1, size=(20, 1))
    recipe = complete_recipe(Recipe(periodic=[1.0], join=True), X, 20)
    assert recipe.bandwidth[0] <= 1 / 3
    recipe.checked(1)


@pytest.mark.parametrize("join", [True, False])
@pytest.mark.parametrize("values", [[0.0, np.nan], [0.0, np.inf], []])
def test_bad_values_and_empty_samples_are_left_to_binning(values, join):
    recipe = complete_recipe(Recipe(join=join), np.array(values)[:, None], len(values))
    assert recipe.tree is None
    assert recipe.bandwidth.tolist() == [1.0]


def test_basins_are_found_once():
    tree = Tree.of_points(make_blobs(300, random_state=0)[0])
    basins = Basins(tree.sample, 300)
    first, again = list(basins), list(basins)
    assert [candidate for candidate, _ in first] == [candidate for candidate, _ in again]
    assert all(a is b for (_, a), (_, b) in zip(first, again, strict=True))


def test_a_recipe_joins_as_many_clusters_as_wanted():
    X, _ = make_blobs(600, centers=[(0, 0), (9, 2), (3, 10)], random_state=0)
    for n_clusters in (1, 2, 3):
        recipe = complete_recipe(Recipe(join=True), X, 600, n_clusters=n_clusters)
        assert recipe.tree.n_clusters == n_clusters
