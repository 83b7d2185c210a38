"""`meanshiftpp track`: videos, folders and cameras in; videos, tables and summaries out."""

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
from tests.apps.cli.pictures import left_over
from typer.testing import CliRunner

from meanshiftpp import Tracker, picture
from meanshiftpp.apps.cli.app import app
from meanshiftpp.tracking.clips import leaving
from meanshiftpp.tracking.marks import FOLLOWED, LOST, with_rulers
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


@pytest.fixture
def frames(tmp_path) -> Path:
    """Return the clip as a folder of lossless pictures."""
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


# -- outputs ---------------------------------------------------------------------------------------


def test_the_table_equals_the_results_of_the_tracker(tmp_path, frames):
    assert run(frames, "--window", window(), "--csv", tmp_path / "boxes.csv")[0] == 0
    tracker = Tracker()
    tracker.init(*ball()[0])
    expected = [[*ball()[0][1], True, tracker.score]]
    for frame, _ in ball()[1:]:
        ok, box = tracker.update(frame)
        expected.append([*box, ok, tracker.score])
    table_rows = rows(tmp_path / "boxes.csv")
    assert list(table_rows[0]) == ["id", "frame", "x", "y", "w", "h", "ok", "score"]
    assert [int(row["frame"]) for row in table_rows] == list(range(N))
    for row, (*box, ok, score) in zip(table_rows, expected):
        assert [int(row[name]) for name in "xywh"] == box
        assert row["ok"] == ("1" if ok else "0")
        assert float(row["score"]) == pytest.approx(score, abs=1e-4)
    assert {row["ok"] for row in table_rows} == {"0", "1"}
    assert left_over(tmp_path) == []


def test_the_window_is_drawn_into_the_video(tmp_path, video):
    out, table = tmp_path / "out.mp4", tmp_path / "boxes.csv"
    code, text, stderr = run(video, "--window", window(), "-o", out, "--csv", table, "--json")
    assert code == 0
    assert stderr == ""
    summary = json.loads(text)
    assert (summary["frames"], summary["size"], summary["fps"]) == (N, [320, 240], 12)
    assert (summary["file"], summary["output"], summary["csv"]) == (
        str(video),
        str(out),
        str(table),
    )
    table_rows = rows(table)
    (found,) = summary["objects"]
    assert (found["id"], table_rows[-1]["id"]) == (0, "0")
    assert found["window"] == [int(table_rows[-1][name]) for name in "xywh"]
    lost = [int(row["frame"]) for row in table_rows if row["ok"] == "0"]
    assert [n for first, last in found["lost"] for n in range(first, last + 1)] == lost
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
        row = table_rows[number]
        assert len(x) > 40, "the line must be drawn"
        assert x.min() >= int(row["x"]) - 6
        assert x.max() <= int(row["x"]) + int(row["w"]) + 6
        # Only the lower edge is checked, because the caption may be above the window.
        assert y.max() <= int(row["y"]) + int(row["h"]) + 6
    assert left_over(tmp_path) == []


def test_show_mask_tints_the_tracked_pixels(tmp_path, frames):
    videos = []
    for options in ((), ("--show-mask",)):
        out = tmp_path / "out.mkv"
        assert run(frames, "--window", window(), "-o", out, "--frames", 3, *options)[0] == 0
        with read_frames(out) as back:
            videos.append(np.array(list(back), float))
    assert len(videos[0]) == 3
    x, y, w, h = ball()[0][1]
    inside = np.abs(videos[0] - videos[1])[0, y : y + h, x : x + w]
    assert inside.mean() > 20
    assert np.abs(videos[0] - videos[1])[0, :, : x - 12].mean() < 2


def test_the_summary_lists_the_frames_without_the_object(tmp_path, frames):
    code, text, _ = run(frames, "--window", window(), "--csv", tmp_path / "boxes.csv")
    assert code == 0
    assert f"{N} of 320 x 240" in text
    lost = [row["frame"] for row in rows(tmp_path / "boxes.csv") if row["ok"] == "0"]
    assert f"in {len(lost)} frames: {lost[0]} to" in text
    code, text, _ = run(frames, "-w", window(), "--csv", tmp_path / "b.csv", "--frames", 9)
    assert code == 0
    assert "never" in text


def test_json_alone_is_enough_output(frames):
    code, text, _ = run(frames, "--window", window(), "--frames", 5, "--json")
    assert code == 0
    assert json.loads(text)["frames"] == 5


def test_grey_frames_are_tracked_with_a_warning(tmp_path):
    (tmp_path / "frames").mkdir()
    for number in range(3):
        grey = ball()[number][0][..., 1]
        Image.fromarray(grey).save(tmp_path / "frames" / f"{number}.png")
    table = tmp_path / "boxes.csv"
    code, _, stderr = run(tmp_path / "frames", "-w", window(), "--csv", table)
    assert code == 0
    assert "warning: the frames are grey" in stderr
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
        table_rows = [tuple(int(row[name]) for name in "xywh") for row in rows(table)[1:]]
        assert table_rows == expected, arguments


# -- the window ------------------------------------------------------------------------------------


def test_a_missing_window_is_explained(tmp_path, video):
    code, text, stderr = run(video, "-o", tmp_path / "out.mp4")
    assert code == 2
    assert text == ""
    assert "320 x 240" in stderr
    assert "--window" in stderr
    assert "--first-frame" in stderr
    assert not (tmp_path / "out.mp4").exists()


@pytest.mark.parametrize("option", ["--window", "--csv", "--output"])
def test_the_first_frame_excludes_tracking(tmp_path, frames, option):
    value = "10,10,20,20" if option == "--window" else tmp_path / "out"
    code, _, stderr = run(frames, "--first-frame", tmp_path / "first.png", option, value)
    assert code == 2
    assert f"but {option} was given" in " ".join(stderr.split())
    assert not (tmp_path / "first.png").exists()


def test_the_first_frame_is_written_with_rulers(tmp_path, frames):
    assert run(frames, "--first-frame", tmp_path / "first.png")[0] == 0
    drawn = picture.read(tmp_path / "first.png").values
    assert np.array_equal(drawn, with_rulers(ball()[0][0]))
    left, top = drawn.shape[1] - 320, drawn.shape[0] - 240
    inner = drawn[top:, left:]
    assert np.array_equal(inner[7, 9], ball()[0][0][7, 9])
    assert drawn[top - 1, left + 50].tolist() == [0, 0, 0]  # a mark of the ruler
    assert drawn[top - 1, left + 55].tolist() == [255, 255, 255]


@pytest.mark.parametrize("text", ["1,2,3", "a,b,c,d", "", "1,2,3,4,5", "1,2,inf,4", "nan,1,1,1"])
def test_an_invalid_window_is_wrong_usage(tmp_path, video, text):
    code, out, stderr = run(video, "--window", text, "-o", tmp_path / "out.mp4")
    assert code == 2
    assert out == ""
    assert "four numbers" in " ".join(stderr.replace("│", " ").split())


def test_a_window_of_decimals_is_rounded_to_pixels(tmp_path, video):
    x, y, w, h = map(int, window().split(","))
    whole, decimal = tmp_path / "whole.csv", tmp_path / "decimal.csv"
    run(video, "--window", window(), "--csv", whole)
    assert run(video, "--window", f"{x - 0.4},{y + 0.3},{w}.2,{h}", "--csv", decimal)[0] == 0
    assert decimal.read_text() == whole.read_text()


# -- errors ----------------------------------------------------------------------------------------


def test_wrong_usage_has_exit_code_2(tmp_path, video):
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


def test_bad_input_is_one_line_and_exit_code_1(tmp_path, video):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.mp4").write_text("not a video")
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
        path.write_bytes(b"old content")
    good = ("--window", window(), "-o", out, "--csv", table)
    small = ("--window", "5,5,9,9", "-o", out, "--csv", table)
    for arguments, expected in [
        ((tmp_path / "none.mp4", *good), "No such file"),
        ((tmp_path / "none.mp4", "--window", window()), "No such file"),
        ((tmp_path / "text.mp4", *good), "is not a video, or is damaged"),
        ((tmp_path / "empty", *good), "has no frames"),
        ((tmp_path / "broken", "--window", "5,5,20,20", "-o", out), "1.png"),
        (
            (tmp_path / "sizes", *small),
            "2.png' must have 64 x 48 pixels like the frames before it, got 80 x 48",
        ),
        (
            (video, "--window", "500,5,20,20", "-o", out),
            "--window must be at least partly inside the frame of 320x240",
        ),
        ((video, "--window", "5,5,0,20", "-o", out), "--window must be at least 1 pixel wide"),
        ((video, "--window", "-50,5,20,20", "-o", out), "-50"),
        ((video, "--window", window(), "-o", tmp_path / "out.png"), "must end in .mp4"),
        ((video, "--window", window(), "--csv", tmp_path / "boxes.txt"), "must end in .csv"),
        ((video, "--window", window(), "-o", tmp_path / "gone" / "out.mp4"), "does not exist"),
        ((video, "--window", window(), "-o", video), "is an input and would be overwritten"),
        ((video, "--first-frame", tmp_path / "first.xyz"), "must end in .png"),
        ((tmp_path / "sizes", "--first-frame", tmp_path / "sizes" / "1.png"), "be overwritten"),
        ((tmp_path / "sizes", "--first-frame", tmp_path / "link.png"), "be overwritten"),
        ((tmp_path / "sizes", "--first-frame", tmp_path / "sizes" / "new.png"), "one of them"),
        (("99", *good), "cannot open camera 99"),
    ]:
        code, text, stderr = run(*arguments)
        assert code == 1, (arguments, stderr)
        assert text == ""
        assert stderr.startswith("error: ")
        assert len(stderr.splitlines()) == 1
        assert expected in stderr, arguments
        assert out.read_bytes() == table.read_bytes() == b"old content"
    assert left_over(tmp_path) == []
    assert pictures == [path.read_bytes() for path in sorted((tmp_path / "sizes").iterdir())]
    assert video.stat().st_size > 1000


def test_a_camera_is_tracked_until_interrupted(tmp_path, monkeypatch):
    """Frames that end in Ctrl-C stand in for a camera; the results so far are kept."""

    def frames_until_interrupt():
        yield from (frame for frame, _ in ball()[:8])
        raise KeyboardInterrupt

    sources = []

    def camera(source):
        sources.append(source)
        return Frames("camera 3", frames_until_interrupt(), Fraction(25), None)

    monkeypatch.setattr("meanshiftpp.video.frames.read_frames", camera)
    monkeypatch.chdir(tmp_path)
    assert run("3", "-w", window(), "-o", "out.mp4", "--csv", "boxes.csv")[0] == 0
    assert len(rows(tmp_path / "boxes.csv")) == 8
    (tmp_path / "3").write_text("a file, not a camera")
    for path in ("out.mp4", "boxes.csv"):
        (tmp_path / path).unlink()
    assert run("3", "-w", window(), "-o", "out.mp4", "--csv", "boxes.csv")[0] != 0
    assert sources == [3, "3"]
    assert not (tmp_path / "out.mp4").exists()
    assert not (tmp_path / "boxes.csv").exists()


def test_a_missing_extra_is_reported_with_its_install_command(tmp_path):
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
