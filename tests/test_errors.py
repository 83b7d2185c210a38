"""The exceptions: one tree, and errors whose content is attributes that survive pickling."""

import copy
import math
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from meanshiftpp import Grid, MeanShiftPP, select_bandwidth
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import (
    FileAccessError,
    GridFileError,
    GridMismatchError,
    InvalidInputError,
    MeanShiftPPError,
    MissingExtraError,
)

ATTRIBUTES = ("problem", "row", "column", "parameter", "expected", "got")


def attributes(error: InvalidInputError) -> dict[str, object]:
    return {"text": str(error), **{name: getattr(error, name) for name in ATTRIBUTES}}


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (InvalidInputError, ValueError),
        (GridMismatchError, ValueError),
        (GridFileError, ValueError),
        (FileAccessError, OSError),
        (MissingExtraError, ImportError),
    ],
)
def test_every_error_is_of_the_package_and_of_a_builtin_class(error, builtin):
    assert issubclass(error, MeanShiftPPError)
    assert issubclass(error, builtin)
    assert str(error("the text")) == "the text"


# -- a bad value in the data -----------------------------------------------------------------------


def test_bad_value_has_a_place_in_the_text():
    error = InvalidInputError("is NaN", row=4, column=1)
    assert attributes(error) == {
        "text": "X[4, 1] is NaN",
        "problem": "is NaN",
        "row": 4,
        "column": 1,
        "parameter": None,
        "expected": None,
        "got": None,
    }


def test_at_replaces_the_place_and_keeps_the_attributes():
    error = InvalidInputError("is NaN", row=4, column=1)
    moved = error.at("b.csv, row 72, column 'height'")
    assert attributes(moved) == {
        **attributes(error),
        "text": "b.csv, row 72, column 'height' is NaN",
    }
    assert str(moved.at("pixel (3, 4)")) == "pixel (3, 4) is NaN"
    assert str(error) == "X[4, 1] is NaN"


def test_at_puts_a_place_before_a_text_without_one():
    error = InvalidInputError("X must have 2 dimensions, got 1")
    assert str(error.at("chunk 2:")) == "chunk 2: X must have 2 dimensions, got 1"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_binning_sets_row_and_column(value, dtype):
    X = np.zeros((9, 3), dtype)
    X[4, 1] = value
    for call in (lambda: Grid.from_points(X, 1.0), lambda: MeanShiftPP(1.0).fit(X)):
        with pytest.raises(InvalidInputError) as caught:
            call()
        assert (caught.value.row, caught.value.column) == (4, 1)
        assert str(caught.value) == f"X[4, 1] {caught.value.problem}"


def test_automatic_bandwidth_sets_row_and_column():
    X = np.zeros((9, 3))
    X[4, 1] = math.nan
    with pytest.raises(InvalidInputError) as caught:
        select_bandwidth(X)
    assert (caught.value.row, caught.value.column) == (4, 1)


# -- a bad parameter -------------------------------------------------------------------------------


def test_bad_parameter_has_a_name_an_expectation_and_a_value():
    error = InvalidInputError.for_parameter("bandwidth", "positive and finite", -1)
    assert attributes(error) == {
        "text": "bandwidth must be positive and finite, got -1",
        "problem": "bandwidth must be positive and finite, got -1",
        "row": None,
        "column": None,
        "parameter": "bandwidth",
        "expected": "positive and finite",
        "got": -1,
    }


def test_named_replaces_the_name_and_keeps_the_attributes():
    error = InvalidInputError.for_parameter("bandwidth", "positive", "x", "use a number")
    assert str(error) == "bandwidth must be positive, got 'x'; use a number"
    option = error.named({"bandwidth": "--bandwidth"})
    assert str(option) == "--bandwidth must be positive, got 'x'; use a number"
    assert option.parameter == "bandwidth"
    assert (option.expected, option.got) == ("positive", "x")
    assert (
        str(option.named({"bandwidth": "Bandwidth"}))
        == "Bandwidth must be positive, got 'x'; use a number"
    )


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (InvalidInputError.for_file("a.csv", "is empty"), "here is empty"),
        (GridFileError.for_file("a.grid", "is empty"), "here is empty"),
        (FileAccessError.for_file("a.csv", "read", "gone"), "cannot read here: gone"),
    ],
)
def test_errors_about_files_state_the_place_of_a_front_end(error, text):
    moved = pickle.loads(pickle.dumps(error)).at("here")
    assert (type(moved), str(moved), moved.place) == (type(error), text, "here")
    assert moved.problem == error.problem
    assert error.place == repr("a.grid" if isinstance(error, GridFileError) else "a.csv")


@pytest.mark.parametrize("kind", [GridFileError, FileAccessError])
def test_an_error_about_no_single_file_stays(kind):
    error = kind("two files have one name")
    assert error.at("here") is error


def test_named_returns_an_error_without_a_parameter_unchanged():
    error = InvalidInputError("is NaN", row=4, column=1)
    assert error.named({"bandwidth": "--bandwidth"}) is error


def test_named_keeps_the_advice_after_at():
    error = InvalidInputError.for_parameter("bandwidth", "positive", -1, "use a number").at(
        "b.csv:"
    )
    assert str(error) == "b.csv: bandwidth must be positive, got -1; use a number"
    assert str(error.named({"bandwidth": "--bandwidth"})).endswith("got -1; use a number")


# -- pickling --------------------------------------------------------------------------------------

ERRORS = {
    "value": InvalidInputError("is NaN", row=4, column=1),
    "moved": InvalidInputError("is NaN", row=4, column=1).at("b.csv, row 5"),
    "parameter": InvalidInputError.for_parameter("tol", "a number", [1, "x"], "use 0.001"),
    "option": InvalidInputError.for_parameter("tol", "a number", None, "use 0.001").named(
        {"tol": "--tol"}
    ),
    "text": InvalidInputError("an empty grid has no modes"),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickling_keeps_all_attributes(error, protocol):
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is InvalidInputError
    assert attributes(again) == attributes(error)
    assert attributes(copy.copy(error)) == attributes(error)
    names = {"bandwidth": "--x"}
    assert str(again.named(names)) == str(error.named(names))
    assert str(again.at("here")) == str(error.at("here"))


@pytest.mark.parametrize(
    "kind", [GridMismatchError, GridFileError, FileAccessError, MissingExtraError]
)
def test_pickling_keeps_class_and_text(kind):
    again = pickle.loads(pickle.dumps(kind("the text")))
    assert type(again) is kind
    assert str(again) == "the text"


def bin_bad_chunk(row: int) -> Grid:
    X = np.zeros((9, 2))
    X[row, 1] = math.inf  # unlike NaN, it equals itself
    chunk = Chunk(X, source="b.csv", first=70, columns=("x", "y"))
    return Grid.from_chunks([chunk], 1.0)


def fit_with(bandwidth: object) -> MeanShiftPP:
    return MeanShiftPP([1.0, bandwidth]).fit(np.zeros((9, 2)))


def test_process_pool_keeps_all_attributes():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        bad_value = pool.submit(bin_bad_chunk, 4).exception()
        bad_parameter = pool.submit(fit_with, -1.0).exception()
    for remote, call in (
        (bad_value, lambda: bin_bad_chunk(4)),
        (bad_parameter, lambda: fit_with(-1.0)),
    ):
        with pytest.raises(InvalidInputError) as caught:
            call()
        assert type(remote) is InvalidInputError
        assert attributes(remote) == attributes(caught.value)
    assert str(bad_value).startswith("b.csv, row 75, column 'y' is inf")
    assert bad_value.got == math.inf
    assert (bad_value.row, bad_value.column) == (74, 1)
    assert (bad_parameter.parameter, bad_parameter.got) == ("bandwidth", [1.0, -1.0])
