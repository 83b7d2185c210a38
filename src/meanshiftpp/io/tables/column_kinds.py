"""The kinds of numeric columns: identifiers, constants, flags, and features.

An identifier or a constant does not tell which rows are alike, so it is not a feature unless the
user selects it. A flag of 0 and 1 is a feature, but it divides every cluster.
"""

from __future__ import annotations

import math
from contextlib import closing
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from meanshiftpp.core.chunk import Chunk
    from meanshiftpp.io.tables.source import TableSource

__all__ = ["Kind", "kind_of", "kinds_of_columns", "leave_out"]

_FEW_ROWS = 20  # in fewer rows, whole numbers often differ by chance, unless consecutive
_HEAD = 1000  # rows that decide in most cases, which saves sorting a long column
_MANY = 1 << 16  # rows that decide about identifiers and flags, however many follow


class Kind(StrEnum):
    """The kind of a numeric column that is not an ordinary feature."""

    identifier = "whole numbers, all different"
    constant = "constant"
    empty = "empty"
    flag = "only 0 and 1"


class _Evidence:
    """The values of a column seen so far, chunk by chunk."""

    def __init__(self) -> None:
        self._low, self._high, self._rows = math.inf, -math.inf, 0
        self._flags, self._differ = True, True
        self._seen: list[NDArray[Any]] = []

    def add(self, values: NDArray[Any]) -> None:
        """Add the values of a chunk; missing values do not count."""
        if values.dtype.kind == "f":
            values = values[~np.isnan(values)]
        if not len(values):
            return
        # Whole numbers stay int: float64 would round large identifiers to one value.
        self._low = min(self._low, values.min().item())
        self._high = max(self._high, values.max().item())
        self._rows += len(values)
        self._flags = self._flags and bool(((values == 0) | (values == 1)).all())
        for part in (values[:_HEAD], values):
            self._differ = self._differ and _all_whole_and_different(part)
        if self._differ:
            self._seen = [np.concatenate([*self._seen, values])]
            self._differ = _all_different(self._seen[0])

    @property
    def is_certain(self) -> bool:
        """Whether further rows cannot change the kind; they always can for a constant."""
        decided = self._rows >= _MANY or not (self._flags or self._differ)
        return decided and self._low < self._high

    @property
    def kind(self) -> Kind | None:
        """The kind of all values so far; None for a feature."""
        if not self._rows:
            return Kind.empty
        if self._low == self._high:
            return Kind.constant if self._rows > 1 else None
        if self._flags:
            return Kind.flag
        consecutive = self._high - self._low + 1 == self._rows > 3
        numbers_rows = self._differ and (consecutive or self._rows >= _FEW_ROWS)
        return Kind.identifier if numbers_rows else None


def _all_whole_and_different(values: NDArray[Any]) -> bool:
    whole = values.dtype.kind in "iu" or bool((values == np.rint(values)).all())
    return whole and _all_different(values)


def _all_different(values: NDArray[Any]) -> bool:
    ordered = np.sort(values)  # np.unique would import numpy.ma, a part of the start of a command
    return bool((ordered[1:] != ordered[:-1]).all())


def kind_of(values: NDArray[Any]) -> Kind | None:
    """Return the kind of a column; None for a feature.

    Examples
    --------
    >>> import numpy as np
    >>> from meanshiftpp.io.tables.column_kinds import kind_of
    >>> kind_of(np.arange(100)), kind_of(np.arange(100) / 8)
    (<Kind.identifier: 'whole numbers, all different'>, None)
    """
    evidence = _Evidence()
    evidence.add(values)
    return evidence.kind


def kinds_of_columns(source: TableSource) -> dict[str, Kind]:
    """Return the columns of a table that are not ordinary features, in their order.

    The first chunk decides for most columns. The others are read until a value decides.
    """
    # Beside real numbers, large identifiers would be an error; all rows decide about them, whatever
    # the conditions select.
    large = dict.fromkeys(source.inexact_columns())
    others = [name for name in source.columns if name not in large]
    parts = [source.alone(name) for name in large]
    parts += [source.selecting(others)] if others else []
    kinds = {name: kind for part in parts for name, kind in _kinds(part).items()}
    return {name: kinds[name] for name in source.columns if name in kinds}


def _kinds(source: TableSource) -> dict[str, Kind]:
    # Selected rows with missing values count too: an empty column must not leave out all rows.
    with closing(source.raw_chunks()) as chunks:
        evidence = _collect(source.columns, islice(chunks, 1))
        is_all = next(chunks, None) is None
    suspects = [name for name, seen in evidence.items() if not seen.is_certain]
    if suspects and not is_all:
        with closing(source.selecting(suspects).raw_chunks()) as chunks:
            evidence |= _collect(suspects, chunks)
    return {name: kind for name, seen in evidence.items() if (kind := seen.kind)}


def _collect(columns: Sequence[str], chunks: Iterable[Chunk]) -> dict[str, _Evidence]:
    """Return the values of each column, as far as they are needed to be certain."""
    evidence = {name: _Evidence() for name in columns}
    for chunk in chunks:
        for j, seen in enumerate(evidence.values()):
            if len(chunk) and not seen.is_certain:
                seen.add(chunk.points[:, j])
        if all(seen.is_certain for seen in evidence.values()):
            break
    return evidence


def leave_out(columns: Sequence[str], kinds: dict[str, Kind]) -> list[str]:
    """Return the columns to leave out: constants and identifiers, unless none would be left."""
    useless = [name for name in columns if kinds.get(name) in (Kind.constant, Kind.empty)]
    names = [name for name in columns if kinds.get(name) is Kind.identifier]
    if len(useless) + len(names) < len(columns):
        unused = {*useless, *names}
        return [name for name in columns if name in unused]
    return useless if len(useless) < len(columns) else []
