"""The comparison behind the table of the page on bandwidths."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks import bandwidth


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "iris.csv"
    iris = load_iris()
    rows = [",".join(map(str, [*x, name])) for x, name in zip(iris.data, iris.target, strict=True)]
    path.write_text("\n".join(["a,b,c,d,label", *rows]) + "\n")
    X, truth = bandwidth.read_table(path)
    assert np.array_equal(X, iris.data)
    assert np.array_equal(truth, iris.target)
    return bandwidth.compare("iris", X, truth, quick=True)


def test_no_score_exceeds_the_best_of_the_same_bandwidths(line):
    assert line.scores["paper"] == (0.5681, 0.7316)
    for which in range(2):
        scores = {name: pair[which] for name, pair in line.scores.items()}
        assert 0 < scores["automatic"] <= scores["proportional"] <= 1
        assert 0 < scores["tuned"] <= 1
    assert line.share("proportional") <= 1


def test_report_has_the_table_and_the_shares(line):
    mixed = [bandwidth.mixture(4, count=3)]
    assert 0 < mixed[0]["auto"] <= 1
    taken = bandwidth.median_times({"a": lambda: None, "b": lambda: None}, 3)
    assert set(taken) == {"a", "b"}
    names = ("fit", "fit at the step", "sweep", "fit of 1M", "select_bandwidth of 1M")
    times = dict.fromkeys((*names, "estimate_bandwidth of 20k"), 0.01) | {"n": 1000}
    page = bandwidth.report([line], mixed, times)
    assert f"| iris | 150 x 4 | 3 | {line.clusters} |" in page
    assert f"proportional best ARI: {line.share('proportional'):.2f}" in page
    assert "of 1 in ARI" in page
