"""Data in chunks: the grid of all points, and errors that state the place of a bad value.

Chunks of tables are in test_table_chunks.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanshiftpp import Grid
from meanshiftpp.core.chunk import Chunk, as_chunk, relocate_errors
from meanshiftpp.errors import GridMismatchError, InvalidInputError

X = np.random.default_rng(7).normal(size=(500, 3)).astype(np.float32)
GRID = Grid.from_points(X, 0.4)


@given(cuts=st.lists(st.integers(0, len(X)), max_size=30))
def test_division_into_chunks_does_not_change_the_grid(cuts):
    parts = np.split(X, sorted(cuts))
    assert Grid.from_chunks(parts, 0.4) == GRID


KINDS = {
    "rows": lambda part: part,
    "columns": np.asfortranarray,
    "lists": lambda part: part.tolist(),
    "pair": lambda part: (part, np.ones(len(part), int)),
    "chunk": lambda part: Chunk(part, source="a file"),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_of_chunk(kind):
    assert Grid.from_chunks((kind(part) for part in np.split(X, 5)), 0.4) == GRID


def test_whole_weights_count_as_repetitions():
    w = np.random.default_rng(1).integers(0, 4, len(X))
    pairs = zip(np.split(X, 5), np.split(w, 5))
    assert Grid.from_chunks(pairs, 0.4) == Grid.from_points(np.repeat(X, w, axis=0), 0.4)


def test_real_weights_add_up():
    w = np.random.default_rng(1).random(len(X))
    grid = Grid.from_chunks(zip(np.split(X, 5), np.split(w, 5)), 0.4)
    assert np.array_equal(grid.cells, GRID.cells)
    assert grid.total == pytest.approx(w.sum())


def test_empty_chunks_are_skipped():
    empty = [np.empty((0, 3)), []]
    assert Grid.from_chunks([*empty, X, *empty], 0.4) == GRID
    assert Grid.from_chunks(empty, 0.4) == Grid.empty(0.4, 3)
    assert Grid.from_chunks([], [0.4, 0.5]) == Grid.empty([0.4, 0.5])
    with pytest.raises(InvalidInputError, match="number of features is unknown"):
        Grid.from_chunks([], 0.4)


@pytest.mark.parametrize(
    ("shape", "message"),
    [((3,), "X must have 2 dimensions"), ((3, 0), "X must have at least one feature")],
)
def test_chunks_that_are_not_tables_raise(shape, message):
    for chunks in ([np.zeros(shape)], [np.empty((0,)), np.zeros(shape), X]):
        with pytest.raises(InvalidInputError, match=message):
            Grid.from_chunks(chunks, 0.4)


def test_empty_chunks_before_the_first_table_are_left_out():
    assert Grid.from_chunks([np.empty((0,)), np.empty((0, 0)), X], 0.4) == GRID


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([[0, 0, 0], [0, np.nan, 0]]), "chunk 2, row 2, column 2 is NaN"),
        (np.zeros(3), "chunk 2: X must have 2 dimensions"),
        ((X, [1.0]), r"chunk 2: sample_weight must have shape \(500,\), got \(1,\)"),
        (Chunk(X * np.nan, source="b.npy", first=90), "b.npy, row 91, column 1 is NaN"),
        (Chunk(X * np.nan, source="b", columns=("u", "v", "w")), "b, row 1, column 'u' is NaN"),
        (Chunk(X * np.nan, first=90), r"X\[90, 0\] is NaN"),
    ],
)
def test_errors_state_the_place_of_a_bad_value(bad, message):
    with pytest.raises(InvalidInputError, match=message):
        Grid.from_chunks([X, bad], 0.4)


def test_error_carries_the_row_in_the_source_and_the_column():
    bad = X.copy()
    bad[7, 2] = np.inf
    with pytest.raises(InvalidInputError, match=r"b\.npy, row 98, column 3") as caught:
        Grid.from_chunks([Chunk(bad, source="b.npy", first=90)], 0.4)
    assert (caught.value.row, caught.value.column) == (97, 2)


def test_nested_chunks_add_their_first_rows():
    """A GPU bins a chunk of a file in batches."""
    chunk, batch = Chunk(X, source="b.npy", first=90), Chunk(X, first=200)
    with (
        pytest.raises(InvalidInputError, match=r"^b.npy, row 296, column 2 is NaN$") as caught,
        chunk.locating_errors(),
        batch.locating_errors(),
    ):
        raise InvalidInputError("is NaN", row=5, column=1)
    assert caught.value.row == 295


def test_relocated_errors_keep_their_cause():
    def relocate(error):
        return error if error.row is None else error.at(f"pixel ({error.row}, {error.column})")

    with (
        pytest.raises(InvalidInputError, match=r"^pixel \(1, 2\) is NaN$") as caught,
        relocate_errors(relocate),
    ):
        raise InvalidInputError("is NaN", row=1, column=2)
    assert str(caught.value.__cause__) == "X[1, 2] is NaN"
    with pytest.raises(InvalidInputError, match=r"^no place$"), relocate_errors(relocate):
        raise InvalidInputError("no place")
    with pytest.raises(ValueError, match=r"^other$"), relocate_errors(relocate):
        raise ValueError("other")


def test_chunk_of_other_features_raises():
    with pytest.raises(GridMismatchError, match="chunk 2 has 2 features, but 3 were expected"):
        Grid.from_chunks([X, X[:, :2]], 0.4)


@pytest.mark.parametrize("item", [None, "x", 3.0])
def test_items_that_are_not_chunks_raise(item):
    with pytest.raises(InvalidInputError, match=r"chunk 2 must be an array .* or a table, got"):
        Grid.from_chunks([np.zeros((2, 2)), item], 1.0)
    if not isinstance(item, str):
        with pytest.raises(InvalidInputError, match="chunks must be an iterable"):
            Grid.from_chunks(item, 1.0)


def test_size_counts_rows_that_are_not_points():
    assert Chunk(X).size == len(Chunk(X)) == 500
    mask = np.zeros(700, bool)
    mask[:500] = True
    assert Chunk(X, mask=mask).size == 700
    assert as_chunk(Chunk(X, mask=mask)).mask is mask
