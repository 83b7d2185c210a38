"""The tolerance benchmark counts the labels that depend on `tol`."""

import numpy as np
import pytest
from benchmarks.common import synthetic
from sklearn.exceptions import ConvergenceWarning

from benchmarks import tolerance


@pytest.fixture
def folder(tmp_path):
    """A table as .csv and as .csv.gz."""
    X, truth = synthetic.draw(synthetic.Data(300, 2, "float64"))
    for name in ("a.csv", "b.csv.gz"):
        table = np.column_stack([X, truth])
        np.savetxt(tmp_path / name, table, delimiter=",", header="x,y,label", comments="")
    return tmp_path


def test_the_default_tolerance_changes_no_label(folder, capsys):
    assert tolerance.main([str(folder)]) == 0
    assert "0 of 120 searches differ" in capsys.readouterr().out


def test_groups_that_creep_are_counted(tmp_path, monkeypatch, capsys):
    x = np.repeat([0.4, 1.51, 2.6], [300, 1, 360])
    table = np.column_stack([x, np.zeros(len(x))])
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header="x,label", comments="")
    monkeypatch.setattr(tolerance, "bandwidths", lambda X: [1.0])
    assert tolerance.main([str(tmp_path)]) == 0
    counts = capsys.readouterr().out.splitlines()[2].split()[-5:]
    assert counts == ["1", "1", "1", "81", "204"]  # searches, differ, apart, and steps


def test_a_search_that_differs_for_another_reason_is_an_error(folder, monkeypatch, capsys):
    monkeypatch.setattr(tolerance, "FREE_STEPS", 1000)
    limited = tolerance.seek
    monkeypatch.setattr(
        tolerance, "seek", lambda grid, tol, max_iter=1: limited(grid, tol=tol, max_iter=max_iter)
    )
    with pytest.warns(ConvergenceWarning):
        assert tolerance.main([str(folder)]) == 1
    assert "0 of 120 searches differ" not in capsys.readouterr().out


def test_a_folder_without_tables_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        tolerance.main([str(tmp_path)])
    assert "expected .csv or .csv.gz files" in capsys.readouterr().err
