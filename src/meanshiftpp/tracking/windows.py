"""A window on a frame, and the table of where one went.

Nothing is imported here: the command line names the columns in its help.
"""

from __future__ import annotations

__all__ = ["COLUMNS", "Window", "row"]

Window = tuple[int, int, int, int]  # x, y, width, height
COLUMNS = "frame,x,y,w,h,ok,score"


def row(frame: int, window: Window, ok: bool, score: float) -> str:
    """Write what was found in a frame as a line of the table, below `COLUMNS`.

    Examples
    --------
    >>> from meanshiftpp.tracking.windows import COLUMNS, row
    >>> for line in (COLUMNS, row(7, (130, 90, 48, 54), True, 0.8)):
    ...     print(line)
    frame,x,y,w,h,ok,score
    7,130,90,48,54,1,0.8000
    """
    return f"{frame},{','.join(map(str, window))},{ok:d},{score:.4f}"
