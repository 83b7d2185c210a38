"""The profile of the clusters of `meanshiftpp cluster`, and the file of --centers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meanshiftpp.core.modes import Modes
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


def profile_of(
    modes: Modes,
    points: NDArray[Any] | None,
    labels: NDArray[Any] | None,
    weights: NDArray[Any] | None,
) -> Profile:
    """Return the profile of the clusters: of all points if they were read, else of the grid.

    On a feature with a period, centres and means are in the period of the points.
    """
    from meanshiftpp.core.periods import nearest_copies
    from meanshiftpp.core.profile import profile_of_grid, profile_of_points

    if points is None or labels is None:
        found = profile_of_grid(modes)
    else:
        found = profile_of_points(modes, points, labels, weights)
    if points is None or not any(modes.grid.periods):
        return found
    centers = nearest_copies(found.centers, points, modes.grid.periods)
    return found._replace(centers=centers, means=found.means + (centers - found.centers))


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
