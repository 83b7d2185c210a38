"""Video sequences with a box for every frame: folders with `img/` and `groundtruth_rect.txt`."""

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
Boxes = NDArray[np.float64]  # (frames, 4): x, y, width, height; NaN without an object
ZERO_BASED = ("vot", "uav")  # prefixes of names; the coordinates of others (OTB) start at 1


@dataclass(frozen=True)
class VideoSequence:
    """The frames and true boxes of a sequence, read on demand."""

    folder: Path
    backwards: bool = False  # played from its last frame

    @property
    def name(self) -> str:
        return f"{self.folder.name}-backwards" if self.backwards else self.folder.name

    @cached_property
    def files(self) -> list[Path]:
        return sorted((self.folder / "img").glob("*.jpg"), reverse=self.backwards)

    @cached_property
    def truth(self) -> Boxes:
        """The true boxes, in pixels from 0."""
        lines = (self.folder / "groundtruth_rect.txt").read_text("utf-8").split("\n")
        rows = [re.split(r"[,\s]+", line.strip()) for line in lines if line.strip()]
        boxes = np.array(rows, np.float64).reshape(len(rows), 4)
        if not self.name.startswith(ZERO_BASED):
            boxes[:, :2] -= 1
        boxes[~(boxes[:, 2:] > 0).all(axis=1)] = np.nan
        return boxes[::-1].copy() if self.backwards else boxes

    @property
    def start(self) -> tuple[int, int, int, int]:
        """The first box, in whole pixels."""
        return whole_pixels(self.truth[0])

    @property
    def version(self) -> str:
        """A text that distinguishes sequences of the same name."""
        return f"{len(self.files)} frames, truth {crc32(self.truth.tobytes()):08x}"

    def frames(self) -> list[Frame]:
        """Read all frames as RGB."""
        from PIL import Image

        frames = []
        for file in self.files:
            with Image.open(file) as image:
                frames.append(np.asarray(image.convert("RGB")))
        return frames


def whole_pixels(box: Boxes) -> tuple[int, int, int, int]:
    """Round a box to pixels; it has at least one."""
    x, y, w, h = box.round().astype(int).tolist()
    return x, y, max(w, 1), max(h, 1)


def load(
    folder: str | Path, only: Sequence[str] = (), backwards: bool = False
) -> list[VideoSequence]:
    """List the sequences of a folder, all or only those with the given names."""
    folder = Path(folder)
    paths = sorted(folder.glob("*/groundtruth_rect.txt"))
    sequences = [VideoSequence(path.parent, backwards) for path in paths]
    if not sequences:
        raise FileNotFoundError(f"expected {folder}/NAME/groundtruth_rect.txt; found none")
    names = [each.folder.name for each in sequences]
    if unknown := sorted(set(only) - set(names)):
        raise FileNotFoundError(f"unknown sequence {unknown[0]!r}; choose from {', '.join(names)}")
    chosen = [each for each in sequences if not only or each.folder.name in only]
    for each in chosen:
        _check(each)
    return chosen


def _check(sequence: VideoSequence) -> None:
    n_files, n_boxes = len(sequence.files), len(sequence.truth)
    if n_files != n_boxes or n_files < 2:
        raise FileNotFoundError(
            f"{sequence.folder}: expected a box for every frame and at least 2 frames; "
            f"found {n_files} frames and {n_boxes} boxes"
        )
    if np.isnan(sequence.truth[0]).any():
        raise FileNotFoundError(f"{sequence.folder}: expected a box in the first frame; found none")
