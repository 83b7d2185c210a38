"""The origin benchmark measures how much the clusters depend on the origin of the grid."""

import re

import numpy as np

from benchmarks import origin


def test_the_table_has_a_row_for_every_kind_of_data(monkeypatch, capsys):
    monkeypatch.setattr(origin, "MAX_PIXELS", 2_000)
    assert origin.main(["--points", "300", "--origins", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:14].strip() for line in lines[1:]] == [
        *(f"mixtures, d={d}" for d in (2, 3, 4, 5)),
        "photographs",
    ]
    measured = [origin.measure(case, 2)[0] for case in origin.mixtures(2, 300)]
    printed = re.findall(r"(\S+), time", lines[1])
    assert printed == [f"{agreement:.3f}" for agreement in np.mean(measured, axis=0)]


def test_a_higher_resolution_depends_less_on_the_origin():
    agreement = [origin.measure(case, 4)[0] for case in origin.mixtures(2, 3000)]
    by_resolution = np.mean(agreement, axis=0)
    assert by_resolution[0] < 0.9  # r = 1
    assert by_resolution[-1] > by_resolution[0] + 0.07  # r = 4


def test_only_data_without_clusters_depends_on_the_origin():
    """Two distant clusters are found from any origin; clusters of even data are those of cells."""
    rng = np.random.default_rng(0)
    distant = np.repeat([[0.0], [50.0]], 200, axis=0) + rng.uniform(-0.1, 0.1, (400, 1))
    agreement, ratio = origin.measure(origin.Case("distant", distant, 1.0), 4)
    assert agreement == [1.0] * 4
    assert ratio[0] == 1.0
    even = np.arange(0, 100, 0.05)[:, None]
    assert origin.measure(origin.Case("even", even, 1.0), 4)[0][0] < 1
