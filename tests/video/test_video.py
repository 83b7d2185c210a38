"""Frames in and out, and labels that keep still while things move."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from meanshiftpp import Grid, picture
from meanshiftpp.errors import FileAccessError, InvalidInputError
from meanshiftpp.images.draw import (
    as_rgb,
    contact_sheet,
    fill,
    limits,
    outlines,
    overlay,
    palette_strip,
    region_colors,
)
from meanshiftpp.video.segmenter import VideoSegmenter, fade, read_frames, write_frames

av = pytest.importorskip("av", reason="PyAV reads and writes videos")
BOX = (200, 30, 30)


def frame(x: int, y: int = 20, noise: float = 5.0, seed: int = 0) -> np.ndarray:
    """A red box at (x, y), for x below 0 none, on a grey floor under a light sky."""
    image = np.full((72, 96, 3), (170.0, 190.0, 220.0))
    image[40:] = 110, 105, 100
    if x >= 0:
        image[y : y + 24, x : x + 24] = BOX
    image += np.random.default_rng([seed, abs(x), y]).normal(0, noise, image.shape)
    return image.clip(0, 255).round().astype(np.uint8)


def clip(path: Path, frames: list[np.ndarray], fps: float = 25) -> Path:
    height, width = frames[0].shape[:2]
    with write_frames(path, fps, (width, height)) as write:
        for each in frames:
            write(each)
    return path


def interrupted(path: Path, image: np.ndarray) -> None:
    with write_frames(path, 25, (96, 72)) as write:
        write(image)
        raise KeyboardInterrupt


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
def test_frames_come_back(tmp_path, suffix):
    frames = [frame(x) for x in range(10, 50, 5)]
    with read_frames(clip(tmp_path / f"c{suffix}", frames, 30000 / 1001)) as back:
        assert back.size == (96, 72)
        assert back.fps == Fraction(30000, 1001)
        seen = list(back)
    assert len(seen) == len(frames)
    for ours, theirs in zip(frames, seen):
        assert theirs.dtype == np.uint8
        assert np.abs(ours.astype(int) - theirs).mean() < 6


def test_what_is_written_is_what_players_know(tmp_path):
    clip(tmp_path / "c.mp4", [frame(10)] * 3)
    with av.open(str(tmp_path / "c.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
        assert stream.frames == 3
    index, data = ((tmp_path / "c.mp4").read_bytes().index(name) for name in (b"moov", b"mdat"))
    assert index < data


def test_colours_are_kept(tmp_path):
    colours = [(200, 30, 30), (30, 200, 30), (30, 30, 200), (255, 255, 255), (0, 0, 0)]
    frames = [np.full((48, 64, 3), colour, np.uint8) for colour in colours]
    with read_frames(clip(tmp_path / "c.mp4", frames)) as back:
        for colour, seen in zip(colours, back):
            assert np.abs(np.median(seen, axis=(0, 1)) - colour).max() <= 4


def test_odd_sizes_become_even(tmp_path):
    frames = [np.full((49, 65, 3), 90, np.uint8)] * 2
    with read_frames(clip(tmp_path / "c.mp4", frames)) as back:
        assert back.size == (66, 50)
        assert all(abs(seen.mean() - 90) < 2 for seen in back)


def test_a_turned_video_is_upright(tmp_path):
    upright = np.zeros((96, 64, 3), np.uint8)
    upright[:48] = 220, 220, 220
    with av.open(str(tmp_path / "c.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        stream.set_display_rotation(90)  # to be shown turned counterclockwise
        lying = np.ascontiguousarray(np.rot90(upright, -1))
        container.mux(stream.encode(av.VideoFrame.from_ndarray(lying, format="rgb24")))
        container.mux(stream.encode(None))
    with read_frames(tmp_path / "c.mp4") as back:
        seen = next(iter(back))
    assert back.size == (64, 96)
    assert np.abs(seen.astype(int) - upright).mean() < 6


def test_a_folder_of_pictures_is_a_video(tmp_path):
    for i in range(3):
        picture.write(tmp_path / f"f{i:02}.png", frame(10 + i))
    (tmp_path / "notes.txt").write_text("not a picture")
    with read_frames(tmp_path) as back:
        assert (back.count, back.size) == (3, (96, 72))
        for i, seen in enumerate(back):
            assert np.array_equal(seen, frame(10 + i))


def test_files_that_are_no_video_say_so(tmp_path):
    whole = clip(tmp_path / "whole.mp4", [frame(x) for x in range(60)]).read_bytes()
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
    for name, words in [
        ("cut.mp4", r"cut\.mp4' is (cut off: it has \d+ of 60|damaged after \d+) frames"),
        ("head.mp4", "head.mp4' (is no|has no) video"),
        ("text.mp4", "text.mp4' is no video"),
        ("empty.mp4", "empty.mp4' is empty"),
        ("folder", "folder' has no frames"),
        ("sound.mp4", "sound.mp4' has no video"),
    ]:
        with pytest.raises(InvalidInputError, match=words), read_frames(tmp_path / name) as back:
            list(back)
    with pytest.raises(FileAccessError, match="No such file"):
        read_frames(tmp_path / "none.mp4")


def test_a_camera_that_is_not_there():
    with pytest.raises(FileAccessError, match="camera 97"):
        read_frames(97)


def test_nothing_is_left_of_a_video_that_fails(tmp_path):
    good = frame(10)
    path = clip(tmp_path / "c.mp4", [good])
    before = path.read_bytes()
    words = r"\(72, 96, 3\), got uint8 of shape \(72, 90, 3\)"
    with pytest.raises(InvalidInputError, match=words):
        clip(path, [good, good[:, :90]])
    with pytest.raises(KeyboardInterrupt):
        interrupted(path, good)
    with pytest.raises(InvalidInputError, match="no frames"), write_frames(path, 25, (96, 72)):
        pass
    with pytest.raises(InvalidInputError, match="fps"), write_frames(path, 0, (96, 72)):
        pass
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c.mp4"]


@pytest.mark.parametrize(
    ("path", "error"), [("c.gif", InvalidInputError), ("gone/c.mp4", FileAccessError)]
)
def test_a_video_that_cannot_be_written(tmp_path, path, error):
    with pytest.raises(error), write_frames(tmp_path / path, 25, (64, 48)):
        pytest.fail("too late")


# -- labels that keep still ------------------------------------------------------------------------


@pytest.mark.parametrize("regions", [True, False])
def test_a_thing_that_moves_keeps_its_label_and_colour(regions):
    segmenter = VideoSegmenter(regions=regions)
    seen = []
    for i, x in enumerate(range(8, 60, 4)):
        labels = segmenter.update(frame(x, seed=i))
        assert labels.shape == (72, 96)
        assert labels.dtype == np.int32
        seen.append([labels[32, x + 12], labels[4, 4], labels[68, 4]])
        assert np.abs(segmenter.colors[seen[-1][0]] - BOX).max() < 12
    assert len({tuple(labels) for labels in seen}) == 1
    assert len(set(seen[0])) == 3


@pytest.mark.parametrize("regions", [True, False])
def test_noise_does_not_flicker(regions):
    """Of a still scene in noise, far fewer labels change than where each frame is alone."""

    def changes(memory: float) -> float:
        segmenter = VideoSegmenter(regions=regions, memory=memory, detail=6.0)
        noise = 16 if regions else 25
        labels = [segmenter.update(frame(30, noise=noise, seed=i)) for i in range(16)]
        return float(np.mean([(a != b).mean() for a, b in pairwise(labels[6:])]))

    assert changes(4.0) < 0.5 * changes(1.0)


def test_the_first_frame_is_an_image():
    from meanshiftpp import segment

    image = frame(30)
    assert np.array_equal(VideoSegmenter().update(image), segment(image))
    clusters = VideoSegmenter(regions=False).update(image)
    assert np.array_equal(clusters, segment(image, regions=False))
    spatial = VideoSegmenter(40, regions=False, space="rgb", spatial=30).update(image)
    expected = segment(image, 40, regions=False, space="rgb", spatial=30)
    assert np.array_equal(spatial, expected)


def test_frames_by_themselves_give_the_regions_of_images():
    from meanshiftpp import segment

    segmenter = VideoSegmenter(memory=1)
    for i, x in enumerate((10, 40, 20)):
        labels = segmenter.update(frame(x, seed=i))
        alone = segment(frame(x, seed=i))
        pairs = np.unique(np.stack([labels.ravel(), alone.ravel()]), axis=1)
        assert pairs.shape[1] == alone.max() + 1 == len(np.unique(labels))


def test_a_new_scene_starts_anew():
    segmenter = VideoSegmenter()
    for i in range(4):
        before = segmenter.update(frame(20, seed=i))
    other = np.full((72, 96, 3), (20, 90, 30), np.uint8)
    other[:, 60:] = 240, 220, 90
    after = segmenter.update(other)
    assert len(np.unique(after)) == 2
    assert set(np.unique(after)).isdisjoint(np.unique(before))
    assert np.allclose(segmenter.colors[after[0, 0]], (20, 90, 30))


def test_what_comes_and_goes_takes_no_label_from_others():
    segmenter = VideoSegmenter()
    empty = frame(-40)
    first = segmenter.update(empty)
    segmenter.update(frame(30))
    again = segmenter.update(empty)
    assert np.array_equal(np.unique(first), np.unique(again))


def test_results_do_not_depend_on_threads():
    runs = []
    for n in (1, 2, 8):
        segmenter = VideoSegmenter(n_threads=n, detail=4.0)
        runs.append([segmenter.update(frame(x, noise=14)) for x in range(8, 40, 8)])
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0], runs[2])


def test_what_update_returns_is_ours_to_change():
    segmenter = VideoSegmenter()
    labels = segmenter.update(frame(20))
    expected = labels.copy()
    labels[:] = 99
    assert np.array_equal(segmenter.update(frame(20)), expected)


def test_bad_frames_and_options():
    segmenter = VideoSegmenter()
    segmenter.update(frame(10))
    for bad, words in [
        (frame(10)[:50], r"shape \(50, 96\), those before \(72, 96\)"),
        (frame(10)[..., 0], "RGB bytes"),
        (frame(10) / 255, "float64"),
        (np.zeros((0, 5, 3), np.uint8), "RGB bytes"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            segmenter.update(bad)
    for options, words in [
        ({"space": "cmyk"}, "space"),
        ({"space": None}, "space"),
        ({"memory": 0.5}, "memory"),
        ({"memory": float("nan")}, "memory"),
        ({"detail": 0.0}, "detail"),
        ({"detail": "high"}, "detail must be a positive number, got 'high'"),
        ({"spatial": -1}, "spatial must be a positive number, got -1"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            VideoSegmenter(**options)


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.5, 6 / 7, 1.0])
def test_a_faded_grid_has_the_same_means(keep):
    points = np.random.default_rng(2).normal(0, 30, (20_000, 3))
    grid = Grid.from_points(points, 7.0)
    faded = fade(grid, keep)
    assert (faded.sums <= faded.counts[:, None] << np.uint64(32)).all()
    assert np.array_equal(faded.counts, (grid.counts * keep).astype(int)[grid.counts * keep >= 1])
    kept = np.isin(grid.cells, faded.cells).all(axis=1) & (grid.counts * keep >= 1)
    assert np.abs(faded.means - grid.means[kept]).max(initial=0) < 1e-7
    assert (faded == grid) == (keep == 1.0)
    assert len(fade(fade(grid, 0.0), 0.5)) == 0


def test_what_fades_keeps_its_period_and_fits_to_the_rest():
    grid = Grid.from_points([[1.0], [1.0], [359.0]], 10, periodic=[360])
    assert (grid + fade(grid, 0.5)).total == 4
    for wrong in (1.5, -0.1, float("nan"), "x", None):
        with pytest.raises(InvalidInputError, match=f"between 0 and 1, got {wrong!r}"):
            fade(grid, wrong)


# -- drawing ---------------------------------------------------------------------------------------


def test_regions_are_filled_with_their_colour_and_outlined():
    image, labels = frame(30, noise=0), np.zeros((72, 96), np.int32)
    labels[:, 48:] = 1
    drawn = fill(labels, [(200, 200, 100), (10, 10, 10)])
    assert drawn.shape == image.shape
    assert drawn[5, 5].tolist() == [200, 200, 100]
    assert (drawn[:, 47] < 200).all(), "a light region has a dark outline"
    assert drawn[5, 90].tolist() == [10, 10, 10]
    assert np.array_equal(fill(labels, [(1, 2, 3)] * 2, lines=False)[0, 47], [1, 2, 3])
    labels[:9] = -1
    masked = fill(labels, [(200, 200, 100), (10, 10, 10)])
    assert (masked[:9, :, 3] == 0).all()
    assert (masked[9:, :, 3] == 255).all()


def test_outlines_grow_with_the_picture():
    small, large = np.zeros((40, 60), int), np.zeros((4000, 600), int)
    small[:, 30:] = 1
    large[:, 300:] = 1
    assert outlines(small).sum() == 40
    assert outlines(large).sum() == 4000 * 2
    assert outlines(small, width=5).sum() == 40 * 5


def test_an_overlay_changes_the_lines_only():
    image, labels = frame(30), (np.indices((72, 96))[1] > 50).astype(np.int32)
    drawn = overlay(image, labels)
    assert (drawn[:, 50] == 255).all()
    far = np.abs(np.arange(96) - 50) > 2
    assert np.array_equal(drawn[:, far], image[:, far])


def test_mean_colours_leave_masked_pixels_out():
    image, labels = frame(30), np.zeros((72, 96), np.int32)
    labels[:, 50:] = -1
    assert np.allclose(region_colors(image, labels), image[:, :50].mean(axis=(0, 1)))


@pytest.mark.parametrize(
    "image",
    [
        np.arange(12, dtype=np.uint8).reshape(3, 4),
        np.linspace(0, 1, 24, dtype=np.float32).reshape(2, 4, 3),
        np.linspace(-5, 1e6, 48).reshape(2, 4, 6),
        np.full((2, 4, 2), np.nan),
        np.eye(4, dtype=bool),
        np.arange(32, dtype=np.uint16).reshape(2, 4, 4),
    ],
)
def test_anything_can_be_shown(image):
    shown = as_rgb(image)
    assert shown.shape == (*image.shape[:2], 3)
    assert shown.dtype == np.uint8


def test_integers_are_shown_by_the_rule_they_are_segmented_by():
    rgb = frame(10)
    for dtype in ("i2", "u2", "i4", "i8", ">u2"):
        assert np.array_equal(as_rgb(rgb.astype(dtype)), rgb)
    assert np.array_equal(as_rgb(rgb.astype(np.uint16) * 257), rgb)
    for values in (rgb.astype("u2") * 16, rgb.astype("i4") * 100_000, rgb.astype("i2") - 300):
        shown = as_rgb(values)  # 12 bits, and no colours at all: stretched
        assert shown.min() < 10
        assert shown.max() > 245


def test_the_range_that_is_shown_leaves_out_what_is_masked():
    values = np.linspace(100, 900, 4000).reshape(50, 80)
    hole = values.copy()
    hole[:10, :10] = -9999
    mask = hole > 0
    low, high = limits(hole, mask=mask)
    assert 100 < low < high < 900
    shown = as_rgb(hole, limits=(low, high))
    assert np.array_equal(shown[mask], as_rgb(values, limits=(low, high))[mask])
    assert shown[49, 79, 0] == 255
    assert 120 < shown[25, 40, 0] < 136


def test_a_volume_cannot_be_drawn():
    with pytest.raises(InvalidInputError, match="two dimensions"):
        as_rgb(np.zeros((4, 5, 6), np.uint8), channel_axis=None)


def test_the_words_of_a_palette_end_before_the_next_colour():
    wide = np.full((12, 3), 136)  # "#888888" is as wide as any
    for share in (0.0004, 0.0006, 0.5, 1.0):
        strip = palette_strip(wide, np.full(12, share))
        for column in range(1, 5):
            gap = strip[200:, 300 * column - 18 : 300 * column]
            assert (gap == 255).all(), share


def test_a_sheet_has_all_panels():
    red, blue = (np.full((50, 80, 3), c, np.uint8) for c in ((200, 0, 0), (0, 0, 200)))
    sheet = contact_sheet([("red", "", red), ("blue", "", blue), ("red", "again", red)])
    assert (sheet == red[0, 0]).all(axis=2).sum() == 2 * 50 * 80
    assert (sheet == blue[0, 0]).all(axis=2).sum() == 50 * 80
