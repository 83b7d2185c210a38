"""The options about rows: weights, missing values and conditions."""

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


WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Use only rows such as 'classification != 2 and z > 1.5'; others get label -1.",
    ),
]


class Rows(NamedTuple):
    """The values of these options."""

    weight: str | None = None
    missing: Missing = "error"
    where: str | None = None
