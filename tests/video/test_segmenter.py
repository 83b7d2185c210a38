"""Video segmentation: labels that persist while objects move."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.video.scenes import BOX, frame

from meanshiftpp.errors import InvalidInputError
from meanshiftpp.video.segmenter import VideoSegmenter


@pytest.mark.parametrize("regions", [True, False])
def test_a_moving_object_keeps_its_label_and_colour(regions):
    segmenter = VideoSegmenter(regions=regions)
    history = []
    for i, x in enumerate(range(8, 60, 4)):
        labels = segmenter.update(frame(x, seed=i))
        assert labels.shape == (72, 96)
        assert labels.dtype == np.int32
        history.append([labels[32, x + 12], labels[4, 4], labels[68, 4]])
        assert np.abs(segmenter.colors[history[-1][0]] - BOX).max() < 12
    assert len({tuple(labels) for labels in history}) == 1
    assert len(set(history[0])) == 3


@pytest.mark.parametrize("regions", [True, False])
def test_labels_do_not_flicker_in_noise(regions):
    """In a still, noisy scene, far fewer labels change than with independent frames."""

    def changes(memory: float) -> float:
        segmenter = VideoSegmenter(regions=regions, memory=memory, detail=6.0)
        noise = 16 if regions else 25
        labels = [segmenter.update(frame(30, noise=noise, seed=i)) for i in range(16)]
        return float(np.mean([(a != b).mean() for a, b in pairwise(labels[6:])]))

    assert changes(4.0) < 0.5 * changes(1.0)


def test_the_first_frame_is_segmented_as_an_image():
    from meanshiftpp import segment

    image = frame(30)
    assert np.array_equal(VideoSegmenter().update(image), segment(image))
    clusters = VideoSegmenter(regions=False).update(image)
    assert np.array_equal(clusters, segment(image, regions=False))
    spatial = VideoSegmenter(40, regions=False, space="rgb", spatial=30).update(image)
    expected = segment(image, 40, regions=False, space="rgb", spatial=30)
    assert np.array_equal(spatial, expected)


def test_without_memory_frames_have_the_regions_of_images():
    from meanshiftpp import segment

    segmenter = VideoSegmenter(memory=1)
    for i, x in enumerate((10, 40, 20)):
        labels = segmenter.update(frame(x, seed=i))
        alone = segment(frame(x, seed=i))
        pairs = np.unique(np.stack([labels.ravel(), alone.ravel()]), axis=1)
        assert pairs.shape[1] == alone.max() + 1 == len(np.unique(labels))


def test_a_new_scene_gets_new_labels():
    segmenter = VideoSegmenter()
    for i in range(4):
        before = segmenter.update(frame(20, seed=i))
    other = np.full((72, 96, 3), (20, 90, 30), np.uint8)
    other[:, 60:] = 240, 220, 90
    after = segmenter.update(other)
    assert len(np.unique(after)) == 2
    assert set(np.unique(after)).isdisjoint(np.unique(before))
    assert np.allclose(segmenter.colors[after[0, 0]], (20, 90, 30))


def test_a_passing_object_takes_no_label_from_others():
    segmenter = VideoSegmenter()
    empty = frame(-40)
    first = segmenter.update(empty)
    segmenter.update(frame(30))
    again = segmenter.update(empty)
    assert np.array_equal(np.unique(first), np.unique(again))


def test_results_do_not_depend_on_threads():
    runs = []
    for n in (1, 2, 8):
        segmenter = VideoSegmenter(n_threads=n, detail=4.0)
        runs.append([segmenter.update(frame(x, noise=14)) for x in range(8, 40, 8)])
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


def test_the_returned_labels_can_be_changed():
    segmenter = VideoSegmenter()
    labels = segmenter.update(frame(20))
    expected = labels.copy()
    labels[:] = 99
    assert np.array_equal(segmenter.update(frame(20)), expected)


def test_invalid_frames_and_options_raise():
    segmenter = VideoSegmenter()
    segmenter.update(frame(10))
    for bad, message in [
        (frame(10)[:50], r"same shape, \(72, 96\), got \(50, 96\)"),
        (frame(10)[..., 0], "RGB bytes"),
        (frame(10) / 255, "float64"),
        (np.zeros((0, 5, 3), np.uint8), "RGB bytes"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            segmenter.update(bad)
    for options, message in [
        ({"space": "cmyk"}, "space"),
        ({"space": None}, "space"),
        ({"space": ["lab"]}, "space must be one of .*got"),
        ({"memory": 0.5}, "memory"),
        ({"regions": 20}, "regions must be True or False for videos, got 20; use detail"),
        ({"memory": "4"}, "memory must be at least 1 frame, got '4'"),
        ({"memory": None}, "memory must be"),
        ({"bandwidth": "wide"}, "bandwidth must be a positive number, got 'wide'"),
        ({"bandwidth": [1, 2]}, "bandwidth must be"),
        ({"min_size": 1.5}, "min_size must be a whole number"),
        ({"n_threads": "all"}, "n_threads must be a whole number"),
        ({"memory": float("nan")}, "memory"),
        ({"detail": 0.0}, "detail"),
        ({"detail": "high"}, "detail must be a positive number, got 'high'"),
        ({"spatial": -1}, "spatial must be a positive number, got -1"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            VideoSegmenter(**options)


@pytest.mark.parametrize("regions", [True, False])
def test_labels_of_objects_that_are_gone_are_used_again(monkeypatch, regions):
    monkeypatch.setattr("meanshiftpp.video.segmenter.FRAMES_KEPT", 3)
    rng = np.random.default_rng(0)
    segmenter = VideoSegmenter(regions=regions, memory=1)
    used, history = [], []
    for _ in range(30):
        blocks = rng.integers(0, 256, (6, 8, 3), np.uint8).repeat(12, axis=0).repeat(12, axis=1)
        labels = segmenter.update(blocks)
        used.append(len(segmenter.colors))
        recent = np.unique(history[-3:]) if history else np.empty(0)
        new = np.setdiff1d(labels, history[-1] if history else [])
        assert not np.isin(new, recent).any()
        assert not np.isnan(segmenter.colors[np.unique(labels)]).any()
        history.append(labels)
    assert used[-1] < 2 * used[5]
