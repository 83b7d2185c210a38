"""The program `meanshiftpp demo`: cluster points and Iris, segment a photograph, track a ball.

- `points`: a million points of a known mixture, and Iris, with the default settings, and the
  points at a bandwidth chosen by hand. The table shows how well the clusters agree with the true
  groups, and the time of one plain `fit`.
- `photograph`: a photograph of scikit-image, segmented by this package and by scikit-image.
- `clips`: generated clips, each with a difficulty for a tracker.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from meanshiftpp._support.extras import need
from meanshiftpp._support.files import new_folders
from meanshiftpp.apps.demo import clips, photograph, points
from meanshiftpp.apps.samples import gaussians


def run(out: Path) -> None:
    """Cluster, segment and track; print tables and write pictures to the folder `out`."""
    need("matplotlib", "plot")
    rich = need("rich.console", "cli")
    console, progress = rich.Console(highlight=False), rich.Console(stderr=True)
    with new_folders([out]):
        pictures = [
            *_cluster_points(out, console, progress),
            *_segment_photograph(out, console, progress),
            *_track_ball(out, console, progress),
        ]
    for picture in pictures:
        console.print(f"  picture: [bold]{picture}[/]")


def _cluster_points(out: Path, console: Any, progress: Any) -> list[Path]:
    with progress.status("generating a million points ..."):
        X, source = gaussians()
    with progress.status("clustering ..."):
        million = points.cluster("a million points", ("x", "y"), X, source)
        at_bandwidth = points.cluster("at bandwidth 0.4", ("x", "y"), X, source, bandwidth=0.4)
        iris = points.cluster_iris()
    pictures = [out / "million.png", out / "iris.png"]
    with progress.status("drawing ..."):
        for clustering, picture in zip((million, iris), pictures, strict=True):
            points.draw(clustering, picture)
    console.print(points.table([million, at_bandwidth, iris]))
    return pictures


def _segment_photograph(out: Path, console: Any, progress: Any) -> list[Path]:
    picture = out / "photograph.png"
    try:
        with progress.status("segmenting a photograph ..."):
            segmentations = photograph.segment_photograph(picture)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("skimage"):
            raise
        console.print("  photograph skipped: it needs scikit-image (pip install scikit-image)")
        return []
    console.print(photograph.table(segmentations))
    return [picture]


def _track_ball(out: Path, console: Any, progress: Any) -> list[Path]:
    picture = out / "tracking.png"
    with progress.status("tracking a ball ..."):
        tracks = [clips.track(name) for name in clips.SHOWN_FRAMES]
        clips.draw(tracks, picture)
    console.print(clips.table(tracks))
    return [picture]
