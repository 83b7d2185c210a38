"""Numbers and names as text, for messages, summaries and pictures."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line feed


def pluralize(n: int, noun: str) -> str:
    """Format a number of things.

    Examples
    --------
    >>> from meanshiftpp._support.text import pluralize
    >>> pluralize(1, "point"), pluralize(2000, "point")
    ('1 point', '2,000 points')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def format_bandwidth(bandwidth: Iterable[float]) -> str:
    """Format the bandwidths of all features, as one number if they are the same.

    Examples
    --------
    >>> from meanshiftpp._support.text import format_bandwidth
    >>> format_bandwidth([0.5, 0.5]), format_bandwidth([0.5, 20])
    ('0.5', '0.5, 20')
    """
    values = [f"{size:.4g}" for size in bandwidth]
    return values[0] if len(set(values)) == 1 else ", ".join(values)


def join_names(names: Iterable[str]) -> str:
    """Join names by commas; a name with a comma is in double quotes, as in a CSV file.

    Examples
    --------
    >>> from meanshiftpp._support.text import join_names
    >>> print(join_names(["speed, km/h", "age"]))
    "speed, km/h",age
    """
    return ",".join(
        '"' + name.replace('"', '""') + '"' if {",", '"'} & {*name} else name for name in names
    )


def split_names(text: str) -> list[str]:
    """Split names at commas; the inverse of `join_names`, and ValueError for an open quote.

    Examples
    --------
    >>> from meanshiftpp._support.text import split_names
    >>> split_names('"speed, km/h", age')
    ['speed, km/h', 'age']
    """
    try:
        rows = list(csv.reader([text], skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise ValueError(str(error)) from None
    return [name.strip() for row in rows for name in row]


def printable(text: str) -> str:
    r"""Escape control characters, with which a file could change the terminal.

    Examples
    --------
    >>> from meanshiftpp._support.text import printable
    >>> print(printable("speed \x1b]0;title"))
    speed \x1b]0;title
    """
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)
