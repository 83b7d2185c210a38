"""Sequences with a box for every frame: a folder each, with `img/` and `groundtruth_rect.txt`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Frame = NDArray[np.uint8]
Boxes = NDArray[np.float64]  # (frames, 4): x, y, width, height; NaN where there is nothing to see
COUNT_FROM_0 = ("vot", "uav")  # how names begin of sequences that are not OTB's, which count from 1


@dataclass(frozen=True)
class Film:
    """A sequence, read when asked for."""

    folder: Path
    backwards: bool = False  # played from its last frame: the same film with another beginning

    @property
    def name(self) -> str:
        return f"{self.folder.name}-backwards" if self.backwards else self.folder.name

    @cached_property
    def files(self) -> list[Path]:
        return sorted((self.folder / "img").glob("*.jpg"), reverse=self.backwards)

    @cached_property
    def truth(self) -> Boxes:
        """The boxes, in pixels that count from 0."""
        lines = (self.folder / "groundtruth_rect.txt").read_text("utf-8").split("\n")
        rows = [re.split(r"[,\s]+", line.strip()) for line in lines if line.strip()]
        boxes = np.array(rows, np.float64).reshape(len(rows), 4)
        if not self.name.startswith(COUNT_FROM_0):
            boxes[:, :2] -= 1
        boxes[~(boxes[:, 2:] > 0).all(axis=1)] = np.nan
        return boxes[::-1].copy() if self.backwards else boxes

    @property
    def start(self) -> tuple[int, int, int, int]:
        """The first box, in whole pixels."""
        x, y, w, h = self.truth[0].round().astype(int).tolist()
        return x, y, max(w, 1), max(h, 1)

    @property
    def made_of(self) -> str:
        """Tell apart two sequences of one name."""
        return f"{len(self.files)} frames, truth {crc32(self.truth.tobytes()):08x}"

    def frames(self) -> list[Frame]:
        """Read all pictures, RGB."""
        from PIL import Image

        found = []
        for file in self.files:
            with Image.open(file) as picture:
                found.append(np.asarray(picture.convert("RGB")))
        return found


def load(folder: str | Path, only: Sequence[str] = (), backwards: bool = False) -> list[Film]:
    """List the sequences of a folder, all or those named."""
    folder = Path(folder)
    paths = sorted(folder.glob("*/groundtruth_rect.txt"))
    found = [Film(path.parent, backwards) for path in paths]
    if not found:
        raise FileNotFoundError(f"expected {folder}/NAME/groundtruth_rect.txt; found none")
    names = [each.folder.name for each in found]
    if unknown := set(only) - set(names):
        raise FileNotFoundError(f"no sequence {sorted(unknown)[0]!r}; there are {', '.join(names)}")
    chosen = [each for each in found if not only or each.folder.name in only]
    for each in chosen:
        if len(each.files) != len(each.truth) or len(each.files) < 2:
            raise FileNotFoundError(
                f"{each.folder}: {len(each.files)} pictures and {len(each.truth)} boxes"
            )
        if np.isnan(each.truth[0]).any():
            raise FileNotFoundError(f"{each.folder}: no box in the frame to start from")
    return chosen
