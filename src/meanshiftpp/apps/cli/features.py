"""The features of a table for which the user named no columns, with a message about the others."""

from __future__ import annotations

from meanshiftpp.apps.cli.console import print_stderr
from meanshiftpp.io.features import Kind, kinds_of_columns, leave_out
from meanshiftpp.io.tables import TableSource

COLUMNS_SHOWN = 8


def use_features(source: TableSource) -> TableSource:
    """Return the table without identifiers and constants; report them, and columns of flags."""
    kinds = kinds_of_columns(source)
    unused = leave_out(source.columns, kinds)
    if unused:
        texts = [f"{name!r} ({kinds[name]})" for name in unused]
        print_stderr(f"left out, not features: {_first(texts)}; --columns can select them")
        source = source.selecting([name for name in source.columns if name not in unused])
    flags = [name for name in source.columns if kinds.get(name) is Kind.flag]
    if flags:
        print_stderr(
            f"warning: only 0 and 1 in {_first(list(map(repr, flags)))}: each such column can "
            "divide every cluster; cluster the others with --columns, and compare the flags after"
        )
    return source


def _first(texts: list[str]) -> str:
    rest = len(texts) - COLUMNS_SHOWN
    return ", ".join(texts[:COLUMNS_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
