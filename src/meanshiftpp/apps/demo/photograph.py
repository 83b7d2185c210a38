"""Segments of a photograph: `meanshiftpp.segment` and two methods of scikit-image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from meanshiftpp.apps.cli.shared.console import duration
from meanshiftpp.apps.demo.tables import new_table

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Segmentation:
    """The regions that one method finds."""

    method: str
    setting: str
    labels: NDArray[Any]
    seconds: float

    @property
    def n_regions(self) -> int:
        """The number of regions."""
        return int(self.labels.max()) + 1


def segment_photograph(picture: Path) -> list[Segmentation]:
    """Segment a photograph that comes with scikit-image and write the results side by side."""
    image = import_module("skimage.data").astronaut()
    segmentations = _segment(image)
    _draw(image, segmentations, picture)
    return segmentations


def _segment(image: NDArray[Any]) -> list[Segmentation]:
    peers = import_module("skimage.segmentation")

    from meanshiftpp.images.segmentation import segment

    ours = _timed("meanshiftpp.segment", "default settings", lambda: segment(image))
    # The defaults of scikit-image are for superpixels, hundreds of small pieces. These settings
    # suit photographs of this size, or ask for as many segments as ours.
    felzenszwalb = _timed(
        "skimage felzenszwalb",
        "scale=400, min_size=1000",
        lambda: peers.felzenszwalb(image, scale=400, min_size=1000),
    )
    slic = _timed(
        "skimage slic",
        f"n_segments={ours.n_regions}",
        lambda: peers.slic(image, n_segments=ours.n_regions, start_label=0),
    )
    return [ours, felzenszwalb, slic]


def _timed(method: str, setting: str, segment: Callable[[], NDArray[Any]]) -> Segmentation:
    """Segment three times and keep the best time: the first call of a library is often slow."""
    seconds = []
    for _ in range(3):
        start = perf_counter()
        labels = segment()
        seconds.append(perf_counter() - start)
    return Segmentation(method, setting, labels, min(seconds))


def _draw(image: NDArray[Any], segmentations: Sequence[Segmentation], picture: Path) -> None:
    from meanshiftpp.images.draw import contact_sheet, fill, region_colors
    from meanshiftpp.images.picture import write

    panels = [("photograph", "astronaut, from scikit-image (NASA)", image)]
    for each in segmentations:
        caption = f"{each.n_regions} regions in {duration(each.seconds)}, {each.setting}"
        panels.append((each.method, caption, fill(each.labels, region_colors(image, each.labels))))
    write(picture, contact_sheet(panels))


def table(segmentations: Sequence[Segmentation]) -> Any:
    """Return a table with a row for each method; the first one, ours, is highlighted."""
    result = new_table()
    for name in ("photograph, 512 x 512", "regions", "time", "setting"):
        result.add_column(name, justify="right" if name in ("regions", "time") else "left")
    for i, each in enumerate(segmentations):
        time = duration(each.seconds)
        time = f"[bold green]{time}[/]" if i == 0 else time
        result.add_row(each.method, str(each.n_regions), time, each.setting)
    return result
