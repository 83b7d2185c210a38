"""The table of clusters that `meanshiftpp cluster --centers` writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meanshiftpp.core.profile import Profile

FORMATS = (".csv", ".parquet", ".arrow", ".feather")

Centers = Annotated[
    Path | None,
    typer.Option(
        "--centers",
        metavar="FILE",
        help="Write a table of the clusters: label, size, share, centre, mean and standard "
        "deviation of each column (.csv, .parquet, .arrow or .feather).",
    ),
]


def check_centers(path: Path) -> None:
    """Check before a long computation that the table of clusters can be written."""
    from meanshiftpp._support.files import check_writable, known_suffix

    known_suffix(path, FORMATS)
    check_writable(path)


def in_period_of(
    points: NDArray[Any], profile: Profile, periods: Sequence[float | None]
) -> Profile:
    """Return a profile with centres and means in the period of the points."""
    from meanshiftpp.core.periods import nearest_copies

    centers = nearest_copies(profile.centers, points, periods)
    return profile._replace(centers=centers, means=profile.means + (centers - profile.centers))


def write_centers(path: Path, profile: Profile, names: Sequence[str]) -> None:
    """Write a row for each cluster."""
    from meanshiftpp._support.files import atomic_path, write_rows

    columns = profile.table(names)
    if path.suffix.lower() == ".csv":
        values = [column.tolist() for column in columns.values()]
        write_rows(path, columns, zip(*values, strict=True))
        return
    with atomic_path(path) as target:
        _write_arrow(target, columns)


def _write_arrow(path: Path, columns: dict[str, Any]) -> None:
    from meanshiftpp._support.extras import need

    table = need("pyarrow", "io").table(columns)
    if path.suffix.lower() == ".parquet":
        need("pyarrow.parquet", "io").write_table(table, path)
    else:
        need("pyarrow.feather", "io").write_feather(table, str(path), compression="uncompressed")
