"""Labels by decreasing size."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from meanshiftpp.core.labels import number_by_size

ITEMS = st.lists(st.tuples(st.integers(-1, 4), st.integers(1, 3)), max_size=30)


@given(ITEMS, st.booleans())
def test_labels_follow_the_sizes_of_groups(items, weighted):
    groups, weights = np.array(items, np.int64).reshape(-1, 2).T
    found = number_by_size(groups, weights if weighted else None)
    each = weights if weighted else np.ones_like(weights)
    present = list(dict.fromkeys(group for group in groups.tolist() if group >= 0))
    ranked = sorted(present, key=lambda group: -each[groups == group].sum())  # stable
    assert found.groups.tolist() == ranked
    assert found.sizes.tolist() == [each[groups == group].sum() for group in ranked]
    expected = [ranked.index(group) if group >= 0 else -1 for group in groups.tolist()]
    assert_array_equal(found.labels, np.array(expected, np.int32))
    assert found.labels.dtype == np.int32


def test_noise_takes_no_label_even_if_it_is_the_largest_group():
    assert number_by_size(np.array([-1, -1, -1, 7, 7, 2])).labels.tolist() == [-1, -1, -1, 0, 0, 1]
