"""The photographs of BSDS500 with the regions that people drew on them, read when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Photo:
    """A photograph, and where its truths are."""

    path: Path
    drawn: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def image(self) -> NDArray[np.uint8]:
        """The pixels, (height, width, 3)."""
        from PIL import Image

        with Image.open(self.path) as picture:
            return np.asarray(picture.convert("RGB"))

    @property
    def truths(self) -> list[NDArray[np.uint16]]:
        """One label image for each person."""
        from scipy.io import loadmat

        return [one["Segmentation"][0, 0] for one in loadmat(self.drawn)["groundTruth"][0]]


def load(folder: str | Path, limit: int | None = None) -> list[Photo]:
    """List the photographs of a folder that has `images/` and `groundTruth/` as BSDS500 has them.

    Where a limit is given, so many are taken from all over the list.
    """
    folder = Path(folder)
    photos = [
        Photo(path, folder / "groundTruth" / part / f"{path.stem}.mat")
        for part in PARTS
        for path in sorted((folder / "images" / part).glob("*.jpg"))
    ]
    if not photos:
        raise FileNotFoundError(f"expected {folder}/images/{{train,val}}/*.jpg; found none")
    if missing := [photo for photo in photos if not photo.drawn.is_file()]:
        raise FileNotFoundError(f"no ground truth of {missing[0].path}: {missing[0].drawn}")
    return photos if limit is None else spread(photos, limit)


def spread(photos: list[Photo], number: int) -> list[Photo]:
    """Take so many of a list, at even distances, the first included."""
    number = min(max(number, 1), len(photos))
    return [photos[i * len(photos) // number] for i in range(number)]
