"""The benchmark of trackers: what it reads, how it measures, what it keeps."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import pytest
from benchmarks.tracking.__main__ import main
from benchmarks.tracking.data import Film, load
from benchmarks.tracking.journal import Journal
from benchmarks.tracking.measures import (
    Honesty,
    Track,
    distances,
    honesty,
    overlaps,
    score,
    success,
)

from meanshiftpp.tracking.clips import lookalike

NAN = [math.nan] * 4


def boxes(*rows: list[float]) -> np.ndarray:
    return np.array(rows, float)


@pytest.fixture
def folder(tmp_path):
    """Two short sequences, one as OTB lays them out, one as VOT counts."""
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


# -- what is read ----------------------------------------------------------------------------------


def test_boxes_count_from_0_whoever_wrote_them(folder):
    ball, vot = load(folder)
    truth = [window for (_, window), _ in zip(lookalike(), range(6))]
    assert (ball.name, vot.name) == ("Ball", "vot_ball")
    assert np.array_equal(ball.truth, truth)
    assert np.array_equal(vot.truth, truth)
    assert ball.start == truth[0]
    assert [frame.shape for frame in ball.frames()] == [(240, 320, 3)] * 6
    assert [film.name for film in load(folder, ["vot_ball"])] == ["vot_ball"]


def test_a_frame_without_the_object_has_no_box(folder):
    path = folder / "Ball" / "groundtruth_rect.txt"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], "NaN,NaN,NaN,NaN", "0,0,0,0", lines[5]]))
    assert np.isnan(load(folder)[0].truth).any(axis=1).tolist() == [False] * 3 + [True] * 2 + [
        False
    ]


def test_a_film_can_be_played_backwards(folder):
    film, back = load(folder, ["Ball"])[0], load(folder, ["Ball"], backwards=True)[0]
    assert back.name == "Ball-backwards"
    assert back.files == film.files[::-1]
    assert np.array_equal(back.truth, film.truth[::-1])
    assert back.made_of != film.made_of


def test_what_cannot_be_read_is_named(folder, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    for arguments, words in [
        ([str(tmp_path / "empty")], "found none"),
        ([str(folder), "--only", "Cat"], "no sequence 'Cat'; there are Ball, vot_ball"),
    ]:
        with pytest.raises(SystemExit):
            main(arguments)
        assert words in capsys.readouterr().err
    (folder / "Ball" / "img" / "0006.jpg").unlink()
    with pytest.raises(FileNotFoundError, match="5 pictures and 6 boxes"):
        load(folder)


# -- how it is measured ----------------------------------------------------------------------------


def test_overlap_is_intersection_over_union():
    truth = boxes([0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 10], NAN)
    found = boxes([0, 0, 10, 10], [5, 0, 10, 10], [10, 0, 5, 5], [0, 0, 0, 0], [0, 0, 1, 1])
    iou = overlaps(found, truth)
    assert iou[:4].tolist() == [1.0, 50 / 150, 0.0, 0.0]
    assert math.isnan(iou[4])


def test_distance_is_between_the_centres():
    assert distances(boxes([0, 0, 10, 10]), boxes([3, 4, 10, 10])).tolist() == [5.0]
    assert distances(boxes([0, 0, 2, 2]), boxes([0, 0, 4, 2])).tolist() == [1.0]


def test_the_curve_of_success():
    curve = success(np.array([1.0, 0.5, 0.0, math.nan]))
    assert curve[0] == 2 / 3
    assert curve[9] == 2 / 3  # above 0.45
    assert curve[10] == 1 / 3  # above 0.5
    assert curve[-1] == 0


def test_the_first_frame_and_those_without_a_truth_do_not_count():
    truth = boxes([0, 0, 10, 10], [100, 0, 10, 10], NAN, [0, 0, 10, 10])
    track = Track(boxes([100, 0, 10, 10], [5, 5, 5, 5], [50, 0, 10, 10]), np.array([True] * 3), 1.0)
    found = score(track, truth)
    assert found.iou == 0.5
    assert found.precision == 0.5
    assert found.auc == pytest.approx(0.5 * 20 / 21)


def test_honesty_is_of_every_frame():
    truth = boxes([0, 0, 9, 9], [0, 0, 9, 9], [50, 0, 9, 9], NAN, [50, 0, 9, 9])
    track = Track(boxes(*[[0, 0, 9, 9]] * 4), np.array([False, False, False, True]), 1.0)
    found = honesty([(track, truth)])
    assert found == Honesty(frames=4, lost=3, said=3, both=2)
    assert (found.precision, found.recall, found.false_alarms) == (2 / 3, 2 / 3, 1.0)
    assert math.isnan(Honesty(4, 0, 0, 0).precision)


# -- what is kept ----------------------------------------------------------------------------------


def test_a_track_is_kept_until_what_it_depends_on_changes(folder, tmp_path):
    from benchmarks.tracking.peers import FIXED, OURS, follow

    film = load(folder)[0]
    path = tmp_path / "tracks.jsonl"
    steps: list[int] = []
    track = follow(FIXED, film.frames(), film.start, partial(steps.append, 1))
    assert len(steps) == len(track.ok) == len(track.boxes) == 5
    Journal(path).add(FIXED, film, track)
    path.write_text(path.read_text() + '\n["Tracker", "co')
    kept = Journal(path).get(FIXED, film)
    assert np.array_equal(kept.boxes, track.boxes)
    assert np.array_equal(kept.ok, track.ok)
    assert Journal(path).get(OURS, film) is None
    truth = folder / "Ball" / "groundtruth_rect.txt"
    truth.write_text(truth.read_text().replace("48", "47"))
    assert Journal(path).get(FIXED, Film(film.folder)) is None


def test_the_whole_benchmark(folder, tmp_path, capsys):
    """With OpenCV's trackers where there is OpenCV, with ours alone where there is none."""
    from benchmarks.tracking.peers import contenders

    out = tmp_path / "out"
    assert main([str(folder), "--out", str(out), "--no-race"]) == 0
    assert "mean IoU" in capsys.readouterr().out
    said = json.loads((out / "tracking.json").read_text())
    assert said["trackers"]["Tracker"]["mean"]["iou"] > 0.5  # five easy frames
    assert set(said["trackers"]) == set(contenders())
    assert set(said["trackers"]["adapt=None"]["sequences"]) == {"Ball", "vot_ball"}
    assert sorted(path.name for path in (out / "strips").iterdir()) == ["Ball.jpg", "vot_ball.jpg"]
    before = (out / "tracking.jsonl").read_text()
    assert main([str(folder), "--out", str(out), "--no-race"]) == 0
    assert (out / "tracking.jsonl").read_text() == before


def test_the_peers_follow_an_easy_ball(folder):
    """A peer that is not started right would lose, and make ours look good."""
    pytest.importorskip("cv2", reason="the peers are OpenCV's")
    from benchmarks.tracking.peers import contenders, follow

    film = load(folder)[0]
    frames = film.frames()
    peers = [each for each in contenders().values() if not each.own]
    assert {"meanShift", "CamShift"} <= {each.name for each in peers}
    for each in peers:
        track = follow(each, frames, film.start, lambda: None)
        assert score(track, film.truth).iou > 0.4, each.name
        assert track.ok.all(), each.name
