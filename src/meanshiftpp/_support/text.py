"""Numbers and names as text, for messages, summaries and pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line feed
_NAME = re.compile(r'(?:\s*"((?:[^"]|"")*)"\s*|((?!\s*")[^,]*))(,|\Z)')  # quoted or plain


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
    """Join names by commas; `split_names` reverts it. Unusual names are in double quotes.

    Examples
    --------
    >>> from meanshiftpp._support.text import join_names
    >>> print(join_names(["speed, km/h", "age"]))
    "speed, km/h",age
    """
    return ",".join(
        '"' + name.replace('"', '""') + '"'
        if {",", '"'} & {*name} or name != name.strip()
        else name
        for name in names
    )


def split_names(text: str) -> list[str]:
    """Split names at commas; a name in double quotes keeps its commas and spaces.

    A quote that is not closed, and text after a closed one, raise ValueError.

    Examples
    --------
    >>> from meanshiftpp._support.text import split_names
    >>> split_names('"speed, km/h", age')
    ['speed, km/h', 'age']
    """
    names: list[str] = []
    at, more = 0, bool(text)
    while more:
        found = _NAME.match(text, at)
        if found is None:
            raise ValueError(f"a quote is not closed, or text follows one, in {text[at:]!r}")
        quoted, plain, end = found.groups()
        names.append(plain.strip() if quoted is None else quoted.replace('""', '"'))
        at, more = found.end(), end == ","
    return names


def printable(text: str) -> str:
    r"""Escape control characters, with which a file could change the terminal.

    Examples
    --------
    >>> from meanshiftpp._support.text import printable
    >>> print(printable("speed \x1b]0;title"))
    speed \x1b]0;title
    """
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)
