"""Frames read from videos, folders and cameras, and videos written."""

from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.video.scenes import frame

from meanshiftpp import picture
from meanshiftpp.errors import FileAccessError, InvalidInputError
from meanshiftpp.video.frames import read_frames, write_frames

av = pytest.importorskip("av", reason="PyAV reads and writes videos")


def write_clip(path: Path, frames: list[np.ndarray], fps: float = 25) -> Path:
    height, width = frames[0].shape[:2]
    with write_frames(path, fps, (width, height)) as write:
        for each in frames:
            write(each)
    return path


def write_and_interrupt(path: Path, image: np.ndarray) -> None:
    with write_frames(path, 25, (96, 72)) as write:
        write(image)
        raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
def test_frames_survive_a_round_trip(tmp_path, suffix):
    frames = [frame(x) for x in range(10, 50, 5)]
    with read_frames(write_clip(tmp_path / f"c{suffix}", frames, 30000 / 1001)) as back:
        assert back.size == (96, 72)
        assert back.fps == Fraction(30000, 1001)
        decoded = list(back)
    assert len(decoded) == len(frames)
    for ours, theirs in zip(frames, decoded):
        assert theirs.dtype == np.uint8
        assert np.abs(ours.astype(int) - theirs).mean() < 6


def test_videos_are_written_for_every_player(tmp_path):
    write_clip(tmp_path / "c.mp4", [frame(10)] * 3)
    with av.open(str(tmp_path / "c.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
        assert stream.frames == 3
    index, data = ((tmp_path / "c.mp4").read_bytes().index(name) for name in (b"moov", b"mdat"))
    assert index < data


def test_colours_survive_a_round_trip(tmp_path):
    colours = [(200, 30, 30), (30, 200, 30), (30, 30, 200), (255, 255, 255), (0, 0, 0)]
    frames = [np.full((48, 64, 3), colour, np.uint8) for colour in colours]
    with read_frames(write_clip(tmp_path / "c.mp4", frames)) as back:
        for colour, decoded in zip(colours, back):
            assert np.abs(np.median(decoded, axis=(0, 1)) - colour).max() <= 4


def test_odd_sizes_become_even(tmp_path):
    frames = [np.full((49, 65, 3), 90, np.uint8)] * 2
    with read_frames(write_clip(tmp_path / "c.mp4", frames)) as back:
        assert back.size == (66, 50)
        assert all(abs(decoded.mean() - 90) < 2 for decoded in back)


def turn_counterclockwise(path: Path) -> None:
    """Write a quarter turn into the header of the track, which few versions of PyAV can."""
    one = 1 << 16
    upright = struct.pack(">9i", one, 0, 0, 0, one, 0, 0, 0, 1 << 30)
    turned = struct.pack(">9i", 0, -one, 0, one, 0, 0, 0, 0, 1 << 30)
    data = path.read_bytes()
    matrix = data.index(upright, data.index(b"tkhd"))
    path.write_bytes(data[:matrix] + turned + data[matrix + len(turned) :])


def test_a_rotated_video_is_read_upright(tmp_path):
    upright = np.zeros((96, 64, 3), np.uint8)
    upright[:48] = 220, 220, 220
    with av.open(str(tmp_path / "c.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        lying = np.ascontiguousarray(np.rot90(upright, -1))
        container.mux(stream.encode(av.VideoFrame.from_ndarray(lying, format="rgb24")))
        container.mux(stream.encode(None))
    turn_counterclockwise(tmp_path / "c.mp4")
    with read_frames(tmp_path / "c.mp4") as back:
        decoded = next(iter(back))
    assert back.size == (64, 96)
    assert np.abs(decoded.astype(int) - upright).mean() < 6


def test_a_folder_of_pictures_is_read_as_a_video(tmp_path):
    for i in range(3):
        picture.write(tmp_path / f"f{i:02}.png", frame(10 + i))
    (tmp_path / "notes.txt").write_text("not a picture")
    with read_frames(tmp_path) as back:
        assert (back.count, back.size) == (3, (96, 72))
        for i, decoded in enumerate(back):
            assert np.array_equal(decoded, frame(10 + i))


def test_files_that_are_not_videos_raise(tmp_path):
    whole = write_clip(tmp_path / "whole.mp4", [frame(x) for x in range(60)]).read_bytes()
    (tmp_path / "cut.mp4").write_bytes(whole[: len(whole) * 2 // 3])
    (tmp_path / "head.mp4").write_bytes(whole[:60])
    (tmp_path / "text.mp4").write_text("hello " * 100)
    (tmp_path / "empty.mp4").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with av.open(str(tmp_path / "sound.mp4"), "w") as container:
        stream = container.add_stream("aac", rate=44100)
        for _ in range(4):
            silence = np.zeros((1, 1024), np.float32)
            samples = av.AudioFrame.from_ndarray(silence, format="fltp", layout="mono")
            samples.rate = 44100
            container.mux(stream.encode(samples))
        container.mux(stream.encode(None))
    for name, message in [
        ("cut.mp4", r"cut\.mp4' is (cut off: it has \d+ of 60|damaged after \d+) frames"),
        ("head.mp4", "head.mp4' (is not a|has no) video"),
        ("text.mp4", "text.mp4' is not a video"),
        ("empty.mp4", "empty.mp4' is empty"),
        ("folder", "folder' has no frames"),
        ("sound.mp4", "sound.mp4' has no video"),
    ]:
        with pytest.raises(InvalidInputError, match=message), read_frames(tmp_path / name) as back:
            list(back)
    with pytest.raises(FileAccessError, match="No such file"):
        read_frames(tmp_path / "none.mp4")


def test_a_missing_camera_raises():
    with pytest.raises(FileAccessError, match="camera 97"):
        read_frames(97)


def test_a_failed_write_leaves_the_old_file(tmp_path):
    good = frame(10)
    path = write_clip(tmp_path / "c.mp4", [good])
    before = path.read_bytes()
    message = r"\(72, 96, 3\), got uint8 of shape \(72, 90, 3\)"
    with pytest.raises(InvalidInputError, match=message):
        write_clip(path, [good, good[:, :90]])
    with pytest.raises(KeyboardInterrupt):
        write_and_interrupt(path, good)
    with pytest.raises(InvalidInputError, match="no frames"), write_frames(path, 25, (96, 72)):
        pass
    with pytest.raises(InvalidInputError, match="fps"), write_frames(path, 0, (96, 72)):
        pass
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c.mp4"]


@pytest.mark.parametrize(
    ("path", "error"), [("c.gif", InvalidInputError), ("gone/c.mp4", FileAccessError)]
)
def test_an_unwritable_video_raises_before_the_first_frame(tmp_path, path, error):
    with pytest.raises(error), write_frames(tmp_path / path, 25, (64, 48)):
        pytest.fail("the error must come before the first frame")


def test_pictures_of_a_folder_must_have_one_size(tmp_path):
    picture.write(tmp_path / "0.png", frame(10))
    picture.write(tmp_path / "1.png", frame(10)[:50])
    with (
        pytest.raises(InvalidInputError, match=r"1.png' must have 96 x 72 pixels .*, got 96 x 50"),
        read_frames(tmp_path) as back,
    ):
        list(back)


def test_a_build_without_an_encoder_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("meanshiftpp.video.frames._H264_ENCODERS", ())
    with pytest.raises(InvalidInputError, match=r"needs an H\.264 encoder"):
        write_clip(tmp_path / "c.mp4", [frame(10)])
    assert list(tmp_path.iterdir()) == []


def test_frames_per_second_can_be_a_fraction(tmp_path):
    rate = Fraction(30_000, 1001)
    path = write_clip(tmp_path / "c.mp4", [frame(10)] * 5, rate)
    with read_frames(path) as back:
        assert back.fps == rate
    with pytest.raises(InvalidInputError, match="fps must be a positive number"):
        write_clip(tmp_path / "c.mp4", [frame(10)], Fraction(-1, 2))


def test_cameras_of_other_systems_are_an_error(monkeypatch):
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(FileAccessError, match="on Linux and macOS only, got 0; pass a video file"):
        read_frames(0)
