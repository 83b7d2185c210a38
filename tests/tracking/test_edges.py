"""Objects at the edges of a frame: no pixel outside counts, and a cut window is smaller."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tracking.scenes import noise

from meanshiftpp import Tracker

HEIGHT, WIDTH = 60, 80
PLACES = {"left": (0, 20), "top": (30, 0), "right": (68, 20), "bottom": (30, 48)}


def frames_at(place: tuple[int, int]) -> list[np.ndarray]:
    """Draw a striped object of 12 x 12 pixels at a place, moving by a pixel along the edge."""
    pictures = []
    for step in range(4):
        picture = noise((HEIGHT, WIDTH), seed=step)
        x, y = place
        x, y = (x, y + step) if x in (0, 68) else (x + step, y)
        picture[y : y + 12, x : x + 12] = 200, 40, 40
        picture[y + 4 : y + 8, x : x + 12] = 230, 220, 60
        pictures.append(picture)
    return pictures


@pytest.mark.parametrize("adapt", ["robust", "paper", None])
@pytest.mark.parametrize("edge", PLACES)
def test_memory_around_a_frame_has_no_influence(edge, adapt):
    def track(pictures: list[np.ndarray]) -> tuple:
        tracker = Tracker(adapt=adapt)
        tracker.init(pictures[0], (*PLACES[edge], 12, 12))
        results = [(*tracker.update(picture), tracker.score) for picture in pictures[1:]]
        return results, tracker.mask.tolist(), tracker.cells.tolist()

    def embedded(picture: np.ndarray, seed: int) -> np.ndarray:
        around = noise((HEIGHT + 20, WIDTH + 20), 0, 255, seed)
        around[10:-10, 10:-10] = picture
        return around[10:-10, 10:-10]

    plain = frames_at(PLACES[edge])
    expected = track(plain)
    for seed in (7, 8):
        assert track([embedded(picture, seed) for picture in plain]) == expected


def test_the_score_of_algorithm_3_is_the_share_in_the_cut_window():
    """The window leaves the frame by a third, and all its remaining pixels are of the object."""
    first = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    first[20:32, 3:15] = 200, 40, 40
    second = np.full((HEIGHT, WIDTH, 3), 90, np.uint8)
    second[20:32, 0:4] = 200, 40, 40
    tracker = Tracker(adapt=None)
    tracker.init(first, (3, 20, 12, 12))
    ok, (x, y, w, h) = tracker.update(second)
    assert ok
    assert (x, y, h) == (0, 20, 12)
    assert w < 12
    assert tracker.score == pytest.approx(tracker.mask.sum() / (w * h))
