"""Windows in frames: their overlap, and the table of a tracked object's windows.

This module imports nothing, because the help of the command line shows the columns.
"""

from __future__ import annotations

__all__ = ["COLUMNS", "Window", "header", "overlap", "row"]

Window = tuple[int, int, int, int]  # x, y, width, height
COLUMNS = "frame,x,y,w,h,ok,score"


def overlap(a: Window, b: Window) -> float:
    """Compute the intersection over union of two windows: 1 if they are equal, 0 if disjoint.

    Examples
    --------
    >>> from meanshiftpp.clips import overlap
    >>> overlap((0, 0, 10, 10), (5, 0, 10, 10))
    0.3333333333333333
    """
    width = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    height = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    intersection = max(width, 0) * max(height, 0)
    return intersection / (a[2] * a[3] + b[2] * b[3] - intersection)


def header(n_objects: int) -> str:
    """Return the first line of a table: `COLUMNS`, and the number of the object if there are more.

    Examples
    --------
    >>> from meanshiftpp.tracking.windows import header
    >>> header(2)
    'id,frame,x,y,w,h,ok,score'
    """
    return COLUMNS if n_objects == 1 else f"id,{COLUMNS}"


def row(frame: int, window: Window, ok: bool, score: float, number: int | None = None) -> str:
    """Format the result in a frame as a line of the table, with the number of the object if given.

    Examples
    --------
    >>> from meanshiftpp.tracking.windows import COLUMNS, row
    >>> for line in (COLUMNS, row(7, (130, 90, 48, 54), True, 0.8)):
    ...     print(line)
    frame,x,y,w,h,ok,score
    7,130,90,48,54,1,0.8000
    """
    line = f"{frame},{','.join(map(str, window))},{ok:d},{score:.4f}"
    return line if number is None else f"{number},{line}"
