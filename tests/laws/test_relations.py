"""The tables of relations on generated data; `make fuzz` checks 20,000 more."""

import pytest
from tests.laws.picture_relations import (
    PICTURE_PAIRS,
    TRACKER_PAIRS,
    check_picture,
    check_tracker,
)
from tests.laws.relations import PAIRS, check

several = pytest.mark.parametrize("seed", range(3))


@several
@pytest.mark.parametrize(("subject", "relation"), PAIRS)
def test_points(subject, relation, seed):
    check(subject, relation, seed)


@several
@pytest.mark.parametrize(("subject", "relation"), PICTURE_PAIRS)
def test_pictures(subject, relation, seed):
    check_picture(subject, relation, seed)


@several
@pytest.mark.parametrize(("adapt", "relation"), TRACKER_PAIRS)
def test_trackers(adapt, relation, seed):
    check_tracker(adapt, relation, seed)
