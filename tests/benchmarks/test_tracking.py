"""The tracking benchmark: reading sequences, metrics, caching tracks."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pytest
from benchmarks.tracking.__main__ import main
from benchmarks.tracking.metrics import (
    LossReports,
    Track,
    distances,
    loss_reports,
    overlaps,
    score,
    success_curve,
)
from benchmarks.tracking.restarts import (
    Segment,
    expected_average_overlap,
    track_segments,
    usual_lengths,
)
from benchmarks.tracking.sequences import VideoSequence, load
from benchmarks.tracking.track_cache import TrackCache
from benchmarks.tracking.trackers import Contender

from meanshiftpp.tracking.clips import lookalike

NAN = [math.nan] * 4


def boxes(*rows: list[float]) -> np.ndarray:
    return np.array(rows, float)


@pytest.fixture
def folder(tmp_path):
    """Two short sequences, one with coordinates from 1 (OTB), one with coordinates from 0 (VOT)."""
    image = pytest.importorskip("PIL.Image")
    clip = [pair for pair, _ in zip(lookalike(), range(6))]
    for name, shift, separator in (("Ball", 1, ","), ("vot_ball", 0, "\t")):
        (tmp_path / name / "img").mkdir(parents=True)
        lines = []
        for number, (frame, (x, y, w, h)) in enumerate(clip, 1):
            image.fromarray(frame).save(tmp_path / name / "img" / f"{number:04}.jpg", quality=95)
            lines.append(separator.join(map(str, (x + shift, y + shift, w, h))))
        (tmp_path / name / "groundtruth_rect.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


# -- sequences -------------------------------------------------------------------------------------


def test_all_boxes_have_coordinates_from_0(folder):
    ball, vot = load(folder)
    truth = [window for (_, window), _ in zip(lookalike(), range(6))]
    assert (ball.name, vot.name) == ("Ball", "vot_ball")
    assert np.array_equal(ball.truth, truth)
    assert np.array_equal(vot.truth, truth)
    assert ball.start == truth[0]
    assert [frame.shape for frame in ball.frames()] == [(240, 320, 3)] * 6
    assert [sequence.name for sequence in load(folder, ["vot_ball"])] == ["vot_ball"]


def test_a_frame_without_the_object_has_no_box(folder):
    path = folder / "Ball" / "groundtruth_rect.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], "NaN,NaN,NaN,NaN", "0,0,0,0", lines[5]]))
    without = np.isnan(load(folder)[0].truth).any(axis=1)
    assert without.tolist() == [False, False, False, True, True, False]


def test_a_sequence_can_be_played_backwards(folder):
    forwards, backwards = (load(folder, ["Ball"], backwards=b)[0] for b in (False, True))
    assert backwards.name == "Ball-backwards"
    assert backwards.files == forwards.files[::-1]
    assert np.array_equal(backwards.truth, forwards.truth[::-1])
    assert backwards.version != forwards.version


def test_errors_name_the_missing_data(folder, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for arguments, message in [
        ([str(tmp_path / "empty")], "found none"),
        ([str(folder), "--only", "Cat"], "unknown sequence 'Cat'; choose from Ball, vot_ball"),
        ([str(folder), "--nano", "a.onnx", "b.onnx"], "a file of the network; found no a.onnx"),
    ]:
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err
    (folder / "Ball" / "img" / "0006.jpg").unlink()
    with pytest.raises(FileNotFoundError, match="5 frames and 6 boxes"):
        load(folder)


# -- metrics ---------------------------------------------------------------------------------------


def test_overlap_is_intersection_over_union():
    truth = boxes([0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 10], NAN)
    found = boxes([0, 0, 10, 10], [5, 0, 10, 10], [10, 0, 5, 5], [0, 0, 0, 0], [0, 0, 1, 1])
    iou = overlaps(found, truth)
    assert iou[:4].tolist() == [1.0, 50 / 150, 0.0, 0.0]
    assert math.isnan(iou[4])


def test_distance_is_between_the_centres():
    assert distances(boxes([0, 0, 10, 10]), boxes([3, 4, 10, 10])).tolist() == [5.0]
    assert distances(boxes([0, 0, 2, 2]), boxes([0, 0, 4, 2])).tolist() == [1.0]


def test_the_success_curve_ignores_frames_without_a_truth():
    curve = success_curve(np.array([1.0, 0.5, 0.0, math.nan]))
    assert curve[0] == 2 / 3
    assert curve[9] == 2 / 3  # above 0.45
    assert curve[10] == 1 / 3  # above 0.5
    assert curve[-1] == 0


def test_the_first_frame_and_frames_without_a_truth_do_not_count():
    truth = boxes([0, 0, 10, 10], [100, 0, 10, 10], NAN, [0, 0, 10, 10])
    track = Track(boxes([100, 0, 10, 10], [5, 5, 5, 5], [50, 0, 10, 10]), np.array([True] * 3), 1.0)
    found = score(track, truth)
    assert found.iou == 0.5
    assert found.precision == 0.5
    assert found.auc == pytest.approx(0.5 * 20 / 21)


def test_loss_reports_count_every_frame():
    truth = boxes([0, 0, 9, 9], [0, 0, 9, 9], [50, 0, 9, 9], NAN, [50, 0, 9, 9])
    track = Track(boxes(*[[0, 0, 9, 9]] * 4), np.array([False, False, False, True]), 1.0)
    found = loss_reports([(track, truth)])
    assert found == LossReports(frames=4, lost=3, reported=3, correct=2)
    assert (found.precision, found.recall, found.false_alarms) == (2 / 3, 2 / 3, 1.0)
    assert math.isnan(LossReports(4, 0, 0, 0).precision)


# -- restarts --------------------------------------------------------------------------------------


class Still:
    """A tracker whose window stays where it started."""

    def init(self, frame, window):
        self.window = window

    def update(self, frame):
        return True, self.window


def test_a_tracker_starts_again_five_frames_after_a_failure():
    """The object jumps away in frame 2; the next start is frame 7."""
    truth = boxes(*[[0, 0, 10, 10]] * 2, *[[50, 0, 10, 10]] * 8)
    steps: list[int] = []
    contender = Contender("still", Still, own=True)
    segments = track_segments(contender, [None] * 10, truth, partial(steps.append, 1))
    assert [(each.overlaps.tolist(), each.failed) for each in segments] == [
        ([1.0, 0.0], True),
        ([1.0, 1.0], False),
    ]
    assert len(steps) == 4


def test_a_start_waits_for_the_object():
    truth = boxes([0, 0, 10, 10], [50, 0, 10, 10], *[NAN] * 6, *[[5, 5, 10, 10]] * 3)
    contender = Contender("still", Still, own=True)
    segments = track_segments(contender, [None] * 11, truth, lambda: None)
    assert [each.overlaps.tolist() for each in segments] == [[0.0], [1.0, 1.0]]


def test_the_expected_overlap_counts_zeros_after_a_failure_and_ignores_short_segments():
    failed = Segment(np.array([0.8, 0.0]), True)
    ended = Segment(np.array([0.6, 0.6, 0.6]), False)
    assert expected_average_overlap([failed, ended], [2]) == pytest.approx((0.4 + 0.6) / 2)
    assert expected_average_overlap([failed, ended], [4]) == pytest.approx(0.2)
    assert expected_average_overlap([failed, ended], [2, 4]) == pytest.approx(0.35)
    assert math.isnan(expected_average_overlap([ended], [4]))
    assert usual_lengths([10, 20, 30, 40, 50]) == range(20, 41)


# -- the benchmark ---------------------------------------------------------------------------------


def test_a_cached_track_is_valid_until_the_sequence_changes(folder, tmp_path):
    from benchmarks.tracking.trackers import FIXED, OURS, track

    sequence = load(folder)[0]
    path = tmp_path / "tracks.jsonl"
    steps: list[int] = []
    found = track(FIXED, sequence.frames(), sequence.start, partial(steps.append, 1))
    assert len(steps) == len(found.ok) == len(found.boxes) == 5
    TrackCache(path).add(FIXED, sequence, found)
    path.write_text(path.read_text() + '\n["Tracker", "co')
    cached = TrackCache(path).get(FIXED, sequence)
    assert np.array_equal(cached.boxes, found.boxes)
    assert np.array_equal(cached.ok, found.ok)
    assert TrackCache(path).get(OURS, sequence) is None
    truth = folder / "Ball" / "groundtruth_rect.txt"
    truth.write_text(truth.read_text().replace("48", "47"))
    assert TrackCache(path).get(FIXED, VideoSequence(sequence.folder)) is None


def test_the_whole_benchmark_with_all_available_trackers(folder, tmp_path, capsys):
    from benchmarks.tracking.trackers import contenders

    out = tmp_path / "out"
    assert main([str(folder), "--out", str(out), "--no-race"]) == 0
    assert "mean IoU" in capsys.readouterr().out
    written = json.loads((out / "tracking.json").read_text())
    assert written["trackers"]["Tracker"]["mean"]["iou"] > 0.5  # five easy frames
    assert written["trackers"]["Tracker"]["expected_average_overlap"] > 0.5
    assert set(written["trackers"]) == set(contenders())
    assert set(written["trackers"]["adapt=None"]["sequences"]) == {"Ball", "vot_ball"}
    assert sorted(path.name for path in (out / "strips").iterdir()) == ["Ball.jpg", "vot_ball.jpg"]
    before = (out / "tracking.jsonl").read_text()
    assert main([str(folder), "--out", str(out), "--no-race"]) == 0
    assert (out / "tracking.jsonl").read_text() == before


def test_the_peers_track_an_easy_ball(folder):
    """A peer that is started wrongly would lose and make ours look good."""
    pytest.importorskip("cv2", reason="the peers are OpenCV's")
    from benchmarks.tracking.trackers import contenders, track

    sequence = load(folder)[0]
    frames = sequence.frames()
    peers = [each for each in contenders().values() if not each.own]
    assert {"meanShift", "CamShift"} <= {each.name for each in peers}
    for each in peers:
        found = track(each, frames, sequence.start, lambda: None)
        assert score(found, sequence.truth).iou > 0.4, each.name
        assert found.ok.all(), each.name
