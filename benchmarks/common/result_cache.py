"""A cache of results in a file of JSON lines, so that a stopped run continues where it was.

Each line is a list: the parts of the key, then the value. The key names everything that the result
depends on (data, settings, version or code), so a change makes an entry unused, never wrong.
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


class ResultCache:
    """Results in memory and in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[tuple[str, ...], Any] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        for line in filter(None, lines):
            try:
                *key, value = json.loads(line)
                self.entries[tuple(key)] = value
            except (ValueError, TypeError):  # truncated when a run was stopped, or another format
                continue

    def get(self, *key: str) -> Any:
        return self.entries.get(key)

    def store(self, *key: str, value: Any) -> Any:
        """Append a result to the file; return it in the form in which JSON reads it back."""
        line = json.dumps([*key, value])
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" + line)  # the newline comes first because the last line may be cut off
        self.entries[key] = json.loads(line)[-1]
        return self.entries[key]

    def get_or_compute(self, *key: str, compute: Callable[[], Any]) -> Any:
        """Return the stored result, or compute and store it."""
        return self.entries[key] if key in self.entries else self.store(*key, value=compute())


@cache
def code_version(*layers: str) -> str:
    """Return a CRC of the native module and the Python files of some layers (default: all)."""
    package = Path(meanshiftpp.__file__).parent
    folders = [package / layer for layer in layers] or [package]
    if missing := [folder.name for folder in folders if not folder.is_dir()]:
        raise FileNotFoundError(f"expected folders of meanshiftpp; found no {', '.join(missing)}")
    sources = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    files = [Path(_kernel.__file__), *sources]
    return f"code {crc32(b''.join(path.read_bytes() for path in files)):08x}"
