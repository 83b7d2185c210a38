"""Bandwidths in metres for columns of longitude and latitude: `-b 200m`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from meanshiftpp.apps.cli.shared.console import print_stderr
from meanshiftpp.apps.cli.shared.numbers import LENGTHS, positive_number
from meanshiftpp.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meanshiftpp.core.grid import Grid
    from meanshiftpp.io.maps.positions import Position
    from meanshiftpp.io.sources import Source

SAMPLE = 100_000  # rows that tell the range and the middle of the latitudes
_METRES = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*(k?)m\s*", re.IGNORECASE)
_MOST = 1.2  # ratio of the widest to the narrowest cell that needs no message
_CIRCLE = 360.0

Periods = list[float | None]


def in_metres(text: str | None) -> bool:
    """Return whether a bandwidth has a part in metres or kilometres."""
    return text is not None and any(_METRES.fullmatch(part) for part in text.split(","))


def to_metres(text: str) -> float | None:
    """Return the metres of a length such as `200m` or `1.5km`; None for other texts."""
    match = _METRES.fullmatch(text)
    return float(match[1]) * (1000 if match[2] else 1) if match else None


def to_degrees(
    text: str, source: Source, periods: Sequence[float | None] | None
) -> tuple[list[float], Periods]:
    """Return the bandwidth and the period of each column, for a bandwidth with parts in metres.

    The middle of the latitudes is where the bandwidth is exact. A period that is not given is that
    of the longitude.
    """
    from meanshiftpp import geo

    columns = source.columns
    position = _find_columns(text, columns)
    parts = text.split(",") if "," in text else [text] * len(columns)
    if len(parts) != len(columns):
        raise _bad_bandwidth(text, f"one value for each of the columns {', '.join(columns)}")
    points = source.sample(SAMPLE)
    latitude = _middle(points, position, columns)
    sizes = []
    for j, part in enumerate(parts):
        metres = to_metres(part)
        if (metres is None) == (j in (position.x, position.y)):
            raise _bad_bandwidth(text, f"{LENGTHS} for longitude and latitude, and for them only")
        sizes.append(
            _plain_number(part, text)
            if metres is None
            else float(geo.degrees(metres, latitude)[0 if j == position.x else 1])
        )
    whole: Periods = [_CIRCLE if j == position.x else None for j in range(len(columns))]
    used = whole if periods is None else list(periods)
    options = f"-b {','.join(map(repr, sizes))}"
    if periods is None:
        options += f" --periodic {','.join('-' if p is None else f'{p:g}' for p in whole)}"
    print_stderr(f"{text} at latitude {latitude:.6g}: {options}")
    return sizes, used


def hint_metres(columns: Sequence[str], bandwidth: Sequence[float], grid: Grid) -> None:
    """Print how to give metres, if the bandwidth exceeds all longitudes and latitudes."""
    import numpy as np

    from meanshiftpp.io.maps.positions import find_position

    position = find_position(columns)
    if position is None or not position.is_geographic:
        return
    at = [position.x, position.y]
    sizes, span = np.asarray(bandwidth), np.ptp(grid.cells, axis=0) * grid.bandwidth
    if (sizes[at] >= 1).all() and (span[at] <= sizes[at]).all():
        names = [f"{size:g}m" if j in at else f"{size:g}" for j, size in enumerate(bandwidth)]
        texts = [*dict.fromkeys(names)] if len(columns) == 2 else names
        degrees = " and ".join(dict.fromkeys(f"{size:g}" for size in sizes[at].tolist()))
        print_stderr(f"{degrees} degrees; for metres write -b {','.join(texts)}")


def _find_columns(text: str, columns: Sequence[str]) -> Position:
    from meanshiftpp.io.maps.positions import find_position

    position = find_position(columns)
    if position is None:
        raise InvalidInputError(
            f"--bandwidth {text} needs columns of longitude and latitude, got "
            f"{', '.join(columns)}; select them with --columns"
        )
    if "," not in text and len(columns) > 2:
        raise _bad_bandwidth(text, f"one value for each of the columns {', '.join(columns)}")
    return position


def _middle(points: NDArray[Any], position: Position, columns: Sequence[str]) -> float:
    """Return the median latitude; raise if the values are not longitudes and latitudes."""
    import numpy as np

    finite = points[np.isfinite(points).all(axis=1)].astype(np.float64)
    if not len(finite):
        return 0.0  # binning reports the bad values
    east, north = finite[:, position.x], finite[:, position.y]
    if np.abs(north).max() > 90 or east.min() < -180 or east.max() > 360:
        raise _not_degrees(east, north, position, columns)
    latitude = float(np.median(north))
    narrow, wide = sorted(np.cos(np.radians(np.percentile(north, [1, 99]))).tolist())
    if narrow * _MOST < wide:
        print_stderr(
            f"warning: latitudes reach from {north.min():.4g} to {north.max():.4g}, so cells are "
            f"up to {100 * (wide / max(narrow, 1e-9) - 1):.0f} % wider at one end than at the "
            "other; for the same bandwidth everywhere, use meanshiftpp.geo.to_xyz in Python"
        )
    return latitude


def _not_degrees(
    east: NDArray[Any], north: NDArray[Any], position: Position, columns: Sequence[str]
) -> InvalidInputError:
    x, y = columns[position.x], columns[position.y]
    got = f"{x!r} from {east.min():g} to {east.max():g} and {y!r} from {north.min():g} to "
    got += f"{north.max():g}"
    advice = "select longitude and latitude with --columns, or give the bandwidth without m"
    if abs(east).max() <= 90 and north.min() >= -180 and north.max() <= 360:
        advice = "the columns look swapped: "
        advice += "correct their names" if position.by_name else f"use --columns {y},{x}"
    return InvalidInputError(
        f"expected longitudes from -180 to 360 and latitudes from -90 to 90, got {got}; {advice}"
    )


def _plain_number(part: str, text: str) -> float:
    try:
        return positive_number(part)
    except ValueError:
        raise _bad_bandwidth(text, "positive numbers") from None


def _bad_bandwidth(text: str, expected: str) -> typer.BadParameter:
    return typer.BadParameter(
        f"expected {expected}, such as 200m,200m,5; got {text!r}", param_hint="'--bandwidth'"
    )
