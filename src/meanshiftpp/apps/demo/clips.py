"""A ball followed through generated clips, each with a difficulty for a tracker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp.apps.demo.tables import new_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHOWN_FRAMES = {  # the frames of each clip in which something happens
    "light": (0, 45, 75, 119),
    "occlusion": (20, 30, 38, 70),
    "lookalike": (30, 55, 65, 90),
    "leaving": (20, 60, 90, 110),
}


@dataclass(frozen=True)
class Track:
    """A clip and the tracker's result in each of its frames."""

    name: str
    frames: list[NDArray[np.uint8]]
    truth: list[Any]  # the ball's windows; None while it is hidden
    windows: list[Any]
    found: list[bool]
    seconds: float

    @property
    def overlap(self) -> float:
        """The mean overlap of the windows with the ball, in the frames that show it."""
        from meanshiftpp.tracking.windows import overlap

        pairs = zip(self.windows, self.truth, strict=True)
        return float(np.mean([overlap(window, true) for window, true in pairs if true]))


def track(name: str) -> Track:
    """Follow the ball of a clip with the default settings."""
    from meanshiftpp.tracking.clips import CLIPS
    from meanshiftpp.tracking.tracker import Tracker

    frames, truth = zip(*CLIPS[name](), strict=True)
    tracker = Tracker()
    tracker.init(frames[0], truth[0])
    start = perf_counter()
    results = [tracker.update(frame) for frame in frames[1:]]
    seconds = perf_counter() - start
    found, windows = zip(*[(True, truth[0]), *results], strict=True)
    return Track(name, list(frames), list(truth), list(windows), list(found), seconds)


def draw(tracks: Sequence[Track], picture: Path) -> None:
    """Write the shown frames of each clip, one row for each clip."""
    from meanshiftpp.images.draw import contact_sheet
    from meanshiftpp.images.picture import write
    from meanshiftpp.tracking import marks

    panels = []
    for each in tracks:
        for i in SHOWN_FRAMES[each.name]:
            caption = "followed" if each.found[i] else "lost"
            if each.truth[i] is None:
                caption += " (hidden)"
            marked = marks.tracked(each.frames[i], each.windows[i], each.found[i])
            panels.append((f"{each.name}, frame {i}", caption, marked))
    write(picture, contact_sheet(panels, columns=len(panels) // len(tracks)))


def table(tracks: Sequence[Track]) -> Any:
    """Return a table with a row for each clip."""
    result = new_table()
    for name in ("clip, 320 x 240", "frames", "hidden", "lost", "overlap", "updates per second"):
        result.add_column(name, justify="left" if name.startswith("clip") else "right")
    for each in tracks:
        hidden = sum(window is None for window in each.truth)
        speed = f"{(len(each.frames) - 1) / each.seconds:,.0f}"
        counts = (len(each.frames), hidden, each.found.count(False))
        cells = [*map(str, counts), f"{each.overlap:.2f}", f"[bold green]{speed}[/]"]
        result.add_row(each.name, *cells)
    return result
