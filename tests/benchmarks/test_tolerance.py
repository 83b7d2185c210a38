"""The tolerance benchmark finds labels that depend on `tol`."""

import numpy as np
import pytest
from benchmarks.common import synthetic

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


def test_a_tolerance_that_changes_labels_is_found(folder, monkeypatch, capsys):
    monkeypatch.setattr(tolerance, "DEFAULT_TOL", 1e6)
    assert tolerance.main([str(folder)]) == 1
    assert "0 of 120 searches differ" not in capsys.readouterr().out


def test_a_folder_without_tables_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        tolerance.main([str(tmp_path)])
    assert "expected .csv or .csv.gz files" in capsys.readouterr().err
