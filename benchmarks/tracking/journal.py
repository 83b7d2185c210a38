"""The tracks so far, in a file, with what each depends on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.common.notes import Notes
from benchmarks.tracking.data import Film
from benchmarks.tracking.measures import Track
from benchmarks.tracking.peers import Contender


class Journal:
    """The tracks so far."""

    def __init__(self, path: Path) -> None:
        self._notes = Notes(path)

    def get(self, contender: Contender, film: Film) -> Track | None:
        noted = self._notes.get(*_key(contender, film))
        if noted is None:
            return None
        boxes, ok, seconds = noted
        return Track(np.array(boxes, float), np.array(ok, bool), seconds)

    def add(self, contender: Contender, film: Film, track: Track) -> None:
        value = [track.boxes.round(2).tolist(), track.ok.tolist(), track.seconds]
        self._notes.keep(*_key(contender, film), value=value)


def _key(contender: Contender, film: Film) -> tuple[str, ...]:
    return contender.name, contender.made_of, film.name, film.made_of
