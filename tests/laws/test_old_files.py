"""Files of earlier releases load and have the results that were recorded with them.

`tests/laws/old_files.py` wrote them; the stored grids are tested in `tests/core/test_gridfile.py`.
"""

from __future__ import annotations

import json
import pickle
import warnings

import pytest
from sklearn.exceptions import InconsistentVersionWarning
from tests.laws.old_files import BANDWIDTH, DATA, POINTS, READ, models, open_stored_points, results

from meanshiftpp import Grid
from meanshiftpp.core.tree import treefile
from meanshiftpp.io.checkpoint import Checkpoint
from meanshiftpp.stream import build_grid

RECORDED = json.loads((DATA / "old_files.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def stored() -> dict:
    with warnings.catch_warnings():
        # The file was written with one version of scikit-learn; only its attributes matter here.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return pickle.loads((DATA / "models.pickle").read_bytes())


@pytest.mark.parametrize("name", sorted(RECORDED.keys() - {"tree"}))
def test_an_old_pickle_has_its_recorded_results(name, stored):
    assert results(stored[name]) == RECORDED[name]


def test_an_old_pickle_equals_a_new_fit(stored):
    fitted = models()
    assert stored.keys() == fitted.keys()
    assert {name: results(value) for name, value in fitted.items()} == {
        name: RECORDED[name] for name in fitted
    }


def test_an_old_tree_has_its_recorded_results():
    tree = treefile.from_bytes((DATA / "points.tree").read_bytes())
    assert results(tree) == RECORDED["tree"]


def test_a_run_continues_from_an_old_checkpoint(tmp_path):
    source, saved = open_stored_points(tmp_path), tmp_path / "half.checkpoint"
    saved.write_bytes((DATA / "half.checkpoint").read_bytes())
    start = Grid.from_points(POINTS[:0], BANDWIDTH)
    half = Checkpoint.resume(saved, source, start)
    assert (half.position, half.rows) == (READ, READ)
    assert half.total == Grid.from_points(POINTS[:READ], BANDWIDTH)
    assert build_grid(source, BANDWIDTH, checkpoint=saved) == Grid.from_points(POINTS, BANDWIDTH)
