"""Points that satisfy conditions on columns: `classification != 2 and z > 1.5`.

The conditions are parsed, not evaluated as code. Rows that do not satisfy them are not points: they
do not count, and their label is -1.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import suffix_of
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.rows import combined

_COMPARISONS = {  # of numbers in NumPy, and the function of pyarrow.compute for texts
    "==": (operator.eq, "equal"),
    "=": (operator.eq, "equal"),
    "!=": (operator.ne, "not_equal"),
    "<=": (operator.le, "less_equal"),
    ">=": (operator.ge, "greater_equal"),
    "<": (operator.lt, "less"),
    ">": (operator.gt, "greater"),
}
BOOLEANS = ("true", "false")  # as Arrow writes them
_CSV = (".csv", ".csv.gz")  # an empty text is a missing value there
_TEXT = r"'[^']*'|\"[^\"]*\""
_CONDITION = re.compile(rf"\s*(.+?)\s*(==|!=|<=|>=|=|<|>)\s*({_TEXT}|[^'\"\s]\S*)\s*", re.DOTALL)
_AND = re.compile(rf"\s+and\s+(?=(?:[^'\"]|{_TEXT})*$)", re.IGNORECASE)


@dataclass(frozen=True)
class Condition:
    """A comparison of a column with a number or a text."""

    column: str
    comparison: str
    value: float | str

    def holds(self, chunk: Chunk) -> NDArray[np.bool_]:
        """Return for which points of a chunk the condition holds; for missing values never."""
        if isinstance(self.value, str):
            inside = self._holds_for_texts(chunk.data.column(self.column), suffix_of(chunk.source))
            return inside if chunk.mask is None else inside[chunk.mask]
        values, compare = chunk.points[:, chunk.columns.index(self.column)], self._functions[0]
        known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
        # A float64 is not rounded to the type of the values, which `typed` has done if needed.
        return np.asarray(known & compare(values, np.float64(self.value)), bool)

    def typed(self, dtype: np.dtype[Any] | None) -> Condition:
        """Return the condition with its number rounded to a type of real numbers."""
        if isinstance(self.value, str) or dtype is None or dtype.kind != "f":
            return self
        with np.errstate(over="ignore"):
            value = float(dtype.type(self.value))
        return replace(self, value=value) if math.isfinite(value) else self

    def _holds_for_texts(self, column: Any, suffix: str) -> NDArray[np.bool_]:
        """Return for which values of an Arrow column the condition holds."""
        arrow, compute = need("pyarrow", "io"), need("pyarrow.compute", "io")
        if not arrow.types.is_large_string(column.type):
            column = column.cast(arrow.string())  # from a dictionary, true or false, or all null
        inside = getattr(compute, self._functions[1])(column, arrow.scalar(self.value, column.type))
        if suffix in _CSV:
            inside = compute.and_(inside, compute.not_equal(column, arrow.scalar("", column.type)))
        return np.asarray(inside.fill_null(False).to_numpy(zero_copy_only=False), bool)

    @property
    def _functions(self) -> tuple[Any, str]:
        return _COMPARISONS[self.comparison]


class Where:
    """Conditions that rows must satisfy to be points.

    Parameters
    ----------
    text : str
        Conditions that are joined by `and`. Each is a column, one of ``== != < <= > >=``, and a
        number, a quoted text, `true` or `false`.

    Examples
    --------
    >>> from meanshiftpp.io.selection import Where
    >>> for condition in Where("classification != 2 and town == 'New York'").conditions:
    ...     print(condition)
    Condition(column='classification', comparison='!=', value=2.0)
    Condition(column='town', comparison='==', value='New York')
    """

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise _not_conditions(text)
        self.text = text
        self.conditions = [_parse_condition(part, text) for part in _AND.split(text)]
        self.numbers = self._columns(float)
        self.texts = self._columns(str)

    def _columns(self, kind: type) -> tuple[str, ...]:
        names = (each.column for each in self.conditions if isinstance(each.value, kind))
        return tuple(dict.fromkeys(names))

    def typed(self, types: Mapping[str, np.dtype[Any]]) -> Where:
        """Return the conditions with each number rounded to the type of its column.

        A column of float32 is then compared with the nearest float32, also where other columns
        make its values float64.
        """
        where = copy(self)
        where.conditions = [each.typed(types.get(each.column)) for each in self.conditions]
        return where

    def select(self, chunk: Chunk, features: tuple[str, ...], weight: str | None) -> Chunk:
        """Return the chunk with the rows that satisfy all conditions, and without other columns.

        The points are the features, other columns of numbers in conditions, and the weights.
        """
        inside = np.ones(len(chunk), bool)
        for condition in self.conditions:
            inside &= condition.holds(chunk)
        columns = features if weight is None else (*features, weight)
        used = [chunk.columns.index(name) for name in columns]
        points = chunk.points if used == [*range(len(chunk.columns))] else chunk.points[:, used]
        if inside.all():
            return replace(chunk, points=points, columns=columns)
        return replace(
            chunk,
            points=points[inside],
            columns=columns,
            mask=combined(chunk.mask, inside),
            rows=points[:, : len(features)],
        )


def _parse_condition(part: str, text: str) -> Condition:
    match = _CONDITION.fullmatch(part)
    if match is None:
        raise _not_conditions(text)
    column, comparison, value = match.groups()
    if value[0] in "'\"":
        return Condition(column, comparison, value[1:-1])
    if value.lower() in BOOLEANS:
        return Condition(column, comparison, value.lower())
    try:
        return Condition(column, comparison, float(value))
    except ValueError:
        raise _not_conditions(text) from None


def _not_conditions(text: object) -> InvalidInputError:
    return InvalidInputError.for_parameter(
        "where",
        "comparisons of a column with a number, a quoted text, true or false, joined by `and`, "
        'such as "classification != 2 and z > 1.5"',
        text,
    )
