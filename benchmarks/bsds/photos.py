"""The photographs of BSDS500 and the regions that people drew on them, read on demand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PARTS = ("train", "val", "test")


@dataclass(frozen=True)
class Photo:
    """The path of a photograph and of its human segmentations."""

    path: Path
    truth_path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def image(self) -> NDArray[np.uint8]:
        """The pixels, (height, width, 3)."""
        from PIL import Image

        with Image.open(self.path) as image:
            return np.asarray(image.convert("RGB"))

    @property
    def truths(self) -> list[NDArray[np.uint16]]:
        """One label image for each person."""
        from scipy.io import loadmat

        return [one["Segmentation"][0, 0] for one in loadmat(self.truth_path)["groundTruth"][0]]


def load(folder: str | Path, limit: int | None = None) -> list[Photo]:
    """List the photographs of a folder with `images/` and `groundTruth/`, laid out as BSDS500.

    With a limit, that many photographs are returned, evenly spaced over the list.
    """
    folder = Path(folder)
    photos = [
        Photo(path, folder / "groundTruth" / part / f"{path.stem}.mat")
        for part in PARTS
        for path in sorted((folder / "images" / part).glob("*.jpg"))
    ]
    if not photos:
        raise FileNotFoundError(f"expected {folder}/images/{{train,val,test}}/*.jpg; found none")
    if missing := [photo for photo in photos if not photo.truth_path.is_file()]:
        photo = missing[0]
        raise FileNotFoundError(f"expected {photo.truth_path} for {photo.path}; it does not exist")
    return photos if limit is None else evenly_spaced(photos, limit)


def evenly_spaced(photos: list[Photo], number: int) -> list[Photo]:
    """Return a number of photographs, evenly spaced over the list, the first one included."""
    number = min(max(number, 1), len(photos))
    return [photos[i * len(photos) // number] for i in range(number)]
