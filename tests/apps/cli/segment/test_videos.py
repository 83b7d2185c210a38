"""`meanshiftpp segment` on videos and folders of frames."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.apps.cli.pictures import image, left_over, run

from meanshiftpp.video.frames import read_frames, write_frames

pytest.importorskip("av", reason="PyAV reads and writes videos")


@pytest.fixture
def photo(tmp_path) -> Path:
    Image.fromarray(image()).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


def frames(n: int = 6) -> list[np.ndarray]:
    out = []
    for i in range(n):
        values = image(i)
        values[20:32, 40 + 4 * i : 52 + 4 * i] = 30, 60, 200
        out.append(values)
    return out


@pytest.fixture
def clip(tmp_path) -> Path:
    with write_frames(tmp_path / "clip.mp4", 12, (80, 60)) as write:
        for each in frames():
            write(each)
    return tmp_path / "clip.mp4"


@pytest.mark.parametrize("options", [(), ("--overlay",), ("--clusters",), ("--detail", "3")])
def test_a_video_is_segmented_to_a_video(tmp_path, clip, options):
    code, text, _ = run(clip, "-o", tmp_path / "out.mp4", *options, "--json")
    assert code == 0
    (file,) = json.loads(text)["files"]
    assert (file["frames"], file["size"]) == (6, [80, 60])
    with read_frames(tmp_path / "out.mp4") as back:
        assert (back.size, back.fps) == ((80, 60), 12)
        assert len(list(back)) == 6
    assert left_over(tmp_path) == []


def test_the_summary_of_a_film_counts_regions_and_not_labels(tmp_path, monkeypatch):
    """Every frame has two regions; the square that jumps has a new label each time."""
    with write_frames(tmp_path / "clip.mp4", 12, (96, 64)) as write:
        for at in range(4):
            frame = np.full((64, 96, 3), 60, np.uint8)
            frame[20:40, 24 * at : 24 * at + 16] = 230, 60 * at, 200 - 60 * at
            write(frame)
    code, text, _ = run(tmp_path / "clip.mp4", "-o", tmp_path / "out.mp4", "--json")
    assert code == 0
    (file,) = json.loads(text)["files"]
    assert (file["found"], file["what"]) == (2, "regions")
    assert file["labels"] > 2
    monkeypatch.setenv("COLUMNS", "300")  # no line of the table is wrapped
    text = run(tmp_path / "clip.mp4", "-o", tmp_path / "out.mp4")[1]
    assert "2 regions a frame" in text


def test_videos_and_photographs_can_be_mixed(tmp_path, clip, photo):
    code, text, _ = run(clip, photo, "-o", tmp_path / "out")
    assert code == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["clip.mp4", "photo.png"]
    assert "6 frames" in text


def test_a_folder_of_frames_is_segmented_to_a_video(tmp_path):
    (tmp_path / "frames").mkdir()
    for i, each in enumerate(frames(4)):
        Image.fromarray(each).save(tmp_path / "frames" / f"{i:03}.png")
    assert run(tmp_path / "frames", "-o", tmp_path / "out.mp4")[0] == 0
    with read_frames(tmp_path / "out.mp4") as back:
        assert len(list(back)) == 4


def test_unsupported_outputs_of_a_video_fail(tmp_path, clip):
    for arguments, expected in [
        (("-o", tmp_path / "out.png", "--labels"), "--labels works on pictures only"),
        (("-o", tmp_path / "out.png", "--palette"), "--palette works on pictures only"),
        (("-o", tmp_path / "out.mp4", "--regions", 20), "--regions works on pictures only"),
        (("-o", tmp_path / "out.mp4", "--range", "0,99"), "--range works on pictures only"),
        (("-o", tmp_path / "out.png"), "must end in .mp4"),
        (("-o", tmp_path / "out.mp4", "--space", "none"), "--space must be one of"),
    ]:
        code, _, stderr = run(clip, *arguments)
        assert code == 1
        assert expected in stderr
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(clip.read_bytes()[:-400])
    code, _, stderr = run(cut, "-o", tmp_path / "out.mp4")
    assert code == 1
    assert not (tmp_path / "out.mp4").exists()
    assert left_over(tmp_path) == []
