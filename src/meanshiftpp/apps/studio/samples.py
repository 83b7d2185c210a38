"""Sample pictures, tables and clips, which are written to files and opened like any other.

The photographs are those of scikit-image; if it is not installed, the sample is a drawn picture.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp.apps.studio.session import Source
from meanshiftpp.images import picture
from meanshiftpp.tracking import clips
from meanshiftpp.video.frames import write_frames

__all__ = ["available", "hills", "write"]

PHOTOS = {"coffee": "Coffee", "astronaut": "Astronaut", "chelsea": "Cat"}
DRAWN = {"hills": "Hills"}
TABLES = {"million": "A million points", "iris": "Iris"}
CLIPS = {
    "occlusion": "Hidden twice",
    "leaving": "Leaves and returns",
    "lookalike": "A lookalike",
    "light": "Changing light",
}


def available() -> dict[str, dict[str, str]]:
    """Return the names and titles of the samples of each view.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.samples import available
    >>> list(available())
    ['image', 'table', 'video']
    """
    return {"image": PHOTOS if _has_photos() else DRAWN, "table": TABLES, "video": CLIPS}


def write(view: str, name: str, folder: Path) -> Source:
    """Write a sample into a folder and return its source.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from meanshiftpp.apps.studio.samples import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write("table", "iris", Path(folder)).name
    'iris.csv'
    """
    write_file, suffix = _WRITERS[view]
    if name not in available()[view]:
        raise KeyError(name)
    if name == "million":
        suffix = ".npy"
    source = Source(folder / f"sample-{name}{suffix}", f"{name}{suffix}", folder)
    write_file(name, source.path)
    return source


def _has_photos() -> bool:
    return find_spec("skimage") is not None


def _write_photo(name: str, path: Path) -> None:
    if name in PHOTOS:
        picture.write(path, getattr(import_module("skimage.data"), name)())
    else:
        picture.write(path, hills())


def hills(width: int = 1200, height: int = 800) -> NDArray[np.uint8]:
    """Draw a sun behind ranges of hills, with film grain; nearer ranges are darker.

    Examples
    --------
    >>> from meanshiftpp.apps.studio.samples import hills
    >>> hills(60, 40).shape
    (40, 60, 3)
    """
    rng = np.random.default_rng(5)
    x, y = np.arange(width), np.arange(height)[:, None]
    down = (y / height)[..., None]
    scene = (1 - down) * [96, 146, 196] + down * [250, 214, 170]
    scene = np.broadcast_to(scene, (height, width, 3)).copy()
    scene[(x - 0.7 * width) ** 2 + (y - 0.33 * height) ** 2 < (0.07 * width) ** 2] = 255, 238, 196
    for depth, colour in enumerate(([150, 160, 180], [104, 124, 140], [66, 92, 92], [34, 54, 48])):
        waves = sum(
            np.sin(x / width * k * 2 * np.pi + rng.uniform(0, 7)) / k for k in (1.5, 3, 7, 13, 29)
        )
        ridge = height * (0.45 + 0.14 * depth) + 0.06 * height * waves
        scene[y > ridge] = colour
    grain = rng.normal(0, 5, (height, width, 1))
    return np.asarray((scene + grain).round().clip(0, 255), np.uint8)


def _write_table(name: str, path: Path) -> None:
    if name == "million":
        from meanshiftpp.apps.samples import gaussians

        np.save(path, gaussians()[0])
        return
    data = import_module("sklearn.datasets").load_iris()
    names = ",".join(name.removesuffix(" (cm)").replace(" ", "_") for name in data.feature_names)
    np.savetxt(path, data.data, "%.1f", ",", header=names, comments="", encoding="utf-8")


def _write_clip(name: str, path: Path) -> None:
    with write_frames(path, 25, (clips.WIDTH, clips.HEIGHT)) as write_frame:
        for frame, _ in clips.CLIPS[name]():
            write_frame(frame)


_WRITERS: dict[str, tuple[Callable[[str, Path], Any], str]] = {
    "image": (_write_photo, ".png"),
    "table": (_write_table, ".csv"),
    "video": (_write_clip, ".mp4"),
}
