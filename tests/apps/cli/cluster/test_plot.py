"""The picture of `meanshiftpp cluster --plot`: the tree stands beside significant clusters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from meanshiftpp.apps.cli.app import app

TREE = "tree of the clusters"


@pytest.fixture
def texts(tmp_path):
    """Return a function that draws a file and returns the text of the picture."""

    def draw(X, *options: object) -> str:
        file, picture = tmp_path / "points.npy", tmp_path / "picture.svg"
        np.save(file, X)
        arguments = ["cluster", file, "--plot", picture, *options]
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.stderr
        return picture.read_text("utf-8")

    return draw


@pytest.fixture(scope="module")
def blobs() -> np.ndarray:
    return make_blobs(600, centers=[[0, 0, 0], [9, 1, 0], [-4, 8, 0]], random_state=3)[0]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_tree_is_drawn_without_a_bandwidth(texts, blobs, d):
    assert TREE in texts(blobs[:, :d])
    assert TREE in texts(blobs[:, :d], "--stream")


def test_the_picture_tells_how_the_clusters_were_found(texts, blobs):
    text = texts(blobs, "-b", 2)
    assert TREE not in text
    assert "bandwidth 2" in text
    text = texts(blobs)
    assert "600 points, 3 significant clusters" in text
    text = texts(blobs, "--n-clusters", 5)
    assert TREE in text
    assert "600 points, 5 clusters cut from the tree" in text


@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_cluster_is_a_sentence_instead_of_a_tree(texts, d):
    text = texts(np.random.default_rng(0).normal(size=(2000, d)))
    assert "no significant valley" in text
    assert TREE not in text


def test_clusters_that_are_all_noise_are_drawn(texts, blobs):
    text = texts(blobs[:, :2], "-b", 2, "--min-cluster-size", 10**6)
    assert "0 clusters" in text
    assert "noise" in text


def test_the_picture_of_weighted_points_names_weights(texts, blobs):
    weighted = np.c_[blobs, np.full(len(blobs), 2.0)]
    text = texts(weighted, "--weight", "x3")
    assert "weight of each cluster" in text
    assert "<!-- weight -->" in text
    assert "points in each cluster" not in text
    assert "<!-- rows -->" not in text
