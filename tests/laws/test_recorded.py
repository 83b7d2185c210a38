"""Results stay bit-identical from release to release: digests of a fixed set.

A change that alters results on purpose records them again and is listed in the CHANGELOG:

    python -m tests.laws.recorded > tests/data/results.json
"""

import json
from pathlib import Path

import pytest
from tests.laws.recorded import PARTS

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "results.json").read_text("utf-8"))


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_results_equal_the_recorded_ones(part):
    computed = dict(part())
    assert computed == {name: RECORDED[name] for name in computed}


def test_every_record_is_checked():
    assert {name for part in PARTS for name, _ in part()} == set(RECORDED)
