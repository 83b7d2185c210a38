"""Cross-validation of the tracker: folds, choices, and the fitted confidence."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from benchmarks.tracking.confidence import balanced_threshold, fit, log_odds
from benchmarks.tracking.folds import Run, choose, follow, grid, judge, main, plays, split

from meanshiftpp.tracking.clips import leaving

DEFAULT_ODDS = np.array([1.8, -2.7, -1.2, -10.2])  # as in src/kernel/track/settings.hpp


def run(iou: float, frames: int = 4, seed: int = 0) -> Run:
    signals = np.random.default_rng(seed).uniform(size=(frames, 3))
    return Run(np.full(frames, iou), np.full(frames, True), signals)


def test_every_sequence_is_left_out_once():
    names = list("abcdefgh")
    folds = split(names, 3)
    assert sorted(name for fold in folds for name in fold) == names
    assert max(map(len, folds)) - min(map(len, folds)) <= 1
    assert split(["a", "b"], 7) == [["a"], ["b"]]


def test_a_fold_has_no_part_in_its_choice():
    """Without "b", the second setting is best; with it, the default would be."""
    other = grid()[1]
    runs = {
        (): {"a": [run(0.4)], "b": [run(0.9)], "c": [run(0.4)]},
        other: {"a": [run(0.5)], "b": [run(0.1)], "c": [run(0.5)]},
    }
    assert choose(runs, ["a", "b", "c"]) == ()
    assert choose(runs, ["a", "c"]) == other
    by_name = {result.names[0]: result for result in judge(runs, 3)}
    assert (by_name["b"].chosen, by_name["b"].iou) == (other, pytest.approx(0.1))
    assert (by_name["a"].chosen, by_name["a"].default_iou) == ((), pytest.approx(0.4))


def test_a_film_is_played_from_five_starts():
    frames, truth = list(range(12)), np.arange(48.0).reshape(12, 4)
    starts = [play for play, _ in plays(frames, truth)]
    assert [(play[0], play[-1]) for play in starts] == [(0, 11), (11, 0), (4, 11), (7, 0), (5, 0)]
    truth[4] = math.nan
    (_, _, third, _, _) = plays(frames, truth)
    assert third[0][0] == 5
    assert np.array_equal(third[1], truth[5:])


def test_the_odds_are_those_of_the_tracker():
    """The benchmark computes the confidence from the signals as the kernel does."""
    clip = [pair for pair, _ in zip(leaving(), range(50))]
    boxes = np.array([window or (math.nan,) * 4 for _, window in clip], float)
    found = follow((), [frame for frame, _ in clip], boxes)
    confidence = 1 / (1 + np.exp(log_odds(DEFAULT_ODDS, found.signals)))
    assert np.array_equal(confidence >= 0.8, found.ok)
    assert not found.ok.all()


def test_a_fitted_confidence_separates_what_can_be_separated():
    random = np.random.default_rng(0)
    lost = np.repeat([False, True], 200)
    signals = random.uniform(size=(400, 3))
    signals[:, 0] = np.where(lost, 0.1, 0.8)
    coefficients = fit([(signals, lost)])
    assert coefficients[1] < -3 * max(abs(coefficients[2:]))
    odds = log_odds(coefficients, signals)
    reported = odds > balanced_threshold(odds, lost)
    assert (reported != lost).mean() < 0.02


def test_unknown_settings_are_rejected():
    with pytest.raises(ValueError, match=r"name of a setting in .*; got speed"):
        follow((("speed", 1.0),), [np.zeros((9, 9, 3), np.uint8)] * 2, np.array([[1, 1, 4, 4]] * 2))


def test_the_command_writes_a_report(tmp_path, monkeypatch, capsys):
    image = pytest.importorskip("PIL.Image")
    for name in ("vot_a", "vot_b"):
        (tmp_path / name / "img").mkdir(parents=True)
        lines = []
        for number, (frame, window) in zip(range(6), leaving()):
            image.fromarray(frame).save(tmp_path / name / "img" / f"{number:04}.jpg")
            lines.append(",".join(map(str, window)))
        (tmp_path / name / "groundtruth_rect.txt").write_text("\n".join(lines))
    monkeypatch.setattr("benchmarks.tracking.folds.GRID", {"radius": (1.0,)})
    assert main([str(tmp_path), "--out", str(tmp_path / "out"), "--folds", "2"]) == 0
    assert "chosen without them" in capsys.readouterr().out
    written = json.loads((tmp_path / "out" / "tracking_folds.json").read_text())
    assert [fold["left_out"] for fold in written["folds"]] == [["vot_a"], ["vot_b"]]
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--folds", "1"])
    assert "at least 2 folds" in capsys.readouterr().err
