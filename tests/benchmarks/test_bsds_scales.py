"""Scores over all scales, superpixels, and the rows that train the learned cost."""

import json

import numpy as np
import pytest
from benchmarks.bsds import scales, superpixels, train
from benchmarks.bsds.drawings import draw
from benchmarks.bsds.scales import Hit, Level, boundary, f_measure, summarize, within
from benchmarks.common.partition_metrics import Scores, compare, score_counts

from meanshiftpp.images.merge_table import make_table


def test_counts_score_like_labels():
    rng = np.random.default_rng(0)
    labels, truth = rng.integers(0, 7, 500), rng.integers(0, 4, 500)
    counts = np.bincount(labels * 4 + truth, minlength=28).reshape(7, 4)
    assert score_counts(counts) == compare(labels, truth)


def test_one_level_for_all_and_the_best_of_each():
    def level(quality: float) -> Level:
        return Level(Scores(*[quality] * 4, 2 - quality), 10, 10 * quality, 10, 10 * quality)

    hits = [Hit([level(0.2), level(0.8)], 1), Hit([level(0.6), level(0.4)], 1)]
    default, ods, ois = summarize("a method", hits)
    assert default[1:] == ["default", *["0.600"] * 4, "1.400", "0.600"]
    assert ods[1:] == ["ODS", *["0.600"] * 4, "1.400", "0.600"]
    assert ois[1:] == ["OIS", *["0.700"] * 4, "1.300", "0.700"]


def test_every_second_photograph_keeps_its_number_and_so_its_half():
    assert scales.numbered(["a", "b", "c"], 2) == [(0, "a"), (2, "c")]


def test_boundaries_match_within_a_distance():
    labels = np.zeros((9, 9), int)
    labels[:, 4:] = 1
    edges = boundary(labels)
    assert np.array_equal(edges, np.arange(9)[None].repeat(9, axis=0) == 3)
    assert within(edges, 1.0)[0].tolist() == [False, False, True, True, True] + [False] * 4
    assert not within(np.zeros((3, 3), bool), 5.0).any()
    assert f_measure([Level(Scores(*[0.0] * 5), 8, 4, 20, 10)]) == pytest.approx(0.5)


def test_gpb_maps_are_cut_between_pixels(tmp_path):
    from scipy.io import savemat

    strength = np.zeros((2 * 4 + 1, 2 * 6 + 1))
    strength[:, 6] = 0.5  # between the columns 2 and 3
    savemat(tmp_path / "1.mat", {"ucm2": strength})
    cuts = list(scales.cuts_of_gpb(tmp_path / "1.mat"))
    assert len(np.unique(cuts[0])) == 2
    assert len(np.unique(cuts[0][:, :3])) == len(np.unique(cuts[0][:, 3:])) == 1
    assert len(np.unique(cuts[-1])) == 1


def test_a_perfect_segmentation_leaks_nothing(monkeypatch):
    truth = np.zeros((30, 40), int)
    truth[:, 20:] = 1

    class Drawn:
        image = np.zeros((30, 40, 3), np.uint8)
        truths = (truth,)

    monkeypatch.setitem(superpixels.METHODS, "perfect", lambda image, n: truth * 5)
    monkeypatch.setitem(superpixels.METHODS, "one", lambda image, n: truth * 0)
    assert superpixels.measure(Drawn, "perfect", 2)[:4] == (0, 1, 1, 2)
    assert superpixels.measure(Drawn, "one", 2)[:4] == (1, 0, 0.5, 1)


# -- training --------------------------------------------------------------------------------------


def test_labels_are_the_probability_of_being_one_region():
    regions = np.repeat(np.array([0, 1, 2], np.uint32), 4)
    truths = [np.repeat([0, 1], 6).reshape(3, 4), np.zeros((3, 4), int)]
    merged = np.array([[0, 1]], np.uint32)  # node 3
    sides = np.array([[0, 1], [0, 2], [2, 3]], np.uint32)
    sizes, same = train.label_borders(regions, merged, sides, truths)
    assert sizes.tolist() == [4, 4, 4, 8]
    assert same.tolist() == [(0.5 + 1) / 2, (0 + 1) / 2, (0.25 + 1) / 2]


def test_the_plain_table_falls_with_the_hand_made_cost():
    table = make_table(train.plain_table())
    features = np.zeros((200, 38), np.float32)
    features[:, train.PLAIN_COST] = np.geomspace(1e-6, 1e6, 200)
    scores = table.score(features)
    assert (np.diff(scores) <= 0).all()
    assert len(np.unique(scores)) > 60


def test_a_written_table_is_read_back(tmp_path):
    train.write(train.plain_table(), {"seed": 0}, tmp_path / "table.json")
    stored = json.loads((tmp_path / "table.json").read_text())
    assert stored["about"] == {"seed": 0}
    assert stored["values"] == train.plain_table()["values"]
    assert np.allclose(stored["thresholds"], train.plain_table()["thresholds"])


def test_a_visit_draws_borders_of_a_drawing():
    rows = train.visit(train.Picture(None, "3", 0), [train.plain_table()] * 2, 0)
    assert rows.features.shape == (len(rows.same), 38)
    assert 0 < len(rows.same) <= train.ROWS_PER_VISIT
    assert ((rows.same >= 0) & (rows.same <= 1)).all()
    again = train.visit(train.Picture(None, "3", 0), [train.plain_table()] * 2, 0)
    assert np.array_equal(rows.features, again.features)


def test_drawings_have_several_regions():
    for number in range(3):
        image, (regions,) = draw(number)
        assert image.shape == (*regions.shape, 3)
        assert len(np.unique(regions)) > 1
