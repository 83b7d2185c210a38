"""The options about rows: weights and missing values."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from meanshiftpp.io.rows import Missing


class MissingRows(StrEnum):
    """The treatment of rows with missing values, as the command line spells it."""

    error = "error"
    drop = "drop"
    label = "label"


Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="Column of weights: a row of weight 3 counts as three rows. It is not clustered.",
    ),
]
MissingOption = Annotated[
    MissingRows,
    typer.Option(
        "--missing",
        help="Rows with a missing value: stop with an error, drop them, or label them -1.",
    ),
]


class Rows(NamedTuple):
    """The values of both options."""

    weight: str | None = None
    missing: Missing = "error"
