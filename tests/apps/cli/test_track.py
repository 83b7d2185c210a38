"""`meanshiftpp track`: videos, folders and cameras in; videos, tables and words out."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from meanshiftpp import Tracker, picture
from meanshiftpp.apps.cli.app import app
from meanshiftpp.tracking.clips import leaving
from meanshiftpp.tracking.marks import FOLLOWED, LOST, box, ruled, tint, tracked
from meanshiftpp.video.frames import Frames, read_frames, write_frames

pytest.importorskip("av", reason="PyAV reads and writes videos")

N = 60  # frames: the ball leaves after 36


@cache
def ball() -> list[tuple[np.ndarray, tuple[int, int, int, int] | None]]:
    return [pair for pair, _ in zip(leaving(), range(N))]


def window() -> str:
    return ",".join(map(str, ball()[0][1]))


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["track", *(str(argument) for argument in arguments)])
    return result.exit_code, result.stdout, result.stderr


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def left_over(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.startswith(".")]


@pytest.fixture
def frames(tmp_path) -> Path:
    """The clip as a folder of pictures, which keep every value."""
    (tmp_path / "frames").mkdir()
    for number, (frame, _) in enumerate(ball()):
        Image.fromarray(frame).save(tmp_path / "frames" / f"{number:03}.png", compress_level=1)
    return tmp_path / "frames"


@pytest.fixture
def video(tmp_path) -> Path:
    with write_frames(tmp_path / "clip.mp4", 12, (320, 240)) as write:
        for frame, _ in ball():
            write(frame)
    return tmp_path / "clip.mp4"


# -- what comes out --------------------------------------------------------------------------------


def test_the_table_is_what_the_tracker_says(tmp_path, frames):
    assert run(frames, "--window", window(), "--csv", tmp_path / "boxes.csv")[0] == 0
    tracker = Tracker()
    tracker.init(*ball()[0])
    expected = [[*ball()[0][1], True, 1.0]]
    for frame, _ in ball()[1:]:
        ok, where = tracker.update(frame)
        expected.append([*where, ok, tracker.score])
    found = rows(tmp_path / "boxes.csv")
    assert list(found[0]) == ["frame", "x", "y", "w", "h", "ok", "score"]
    assert [int(row["frame"]) for row in found] == list(range(N))
    for row, (*where, ok, score) in zip(found, expected):
        assert [int(row[name]) for name in "xywh"] == where
        assert row["ok"] == ("1" if ok else "0")
        assert float(row["score"]) == pytest.approx(score, abs=1e-4)
    assert {row["ok"] for row in found} == {"0", "1"}
    assert left_over(tmp_path) == []


def test_a_video_becomes_a_video_with_the_window_in_it(tmp_path, video):
    out, table = tmp_path / "out.mp4", tmp_path / "boxes.csv"
    code, text, words = run(video, "--window", window(), "-o", out, "--csv", table, "--json")
    assert code == 0
    assert words == ""
    said = json.loads(text)
    assert (said["frames"], said["size"], said["fps"]) == (N, [320, 240], 12)
    assert (said["file"], said["output"], said["csv"]) == (str(video), str(out), str(table))
    found = rows(table)
    assert said["window"] == [int(found[-1][name]) for name in "xywh"]
    lost = [int(row["frame"]) for row in found if row["ok"] == "0"]
    assert [n for first, last in said["lost"] for n in range(first, last + 1)] == lost
    with read_frames(out) as back:
        assert (back.size, back.fps) == ((320, 240), 12)
        drawn = list(back)
    assert len(drawn) == N
    for number, colour in ((10, FOLLOWED), (N - 1, LOST)):
        plain = ball()[number][0].astype(int)
        edge = (np.abs(drawn[number].astype(int) - colour).sum(axis=2) < 90) & (
            np.abs(plain - colour).sum(axis=2) > 120
        )
        y, x = np.nonzero(edge)
        row = found[number]
        assert len(x) > 40, "the line is there"
        assert x.min() >= int(row["x"]) - 6
        assert x.max() <= int(row["x"]) + int(row["w"]) + 6
        # Below the window only: the word may stand above it.
        assert y.max() <= int(row["y"]) + int(row["h"]) + 6
    assert left_over(tmp_path) == []


def test_the_mask_is_shown_on_request(tmp_path, frames):
    shown = []
    for options in ((), ("--show-mask",)):
        out = tmp_path / "out.mkv"
        assert run(frames, "--window", window(), "-o", out, "--frames", 3, *options)[0] == 0
        with read_frames(out) as back:
            shown.append(np.array(list(back), float))
    assert len(shown[0]) == 3
    x, y, w, h = ball()[0][1]
    inside = np.abs(shown[0] - shown[1])[0, y : y + h, x : x + w]
    assert inside.mean() > 20
    assert np.abs(shown[0] - shown[1])[0, :, : x - 12].mean() < 2


def test_people_are_told_when_it_was_lost(tmp_path, frames):
    code, text, _ = run(frames, "--window", window(), "--csv", tmp_path / "boxes.csv")
    assert code == 0
    assert f"{N} of 320 x 240" in text
    lost = [row["frame"] for row in rows(tmp_path / "boxes.csv") if row["ok"] == "0"]
    assert f"in {len(lost)} frames: {lost[0]} to" in text
    code, text, _ = run(frames, "-w", window(), "--csv", tmp_path / "b.csv", "--frames", 9)
    assert code == 0
    assert "never" in text


def test_json_alone_is_a_result(frames):
    code, text, _ = run(frames, "--window", window(), "--frames", 5, "--json")
    assert code == 0
    assert json.loads(text)["frames"] == 5


def test_grey_frames_are_followed_with_a_warning(tmp_path):
    (tmp_path / "frames").mkdir()
    for number in range(3):
        grey = ball()[number][0][..., 1]
        Image.fromarray(grey).save(tmp_path / "frames" / f"{number}.png")
    table = tmp_path / "boxes.csv"
    code, _, words = run(tmp_path / "frames", "-w", window(), "--csv", table)
    assert code == 0
    assert "warning: the frames are grey" in words
    assert len(rows(table)) == 3


def test_options_reach_the_tracker(tmp_path, frames):
    for arguments, tracker in [
        (("--adapt", "none"), Tracker(adapt=None)),
        (("--adapt", "paper", "-b", "20"), Tracker(20.0, adapt="paper")),
        (("--bandwidth", "20,10,10"), Tracker([20.0, 10.0, 10.0])),
        (("--no-scale",), Tracker(scale=False)),
    ]:
        table = tmp_path / "boxes.csv"
        given = (frames, "--window", window(), "--csv", table, "--frames", 12)
        assert run(*given, *arguments)[0] == 0
        tracker.init(*ball()[0])
        expected = [tracker.update(frame)[1] for frame, _ in ball()[1:12]]
        found = [tuple(int(row[name]) for name in "xywh") for row in rows(table)[1:]]
        assert found == expected, arguments


# -- which window ----------------------------------------------------------------------------------


def test_without_a_window_it_says_how_to_give_one(tmp_path, video):
    code, text, words = run(video, "-o", tmp_path / "out.mp4")
    assert code == 2
    assert text == ""
    assert "320 x 240" in words
    assert "--window" in words
    assert "--first-frame" in words
    assert not (tmp_path / "out.mp4").exists()


def test_the_first_frame_with_rulers(tmp_path, frames):
    assert run(frames, "--first-frame", tmp_path / "first.png")[0] == 0
    shown = picture.read(tmp_path / "first.png").values
    assert np.array_equal(shown, ruled(ball()[0][0]))
    left, top = shown.shape[1] - 320, shown.shape[0] - 240
    inner = shown[top:, left:]
    assert np.array_equal(inner[7, 9], ball()[0][0][7, 9])
    assert shown[top - 1, left + 50].tolist() == [0, 0, 0]  # the marks stand where they say
    assert shown[top - 1, left + 55].tolist() == [255, 255, 255]


@pytest.mark.parametrize("text", ["1,2,3", "a,b,c,d", "", "1,2,3,4,5", "1,2,inf,4", "nan,1,1,1"])
def test_a_window_that_is_none_is_wrong_usage(tmp_path, video, text):
    code, out, words = run(video, "--window", text, "-o", tmp_path / "out.mp4")
    assert code == 2
    assert out == ""
    assert "four numbers" in " ".join(words.replace("│", " ").split())


def test_a_window_of_decimals_is_rounded_to_pixels(tmp_path, video):
    x, y, w, h = map(int, window().split(","))
    whole, decimal = tmp_path / "whole.csv", tmp_path / "decimal.csv"
    run(video, "--window", window(), "--csv", whole)
    assert run(video, "--window", f"{x - 0.4},{y + 0.3},{w}.2,{h}", "--csv", decimal)[0] == 0
    assert decimal.read_text() == whole.read_text()


# -- what goes wrong -------------------------------------------------------------------------------


def test_wrong_usage_is_2(tmp_path, video):
    out = tmp_path / "out.mp4"
    for arguments in [
        (),
        (video, "-w", window()),
        (video, "-w", window(), "-o", out, "--bandwidth", "0"),
        (video, "-w", window(), "-o", out, "--bandwidth", "nan"),
        (video, "-w", window(), "-o", out, "--bandwidth", "8,8"),
        (video, "-w", window(), "-o", out, "--adapt", "quickly"),
        (video, "-w", window(), "-o", out, "--frames", "0"),
    ]:
        code, text, _ = run(*arguments)
        assert code == 2, arguments
        assert text == ""
    assert not out.exists()


def test_bad_input_is_one_line_and_1(tmp_path, video):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.mp4").write_text("no video at all")
    (tmp_path / "broken").mkdir()
    Image.fromarray(ball()[0][0]).save(tmp_path / "broken" / "0.png")
    (tmp_path / "broken" / "1.png").write_bytes(b"\x89PNG\r\n no more")
    (tmp_path / "sizes").mkdir()
    for number, size in enumerate(((64, 48), (64, 48), (80, 48))):
        Image.new("RGB", size, (200, 30, 30)).save(tmp_path / "sizes" / f"{number}.png")
    (tmp_path / "link.png").symlink_to(tmp_path / "sizes" / "0.png")
    pictures = [path.read_bytes() for path in sorted((tmp_path / "sizes").iterdir())]
    out, table = tmp_path / "out.mp4", tmp_path / "boxes.csv"
    for path in (out, table):
        path.write_bytes(b"what was there")
    good = ("--window", window(), "-o", out, "--csv", table)
    small = ("--window", "5,5,9,9", "-o", out, "--csv", table)
    for arguments, expected in [
        ((tmp_path / "none.mp4", *good), "No such file"),
        ((tmp_path / "none.mp4", "--window", window()), "No such file"),
        ((tmp_path / "text.mp4", *good), "is no video, or is damaged"),
        ((tmp_path / "empty", *good), "has no frames"),
        ((tmp_path / "broken", "--window", "5,5,20,20", "-o", out), "1.png"),
        ((tmp_path / "sizes", *small), "2.png' is 80 x 48 pixels, frames before it 64 x 48"),
        ((video, "--window", "500,5,20,20", "-o", out), "320"),
        ((video, "--window", "5,5,0,20", "-o", out), "0"),
        ((video, "--window", "-50,5,20,20", "-o", out), "-50"),
        ((video, "--window", window(), "-o", tmp_path / "out.png"), "must end in .mp4"),
        ((video, "--window", window(), "--csv", tmp_path / "boxes.txt"), "must end in .csv"),
        ((video, "--window", window(), "-o", tmp_path / "gone" / "out.mp4"), "no folder"),
        ((video, "--window", window(), "-o", video), "is an input and would be overwritten"),
        ((video, "--first-frame", tmp_path / "first.xyz"), "must end in .png"),
        ((tmp_path / "sizes", "--first-frame", tmp_path / "sizes" / "1.png"), "overwritten"),
        ((tmp_path / "sizes", "--first-frame", tmp_path / "link.png"), "overwritten"),
        ((tmp_path / "sizes", "--first-frame", tmp_path / "sizes" / "new.png"), "its frames"),
        (("99", *good), "there is no camera 99"),
    ]:
        code, text, words = run(*arguments)
        assert code == 1, (arguments, words)
        assert text == ""
        assert words.startswith("error: ")
        assert len(words.splitlines()) == 1
        assert expected in words, arguments
        assert out.read_bytes() == table.read_bytes() == b"what was there"
    assert left_over(tmp_path) == []
    assert pictures == [path.read_bytes() for path in sorted((tmp_path / "sizes").iterdir())]
    assert video.stat().st_size > 1000


def test_a_camera_is_watched_until_interrupted(tmp_path, monkeypatch):
    """No camera here: frames that end in Ctrl-C stand for one. What was seen is kept."""

    def seen():
        yield from (frame for frame, _ in ball()[:8])
        raise KeyboardInterrupt

    asked = []

    def camera(source):
        asked.append(source)
        return Frames("camera 3", seen(), Fraction(25), None)

    monkeypatch.setattr("meanshiftpp.video.frames.read_frames", camera)
    monkeypatch.chdir(tmp_path)
    assert run("3", "-w", window(), "-o", "out.mp4", "--csv", "boxes.csv")[0] == 0
    assert len(rows(tmp_path / "boxes.csv")) == 8
    (tmp_path / "3").write_text("a file of that name is a file")
    for path in ("out.mp4", "boxes.csv"):
        (tmp_path / path).unlink()
    assert run("3", "-w", window(), "-o", "out.mp4", "--csv", "boxes.csv")[0] != 0
    assert asked == [3, "3"]
    assert not (tmp_path / "out.mp4").exists()
    assert not (tmp_path / "boxes.csv").exists()


def test_what_is_not_installed_is_named_with_its_line(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"anything")
    code = (
        "import sys; sys.modules['av'] = None\n"
        f"sys.argv = ['meanshiftpp', 'track', {str(tmp_path / 'a.mp4')!r}, '-w', '1,1,9,9', "
        f"'-o', {str(tmp_path / 'out.mp4')!r}]\n"
        "from meanshiftpp.__main__ import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'pip install "meanshiftpp[video]"' in done.stderr
    assert "Traceback" not in done.stderr


# -- what is drawn ---------------------------------------------------------------------------------


def test_a_box_stays_in_the_picture_and_leaves_the_rest_alone():
    plain = np.full((40, 60, 3), 100, np.uint8)
    for where in ((0, 0, 60, 40), (0, 0, 1, 1), (59, 39, 1, 1), (20, 10, 15, 12)):
        for options in ({}, {"dashed": True}, {"words": "lost"}):
            drawn = box(plain, where, **options)
            assert drawn.shape == plain.shape
            assert (drawn != plain).any()
    assert (plain == 100).all()
    drawn = box(plain, (20, 10, 15, 12))
    assert np.array_equal(drawn[10:22, 20:35], plain[10:22, 20:35])
    assert np.array_equal(drawn[:7], plain[:7])
    dashed = box(plain, (20, 10, 15, 12), dashed=True)
    whole, parts = ((each == FOLLOWED).all(axis=2).sum() for each in (drawn, dashed))
    assert 0.2 * whole < parts < 0.8 * whole


def test_what_is_lost_is_marked_and_not_tinted():
    plain, where = np.full((60, 80, 3), 100, np.uint8), (30, 30, 12, 9)
    mask = np.zeros((60, 80), bool)
    mask[32:36, 32:36] = True
    assert np.array_equal(tracked(plain, where, True), box(plain, where))
    assert np.array_equal(tracked(plain, where, True, mask), box(tint(plain, mask), where))
    lost = tracked(plain, where, False, mask)
    assert np.array_equal(lost, box(plain, where, LOST, dashed=True, words="lost"))
    assert np.array_equal(lost[32:36, 32:36], plain[32:36, 32:36])


def test_a_tint_colours_the_mask_alone():
    plain = np.full((4, 5, 3), 255, np.uint8)
    mask = np.zeros((4, 5), bool)
    mask[1, 2] = True
    drawn = tint(plain, mask, (1, 0, 101))
    assert drawn[1, 2].tolist() == [128, 127, 178]
    assert (drawn[~mask] == 255).all()
