"""Every result as it comes, in a file: what was found once is not computed again.

A line of JSON each. The key says what the result depends on (data, setting, version or code), so
that a change makes a note stale instead of wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import meanshiftpp
from meanshiftpp import _kernel


class Notes:
    """The results so far, in memory and in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[tuple[str, ...], Any] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        for line in filter(None, lines):
            try:
                *key, value = json.loads(line)
                self.known[tuple(key)] = value
            except (ValueError, TypeError):  # cut short when a run was stopped, or of another form
                continue

    def get(self, *key: str) -> Any:
        return self.known.get(key)

    def keep(self, *key: str, value: Any) -> Any:
        """Write a result down; give it as it will be read."""
        line = json.dumps([*key, value])
        with self.path.open("a", encoding="utf-8") as file:  # a line starts anew, whatever was cut
            file.write("\n" + line)
        self.known[key] = json.loads(line)[-1]
        return self.known[key]

    def once(self, *key: str, make: Callable[[], Any]) -> Any:
        """Give what is noted, or make and note it."""
        return self.known[key] if key in self.known else self.keep(*key, value=make())


@cache
def own_code() -> str:
    """Tell states of this package apart."""
    files = [Path(_kernel.__file__), *sorted(Path(meanshiftpp.__file__).parent.rglob("*.py"))]
    return f"code {crc32(b''.join(path.read_bytes() for path in files)):08x}"
