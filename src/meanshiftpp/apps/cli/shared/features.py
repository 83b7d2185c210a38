"""The features of a table for which the user named no columns, with a message about the others."""

from __future__ import annotations

from meanshiftpp.apps.cli.shared.console import first_columns, print_stderr
from meanshiftpp.io.tables.column_kinds import Kind, kinds_of_columns, leave_out
from meanshiftpp.io.tables.source import TableSource

_CLASS_NAMES = {"class", "label", "labels", "target"}


def use_features(source: TableSource) -> TableSource:
    """Return the table without identifiers and constants; report them, and columns of flags."""
    kinds = kinds_of_columns(source)
    unused = leave_out(source.columns, kinds)
    if unused:
        texts = [f"{name!r} ({kinds[name]})" for name in unused]
        print_stderr(f"left out, not features: {first_columns(texts)}; --columns can select them")
        source = source.selecting([name for name in source.columns if name not in unused])
    flags = [name for name in source.columns if kinds.get(name) is Kind.flag]
    if flags:
        names = first_columns([repr(name) for name in flags])
        print_stderr(
            f"warning: only 0 and 1 in {names}: each such column can "
            "divide every cluster; cluster the others with --columns, and compare the flags after"
        )
    classes = [name for name in source.columns if name.lower() in _CLASS_NAMES]
    if classes:
        names = first_columns([repr(name) for name in classes])
        print_stderr(
            f"warning: {names} may hold known classes rather than a measurement; leave them out "
            "with --columns"
        )
    return source
