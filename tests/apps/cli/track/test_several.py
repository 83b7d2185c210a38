"""`meanshiftpp track` of several objects, and from a later frame or time on."""

import csv
import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from meanshiftpp import Tracker
from meanshiftpp.apps.cli.app import app
from meanshiftpp.apps.cli.track.run import parse_start
from meanshiftpp.tracking.marks import FOLLOWED
from meanshiftpp.video.frames import read_frames, write_frames

pytest.importorskip("av", reason="PyAV reads and writes videos")

N = 12
RED, BLUE = (8, 20, 24, 18), (80, 50, 22, 20)


def frame(number):
    picture = np.full((96, 128, 3), 90, np.uint8)
    for (x, y, w, h), colour in ((RED, (210, 40, 40)), (BLUE, (40, 60, 220))):
        left = x + (2 * number if x < 50 else -number)
        picture[y : y + h, left : left + w] = colour
    return picture


@pytest.fixture
def frames(tmp_path):
    (tmp_path / "frames").mkdir()
    for number in range(N):
        Image.fromarray(frame(number)).save(tmp_path / "frames" / f"{number:02}.png")
    return tmp_path / "frames"


def run(*arguments):
    result = CliRunner().invoke(app, ["track", *(str(argument) for argument in arguments)])
    return result.exit_code, result.stdout, result.stderr


def option(*windows):
    return [part for window in windows for part in ("--window", ",".join(map(str, window)))]


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_one_table_has_the_windows_of_all_objects(tmp_path, frames):
    table = tmp_path / "boxes.csv"
    code, stdout, _ = run(frames, *option(RED, BLUE), "--csv", table, "--json")
    assert code == 0
    found = rows(table)
    assert list(found[0]) == ["id", "frame", "x", "y", "w", "h", "ok", "score"]
    assert [(row["id"], row["frame"]) for row in found[:4]] == [
        ("0", "0"),
        ("1", "0"),
        ("0", "1"),
        ("1", "1"),
    ]
    for k, window in enumerate((RED, BLUE)):
        tracker = Tracker()
        tracker.init(frame(0), window)
        expected = [tracker.window, *(tracker.update(frame(n))[1] for n in range(1, N))]
        own = [tuple(int(row[name]) for name in "xywh") for row in found if row["id"] == str(k)]
        assert own == expected
    objects = json.loads(stdout)["objects"]
    assert [each["id"] for each in objects] == [0, 1]
    assert objects[1]["window"] == list(expected[-1])
    stdout = run(frames, *option(RED, BLUE), "--csv", table)[1]
    assert "last window 0" in stdout
    assert "lost 1" in stdout


def test_one_film_has_all_boxes(tmp_path, frames):
    out = tmp_path / "out.mkv"
    assert run(frames, *option(RED, BLUE), "-o", out, "--show-mask")[0] == 0
    with read_frames(out) as clip:
        last = list(clip)[-1].astype(int)
    near = np.abs(last - FOLLOWED).sum(axis=2) < 120
    for x, y, w, h in ((RED[0] + 2 * (N - 1), *RED[1:]), (BLUE[0] - (N - 1), *BLUE[1:])):
        around = near[max(y - 6, 0) : y + h + 6, max(x - 6, 0) : x + w + 6]
        assert around.sum() > w + h


@pytest.mark.parametrize("start", ["4", "0.16s", "0:00.16"])
def test_tracking_starts_at_a_frame_or_a_time(tmp_path, start):
    with write_frames(tmp_path / "clip.mkv", 25, (128, 96)) as write:
        for number in range(N):
            write(frame(number))
    window, table = (RED[0] + 8, *RED[1:]), tmp_path / "boxes.csv"
    options = ("--start", start, "--csv", table, "--frames", 5, "--json")
    code, stdout, stderr = run(tmp_path / "clip.mkv", *option(window), *options)
    assert (code, stderr) == (0, "")
    assert [int(row["frame"]) for row in rows(table)] == [4, 5, 6, 7, 8]
    summary = json.loads(stdout)
    assert (summary["start"], summary["frames"]) == (4, 5)
    assert abs(summary["objects"][0]["window"][0] - (RED[0] + 16)) <= 1
    assert "from frame 4" in run(tmp_path / "clip.mkv", *option(window), *options[:4])[1]


def test_the_first_frame_is_that_of_the_start(tmp_path, frames):
    run(frames, "--start", 7, "--first-frame", tmp_path / "seven.png")
    drawn = np.asarray(Image.open(tmp_path / "seven.png"))
    assert drawn[28 + 30, 40 + RED[0] + 14 + 2, 0] > 200  # the ball has moved there
    assert drawn[28 + 30, 40 + RED[0] + 2, 0] < 150


@pytest.mark.parametrize("text", ["-1", "half", "1.5", "1:2:3:4", "", "4m"])
def test_a_start_that_is_neither_a_frame_nor_a_time_is_an_error(frames, text):
    code, _, stderr = run(frames, *option(RED), "--json", f"--start={text}")
    assert code == 2
    assert "expected a frame such as 120, or a time such as 4.5s or 1:05" in " ".join(
        stderr.replace("│", " ").split()
    )


@pytest.mark.parametrize("text", ["12", "9" * 20, "9" * 400 + "s"])
def test_a_start_after_the_end_is_an_error(frames, text):
    code, _, stderr = run(frames, *option(RED), "--json", "--start", text)
    assert code == 1
    assert f"--start must be before the end of the video, 12 frames, got '{text}'" in stderr


def test_the_advice_about_a_missing_window_has_the_start(frames):
    assert f"track {frames} --start 7 --first-frame" in run(frames, "--json", "--start", 7)[2]
    assert f"track {frames} --first-frame" in run(frames, "--json", "--start", 0)[2]


def test_times_are_parsed():
    assert parse_start("1:05") == (65, True)
    assert parse_start("1:00:00.5") == (3600.5, True)
    assert parse_start("2s") == (2, True)
    assert parse_start("120") == (120, False)
