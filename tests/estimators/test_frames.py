"""Errors about data frames name the column, and errors about weights carry their place."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from meanshiftpp import GridDensity, MeanShiftPP, select_bandwidth, sweep
from meanshiftpp.errors import InvalidInputError

FRAMES = [pd.DataFrame, pl.DataFrame]
GOOD = {"east": [0.5, 1.5, 2.5], "height": [1.0, 2.0, 3.0]}
METHODS = [
    lambda X: MeanShiftPP(1.0).fit(X),
    lambda X: MeanShiftPP(1.0).fit_predict(X),
    lambda X: MeanShiftPP(1.0).partial_fit(X),
    lambda X: GridDensity(1.0).fit(X=X),
    lambda X: MeanShiftPP(1.0).fit(type(X)(GOOD)).predict(X),
    lambda X: MeanShiftPP(1.0).fit(type(X)(GOOD)).membership_vector(X),
    lambda X: GridDensity(1.0).fit(type(X)(GOOD)).score_samples(X),
]


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("method", METHODS)
def test_a_missing_value_is_named_by_its_column(frame, method):
    X = frame({**GOOD, "height": [1.0, np.nan, 3.0]})
    with pytest.raises(InvalidInputError, match=r"^X\[1, 'height'\] is NaN: every") as raised:
        method(X)
    assert (raised.value.row, raised.value.column) == (1, 1)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("method", METHODS)
def test_text_is_named_by_its_column(frame, method):
    X = frame({**GOOD, "height": ["1", "2", "tall"]})
    with pytest.raises(InvalidInputError, match=r"^X\[2, 'height'\] is 'tall', not a number;"):
        method(X)


def test_arrays_keep_their_positions():
    with pytest.raises(InvalidInputError, match=r"^X\[1, 0\] is NaN"):
        MeanShiftPP(1.0).fit([[0.0, 1.0], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("weight", "row", "got"),
    [
        ([1.0, -2.0, 1.0], 1, -2.0),
        ([1.0, 1.0, np.inf], 2, np.inf),
        ([1, 2**40, 1], 1, 2**40),
        ([1e-310, 5e-324, 0.0], 0, 1e-310),
        ([1.0], None, (1,)),
    ],
)
def test_errors_about_weights_carry_parameter_row_and_value(weight, row, got):
    with pytest.raises(InvalidInputError, match=r"^sample_weight ") as raised:
        MeanShiftPP(1.0).fit(np.zeros((3, 1)), sample_weight=weight)
    assert (raised.value.parameter, raised.value.row) == ("sample_weight", row)
    assert raised.value.got == got


@pytest.mark.parametrize("others", [{}, {"height": range(4)}], ids=["alone", "beside numbers"])
def test_a_column_of_dates_is_named(others):
    days = pd.date_range("2026-01-01", periods=4)
    with pytest.raises(InvalidInputError, match=r"^X\[0, 'day'\] is .*, not a number;"):
        MeanShiftPP(1.0).fit(pd.DataFrame({**others, "day": days}))


def test_a_lazy_frame_is_to_be_collected():
    with pytest.raises(InvalidInputError, match=r"got a lazy one; pass X.collect\(\)"):
        MeanShiftPP(1.0).fit(pl.DataFrame({"a": [1.0, 2.0]}).lazy())


@pytest.mark.parametrize("dtype", ["M8[ns]", "M8[s]", "m8[s]"])
def test_dates_are_named_with_what_to_do(dtype):
    days = np.array([86_400, 2 * 86_400]).astype("i8").astype(dtype[:2] + "[s]").astype(dtype)
    X = pd.DataFrame({"x": [1.0, 2.0], "day": days})
    value = "1970-01-02T00:00:00" if dtype[0] == "M" else "86400 seconds"
    message = rf"X\[0, 'day'\] is a date or a time, {value}, .*days since the first, or select"
    with pytest.raises(InvalidInputError, match=message):
        MeanShiftPP(1.0).fit(X)


TABLES = [pd.DataFrame, pl.DataFrame, pa.table]
USES = [MeanShiftPP().fit, MeanShiftPP(2.0**40).fit, GridDensity(1.0).fit, sweep, select_bandwidth]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("use", USES)
def test_whole_numbers_that_would_be_rounded_raise(table, use):
    times = np.arange(40) + 1_700_000_000_000_000_000
    with pytest.raises(InvalidInputError, match=r"17\d+, which float64 cannot hold reliably"):
        use(table({"value": np.arange(40.0), "time": times}))


def test_two_columns_of_one_name_raise():
    X = pa.Table.from_arrays([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], names=["a", "a"])
    with pytest.raises(InvalidInputError, match="different names, got 'a' 2 times; rename"):
        MeanShiftPP(1.0).fit(X)


class Wide:
    """A table whose column NumPy cannot hold, as Int128 in recent releases of polars."""

    columns, dtypes, shape, dtype = ["id"], ["i128"], (2, 1), "i128"

    def __getitem__(self, name):
        return self

    def __array__(self, *args, **options):
        raise ArithmeticError("cannot convert i128 to NumPy")


@pytest.mark.parametrize("use", USES)
def test_columns_that_cannot_be_arrays_are_named(use):
    with pytest.raises(InvalidInputError, match=r"'id' must hold .* 64 bits, got i128; convert it"):
        use(Wide())


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("names", [["price"], ["price", "value"]])
def test_decimals_are_numbers(table, names):
    columns = {"price": [Decimal(k) / 4 for k in range(40)], "value": np.arange(40.0)}
    X = table({name: columns[name] for name in names})
    plain = np.column_stack([np.asarray(columns[name], float) for name in names])
    assert np.array_equal(MeanShiftPP(1.0).fit(X).labels_, MeanShiftPP(1.0).fit(plain).labels_)
    assert np.array_equal(select_bandwidth(X), select_bandwidth(plain))


@pytest.mark.parametrize("use", USES)
def test_categories_are_named_by_their_column(use):
    names = ["elm", "oak"] * 3
    categories = pl.Series(names, dtype=pl.Categorical)
    for tree in (categories, categories.to_arrow(), pd.Categorical(names)):
        table = pd.DataFrame if isinstance(tree, pd.Categorical) else pl.DataFrame
        table = table if isinstance(tree, pl.Series | pd.Categorical) else pa.table
        with pytest.raises(InvalidInputError, match=r"'tree'.*select the columns"):
            use(table({"height": np.arange(6.0), "tree": tree}))
