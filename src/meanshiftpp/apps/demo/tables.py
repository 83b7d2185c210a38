"""Tables of the demo."""

from __future__ import annotations

from typing import Any

from meanshiftpp._support.extras import need


def new_table() -> Any:
    """Return an empty rich table with a line below its head."""
    return need("rich.table", "cli").Table(box=need("rich.box", "cli").SIMPLE_HEAD)
