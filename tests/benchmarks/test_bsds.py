"""The BSDS500 benchmark: reading photographs, caching scores, counting wins, timing, drawing."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.bsds.__main__ import main
from benchmarks.bsds.photos import Photo, evenly_spaced, load
from benchmarks.bsds.plots import most_typical, paint
from benchmarks.bsds.report import count_wins
from benchmarks.bsds.score_cache import ScoreCache, Segmentation, Task
from benchmarks.bsds.segmenters import OURS, PAPER, quickshift, quickshift_cut
from benchmarks.bsds.timing import measure_in_turns, mosaics
from benchmarks.common.partition_metrics import Scores, score

RESULT = Segmentation(Scores(0.5, 0.6, 0.7, 0.8, 1.5), 12)
SETTING = PAPER.grid[0]
PHOTO = Photo(Path("images/val/1.jpg"), Path("groundTruth/val/1.mat"))


@pytest.fixture
def folder(tmp_path):
    """Two photographs with two human segmentations each, in the layout of BSDS500."""
    image, scipy = pytest.importorskip("PIL.Image"), pytest.importorskip("scipy.io")
    pixels = np.zeros((32, 48, 3), np.uint8)
    pixels[:, 32:] = 200, 40, 40
    truth = (pixels[..., 0] > 0).astype(np.uint16) + 1
    cells = np.empty((1, 2), object)
    cells[0] = [{"Segmentation": truth}, {"Segmentation": np.ones_like(truth)}]
    for part in ("images", "groundTruth"):
        (tmp_path / part / "val").mkdir(parents=True)
    for name in ("1", "2"):
        image.fromarray(pixels).save(tmp_path / "images" / "val" / f"{name}.jpg", quality=95)
        scipy.savemat(tmp_path / "groundTruth" / "val" / f"{name}.mat", {"groundTruth": cells})
    return tmp_path


def test_photographs_have_human_segmentations(folder):
    photos = load(folder)
    assert [photo.name for photo in photos] == ["1", "2"]
    assert photos[0].image.shape == (32, 48, 3)
    assert [len(np.unique(truth)) for truth in photos[0].truths] == [2, 1]
    assert len(load(folder, 1)) == 1


def test_a_folder_without_photographs_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path)])
    assert "found none" in capsys.readouterr().err


def test_a_photograph_without_segmentations_is_an_error(folder):
    (folder / "groundTruth" / "val" / "2.mat").unlink()
    with pytest.raises(FileNotFoundError, match=r"expected .*2\.mat for .*2\.jpg"):
        load(folder)


def test_evenly_spaced_photographs_cover_the_list():
    assert evenly_spaced(list(range(10)), 3) == [0, 3, 6]
    assert evenly_spaced([1, 2], 5) == [1, 2]


def test_the_cache_survives_truncation(tmp_path):
    path = tmp_path / "scores.jsonl"
    ScoreCache(path).add(PAPER, SETTING, PHOTO, RESULT)
    path.write_text(path.read_text("utf-8") + '\n["segment", "0', "utf-8")
    ScoreCache(path).add(OURS, {}, PHOTO, RESULT)
    cache = ScoreCache(path)
    assert cache.get(PAPER, SETTING, PHOTO) == cache.get(OURS, {}, PHOTO) == RESULT
    assert cache.get(PAPER, PAPER.grid[1], PHOTO) is None


def test_cached_scores_are_not_computed_again(tmp_path):
    cache, steps = ScoreCache(tmp_path / "scores.jsonl"), []
    cache.add(PAPER, SETTING, PHOTO, RESULT)  # the photograph does not exist
    cache.fill([Task(PHOTO, PAPER.name, [SETTING])], 1, steps.append)
    assert steps == [1]


def test_missing_scores_are_computed(folder, tmp_path):
    cache, photos = ScoreCache(tmp_path / "scores.jsonl"), load(folder)
    cache.fill([Task(photo, OURS.name, [{}]) for photo in photos], 1)
    labels = OURS.call(photos[1].image)
    expected = Segmentation(score(labels, photos[1].truths), labels.max() + 1)
    assert cache.get(OURS, {}, photos[1]) == expected


def test_a_difference_of_one_percent_is_a_tie():
    assert count_wins([0.5, 0.505, 0.6, 0.0, -0.1], [0.5, 0.5, 0.5, 0.0, 0.1]) == (1, 3, 1)


def test_every_contender_is_timed_on_every_image():
    images = [np.zeros((30, 40, 3), np.uint8)] * 3
    calls = {name: lambda image: image[..., 0] for name in (OURS.name, "other")}
    result = measure_in_turns(images, calls, lambda: None)
    assert result.size == "40x30"
    assert [len(times) for times in result.seconds.values()] == [3, 3]
    assert result.to_ours(OURS.name) == 1


def test_mosaics_have_about_a_megapixel(monkeypatch):
    photos = [PHOTO] * 5
    monkeypatch.setattr(Photo, "image", np.zeros((481, 321, 3), np.uint8))
    assert {mosaic.shape for mosaic in mosaics(photos)} == {(963, 962, 3)}


@pytest.mark.parametrize("shrink", [1, 2])
def test_cutting_the_tree_is_quickshift(shrink):
    pytest.importorskip("skimage")
    image = np.random.default_rng(0).integers(0, 255, (31, 40, 3), np.uint8)
    for max_dist in (3, 8, 30):
        setting = {"shrink": shrink, "kernel_size": 2, "ratio": 0.5, "max_dist": max_dist}
        whole, cut = quickshift(image, **setting), quickshift_cut(image, **setting)
        assert cut.shape == whole.shape == image.shape[:2]
        assert np.array_equal(np.unique(cut, return_inverse=True)[1], whole)


def test_the_most_typical_segmentation_agrees_with_most_others():
    left, right = np.array([[0, 0, 1, 1]]), np.array([[0, 1, 1, 1]])
    assert most_typical([right, left, left]) is left


def test_regions_are_painted_in_their_mean_colour():
    image = np.array([[[0, 0, 0], [20, 40, 60], [200, 200, 200]]], np.uint8)
    assert paint(image, np.array([[0, 0, 5]]))[0, :2].tolist() == [[10, 20, 30]] * 2
