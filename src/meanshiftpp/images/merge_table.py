"""Load the learned cost of merging two regions, which `python -m benchmarks.bsds.train` makes."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from meanshiftpp import _kernel


@cache
def merge_table() -> _kernel.MergeTable:
    """Return the table of this release; it is read once."""
    return make_table(json.loads(table_text()))


def table_text() -> str:
    """Return the checked-in file."""
    return resources.files("meanshiftpp.images").joinpath("merge_table.json").read_text("utf-8")


def make_table(stored: dict[str, Any]) -> _kernel.MergeTable:
    """Convert the content of a file to the kernel's table."""
    return _kernel.MergeTable(
        np.array(stored["features"], np.uint8),
        np.array(stored["thresholds"], np.float32),
        np.array(stored["values"], np.int16),
        stored["bias"],
    )
