"""The picture of a tree of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from meanshiftpp import MeanShiftPP


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


def test_axes_can_be_given():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    X = np.random.default_rng(0).normal(size=(300, 2))
    assert MeanShiftPP().fit(X).condensed_tree_.plot(ax=ax) is ax
