"""Frames with the channels in the order of OpenCV."""

from itertools import islice

import numpy as np
import pytest

from meanshiftpp import Tracker
from meanshiftpp.clips import light
from meanshiftpp.errors import InvalidInputError


def test_frames_of_opencv_have_the_results_of_rgb():
    rgb, bgr = Tracker(), Tracker(channels="bgr")
    (first, window), *rest = islice(light(), 5)
    rgb.init(first, window)
    bgr.init(np.ascontiguousarray(first[..., ::-1]), window)
    for frame, _ in rest:
        assert bgr.update(np.ascontiguousarray(frame[..., ::-1])) == rgb.update(frame)
        assert np.array_equal(bgr.mask, rgb.mask)
    colours, same = bgr.clusters(first[..., ::-1], window), rgb.clusters(first, window)
    assert [each.color for each in colours] == [each.color for each in same]


def test_another_order_is_an_error():
    with pytest.raises(InvalidInputError, match='channels must be "rgb" or "bgr", got'):
        Tracker(channels="gbr")
