"""The tracks so far, in a file, with everything that each depends on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.common.result_cache import ResultCache
from benchmarks.tracking.metrics import Track
from benchmarks.tracking.restarts import Segment
from benchmarks.tracking.sequences import VideoSequence
from benchmarks.tracking.trackers import Contender


class TrackCache:
    """The tracks so far, in memory and in a file."""

    def __init__(self, path: Path) -> None:
        self._cache = ResultCache(path)

    def get(self, contender: Contender, sequence: VideoSequence) -> Track | None:
        stored = self._cache.get(*_key(contender, sequence))
        if stored is None:
            return None
        boxes, ok, seconds = stored
        return Track(np.array(boxes, float), np.array(ok, bool), seconds)

    def add(self, contender: Contender, sequence: VideoSequence, track: Track) -> None:
        value = [track.boxes.round(2).tolist(), track.ok.tolist(), track.seconds]
        self._cache.store(*_key(contender, sequence), value=value)

    def get_segments(self, contender: Contender, sequence: VideoSequence) -> list[Segment] | None:
        stored = self._cache.get("restarts", *_key(contender, sequence))
        return None if stored is None else [Segment(np.array(o, float), f) for o, f in stored]

    def add_segments(
        self, contender: Contender, sequence: VideoSequence, segments: list[Segment]
    ) -> None:
        value = [[each.overlaps.round(4).tolist(), each.failed] for each in segments]
        self._cache.store("restarts", *_key(contender, sequence), value=value)


def _key(contender: Contender, sequence: VideoSequence) -> tuple[str, ...]:
    return contender.name, contender.version, sequence.name, sequence.version
