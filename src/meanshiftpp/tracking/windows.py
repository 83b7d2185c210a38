"""Windows in frames: their overlap, and the table of a tracked object's windows.

This module imports nothing, because the help of the command line shows the columns.
"""

from __future__ import annotations

__all__ = ["COLUMNS", "Window", "overlap", "row"]

Window = tuple[int, int, int, int]  # x, y, width, height
COLUMNS = "id,frame,x,y,w,h,ok,score"


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


def row(number: int, frame: int, window: Window, ok: bool, score: float) -> str:
    """Format the result of an object in a frame as a line of the table.

    Examples
    --------
    >>> from meanshiftpp.tracking.windows import COLUMNS, row
    >>> for line in (COLUMNS, row(0, 7, (130, 90, 48, 54), True, 0.8)):
    ...     print(line)
    id,frame,x,y,w,h,ok,score
    0,7,130,90,48,54,1,0.8000
    """
    return f"{number},{frame},{','.join(map(str, window))},{ok:d},{score:.4f}"
