"""The default axes: an identifier, a constant and a column with gaps are not features."""

import io

import numpy as np
import pytest


def csv(**columns):
    rows = zip(*columns.values())
    lines = [",".join("" if v is None else str(v) for v in row) for row in rows]
    return "\n".join([",".join(columns), *lines]).encode()


ID, CONSTANT, COUNT = list(range(40)), [7] * 40, [n % 5 for n in range(40)]
X, Y = [n / 8 for n in range(40)], [n * n / 3 for n in range(40)]
GAPS = [None, *X[1:]]


@pytest.mark.parametrize(
    ("columns", "axes"),
    [
        ({"x": X, "y": Y}, [0, 1]),
        ({"id": ID, "x": X, "y": Y}, [1, 2]),
        ({"id": ID, "x": X, "same": CONSTANT, "n": COUNT}, [1, 3]),
        ({"x": X, "gaps": GAPS, "y": Y}, [0, 2]),
        ({"id": ID, "x": X}, [0, 1]),
        ({"id": ID, "same": CONSTANT, "other": ID}, [0, 1]),
    ],
)
def test_the_default_axes_are_features(tab, columns, axes):
    assert tab.open("table.csv", csv(**columns))["axes"] == axes


def test_an_identifier_of_many_rows_is_found(tab):
    rng = np.random.default_rng(0)
    ids = rng.permutation(20_000).astype(float)
    file = io.BytesIO()
    np.save(file, np.column_stack([ids, rng.normal(size=(20_000, 2))]))
    assert tab.open("points.npy", file.getvalue())["axes"] == [1, 2]


def test_the_command_selects_an_identifier_that_was_chosen(tab):
    tab.open("table.csv", csv(id=ID, x=X))
    tab.send(action="show", view="table", id=1, columns=["id", "x"], bandwidth=[9.0, 2.0])
    code = tab.receive("clusters")["code"]
    command = "meanshiftpp cluster table.csv --columns id,x -b 9.0,2.0 -o labels.csv"
    assert code["cli"] == command
    assert "open_points('table.csv').read()" in code["python"]


def test_a_table_with_an_identifier_that_float64_cannot_hold_opens(tab):
    ids = [2**60 + n % 30 for n in range(40)]
    opened = tab.open("table.csv", csv(user=ids, x=X, y=Y))
    assert (opened["columns"], opened["axes"]) == (["x", "y"], [0, 1])
    tab.send(action="show", view="table", id=1, columns=["x", "y"], bandwidth=[9.0, 2.0])
    python = tab.receive("clusters")["code"]["python"]
    assert "open_points('table.csv', ['x', 'y']).read()" in python
