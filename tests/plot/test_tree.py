"""The picture of a tree of clusters."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.datasets import make_blobs

from meanshiftpp import MeanShiftPP
from meanshiftpp.plot import PALETTE, clusters
from meanshiftpp.plot.axes import size_in_inches
from meanshiftpp.plot.style import GREY


def test_bars_are_the_nodes():
    X, _ = make_blobs(600, centers=[[0, 0], [6, 0], [30, 0]], random_state=0)
    tree = MeanShiftPP().fit(X).condensed_tree_
    ax = tree.plot()
    assert len(ax.patches) == len(tree.nodes) == 5
    assert {text.get_text() for text in ax.texts} == {"0", "1", "2"}
    for node, bar in zip(tree.nodes, ax.patches, strict=True):
        assert bar.get_width() == node.child_size
        assert bar.get_height() > 0
        if node.parent >= 0:  # a part stands on its parent
            parent = ax.patches[node.parent]
            assert bar.get_x() >= parent.get_x()
            assert bar.get_x() + bar.get_width() <= parent.get_x() + parent.get_width()
            assert bar.get_y() == pytest.approx(parent.get_y() + parent.get_height())


def test_one_cluster_is_one_bar():
    tree = MeanShiftPP().fit(np.random.default_rng(0).normal(size=(300, 2))).condensed_tree_
    ax = tree.plot()
    assert len(ax.patches) == 1
    assert ax.get_title(loc="left") == "1 significant cluster"


@pytest.mark.parametrize(
    ("weight", "name"),
    [(None, "rows"), (2.0, "rows"), (0.5, "weight")],  # a row of weight 2 counts as two rows
)
def test_widths_are_rows_or_weights(weight, name):
    X = np.random.default_rng(0).normal([[0.0]] * 500 + [[20.0]] * 500)
    weights = None if weight is None else np.full(len(X), weight)
    tree = MeanShiftPP().fit(X, sample_weight=weights).condensed_tree_
    assert tree.plot().get_xlabel() == name


def test_a_cut_tree_is_not_called_significant():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    tree = MeanShiftPP().fit(X).cut(n_clusters=3).condensed_tree_
    assert tree.plot().get_title(loc="left") == "3 clusters"


@pytest.fixture(scope="module")
def many() -> MeanShiftPP:
    """A model of 200 clusters of different sizes."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(60, 900, 200)
    places = 20.0 * np.stack(np.divmod(np.arange(200), 15), axis=1)
    X = np.repeat(places, sizes, axis=0) + rng.normal(size=(sizes.sum(), 2))
    model = MeanShiftPP().fit(X)
    model.X = X
    return model


def test_bars_of_hundreds_of_clusters_keep_their_colour(many):
    tree = many.condensed_tree_
    ax = tree.plot()
    across, up = size_in_inches(ax)
    top = max(bar.get_y() + bar.get_height() for bar in ax.patches) + 1
    for bar in ax.patches:  # the edges have the colour of the paper
        inches = min(across * bar.get_width() / len(many.X), up * bar.get_height() / top)
        assert bar.get_linewidth() <= max(72 * inches / 4, 1e-9) * 1.001
    assert len(ax.texts) < 40  # only wide bars have a label


def test_parts_of_a_tree_begin_at_a_higher_density(many):
    nodes = many.condensed_tree_.nodes
    assert len(nodes) == 2 * len(many.cluster_weights_) - 1 > 300
    for node in nodes[1:]:
        assert node.lambda_val >= nodes[node.parent].lambda_val


@pytest.mark.parametrize("d", [2, 3])
def test_hundreds_of_significant_clusters_have_colours_and_few_rings(many, d):
    X = np.c_[many.X, np.zeros(len(many.X))][:, :d]
    figure = clusters(X, many.labels_, tree=many.condensed_tree_)
    panel = figure.axes[0 if d == 2 else 1]
    *_, dots, rings = panel.collections
    assert len(rings.get_offsets()) == 20
    assert len(dots.get_offsets()) == len(many.cluster_weights_) - 20
    grey = to_rgb(GREY)
    assert grey not in {tuple(colour[:3]) for colour in dots.get_facecolors() / 0.6}
    assert len(panel.texts) == (20 if d == 2 else 0)  # small panels have no numbers


def test_axes_can_be_given():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    X = np.random.default_rng(0).normal(size=(300, 2))
    assert MeanShiftPP().fit(X).condensed_tree_.plot(ax=ax) is ax


def test_labels_of_many_clusters_do_not_overlap():
    rng = np.random.default_rng(0)
    sizes = rng.integers(60, 600, 30)
    centers = np.repeat(np.arange(30.0) * 12, sizes)
    ax = (
        MeanShiftPP()
        .fit(rng.normal(size=(sizes.sum(), 1)) + centers[:, None])
        .condensed_tree_.plot()
    )
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert 10 < len(boxes) <= 30
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_tree_stands_beside_the_clusters_in_the_same_colours(d):
    X, _ = make_blobs(900, centers=[[0] * d, [12] * d, [60] * d], random_state=0)
    model = MeanShiftPP().fit(X)
    alone = clusters(X, model.labels_)
    figure = clusters(X, model.labels_, tree=model.condensed_tree_)
    panels, tree = figure.axes[:-1], figure.axes[-1]
    assert len(panels) == len(alone.axes)
    for panel, other in zip(panels, alone.axes, strict=True):
        assert size_in_inches(panel) == pytest.approx(size_in_inches(other))
        assert panel.get_position().x1 < tree.get_position().x0
    leaves = [
        bar for node, bar in zip(model.condensed_tree_.nodes, tree.patches) if node.label >= 0
    ]
    assert {bar.get_facecolor()[:3] for bar in leaves} == {to_rgb(each) for each in PALETTE[:3]}


def test_one_cluster_is_a_sentence_beside_the_clusters():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = MeanShiftPP().fit(X)
    figure = clusters(X, model.labels_, tree=model.condensed_tree_)
    assert len(figure.axes) == 2
    assert figure.texts[-1].get_text() == "300 points, 1 cluster; no significant valley"
