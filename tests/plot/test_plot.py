"""Pictures of clusters: any shape of data can be drawn, without global state."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.image import imread

from meanshiftpp import MeanShiftPP, sweep
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.plot import PALETTE, clusters
from meanshiftpp.plot.panels import MAX_DOTS
from meanshiftpp.plot.scene import axis_limits, cluster_colours
from meanshiftpp.plot.style import GREY


def mixture(n: int, d: int, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.sort(rng.choice(k, n, p=np.arange(k, 0, -1) / (k * (k + 1) / 2)))
    return rng.normal(size=(n, d)) + 8 * rng.normal(size=(k, d))[labels], labels


def png(figure: Figure, tmp_path) -> bytes:
    figure.savefig(tmp_path / "figure.png", dpi=40)
    pixels = imread(tmp_path / "figure.png")
    assert (pixels != pixels[0, 0]).any(), "the figure is blank"
    return (tmp_path / "figure.png").read_bytes()


@pytest.mark.parametrize(("d", "panels"), [(1, 2), (2, 2), (3, 7), (4, 11), (5, 16), (9, 16)])
def test_any_number_of_features_can_be_drawn(tmp_path, d, panels):
    figure = clusters(*mixture(500, d))
    assert len(figure.axes) == panels  # one of them shows the sizes
    assert png(figure, tmp_path).startswith(b"\x89PNG")


@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("scale", "shift"),
    [
        *((60, 481_000), (9e-5, 1e-3), (4e5, 6e6), (1e-2, 7)),
        *((1e-3, 116.3), (1e-4, -116.3), (40, 5_400_000), (1e-2, 481_000), (1e3, 1e9)),
    ],
)
def test_numbers_on_the_axes_do_not_overlap(d, scale, shift):
    X, labels = mixture(300, d)
    figure = clusters(X * scale + shift, labels)
    figure.draw_without_rendering()
    for panel in figure.axes:
        for axis in (panel.xaxis, panel.yaxis):
            assert "+" not in axis.get_offset_text().get_text()  # no offset to add
        texts = [tick.label1 for tick in panel.xaxis.get_major_ticks() if tick.label1.get_visible()]
        boxes = sorted(
            (text.get_window_extent() for text in texts if text.get_text()), key=lambda box: box.x0
        )
        assert all(one.x1 + 3 < two.x0 for one, two in pairwise(boxes))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_many_points_are_drawn_as_a_density(tmp_path, d):
    X, labels = mixture(MAX_DOTS + 1, d)
    figure = clusters(X.astype(np.float32), labels)
    assert sum(len(panel.images) for panel in figure.axes) == d * (d - 1) // 2
    png(figure, tmp_path)


@pytest.mark.parametrize(
    "X", [[[1.0, 2.0]], np.ones((5, 2)), np.c_[np.arange(9.0), np.ones(9)], [[0.0], [1e9]]]
)
def test_very_little_data_can_be_drawn(tmp_path, X):
    png(clusters(X, np.zeros(len(X), int)), tmp_path)
    png(clusters(X, np.full(len(X), -1)), tmp_path)
    png(clusters(X, np.full(len(X), -7)), tmp_path)
    png(clusters(X, np.arange(len(X))), tmp_path)
    png(clusters(X, np.full(len(X), 12)), tmp_path)  # clusters 0 to 11 are empty


def test_a_thousand_small_clusters_are_grey_and_share_a_row():
    X, labels = mixture(5000, 2)
    labels[-1000:] = np.arange(3, 1003)
    figure = clusters(X, labels)
    dots, sizes = figure.axes[0].collections[0], figure.axes[1]
    colours = {tuple(colour[:3]) for colour in dots.get_facecolors()}
    assert len(colours) == 4
    assert to_rgb(GREY) in colours
    rows = [text.get_text() for text in sizes.get_yticklabels()]
    assert rows[-1] == "1,000 more"


def test_many_clusters_of_one_size_have_colours():
    """Each is far below 0.5% of the points; neighbours differ, and the size panel has a total."""
    at = np.stack(np.meshgrid(np.arange(18.0), np.arange(18.0)), axis=-1).reshape(-1, 2)
    labels = np.arange(len(at)).repeat(4)
    figure = clusters(at[labels], labels)
    colours = figure.axes[0].collections[0].get_facecolors()[:, :3]
    assert to_rgb(GREY) not in {tuple(colour) for colour in colours}
    grid = colours[np.lexsort(figure.axes[0].collections[0].get_offsets().T)][::4]
    grid = grid.reshape(18, 18, 3)
    assert (grid[1:] != grid[:-1]).any(axis=2).all()
    assert (grid[:, 1:] != grid[:, :-1]).any(axis=2).all()
    assert figure.axes[1].get_yticklabels()[-1].get_text().endswith(" more")


def test_noise_has_its_own_row():
    X, labels = mixture(500, 2)
    labels[:20] = -1
    sizes = clusters(X, labels).axes[1]
    assert sizes.get_yticklabels()[-1].get_text() == "noise"
    assert sizes.texts[-1].get_text() == "20"


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_noise_alone_can_be_drawn_with_an_empty_list_of_centers(tmp_path, d):
    figure = clusters(mixture(50, d)[0], np.full(50, -1), centers=[], weights=[])
    assert png(figure, tmp_path)
    names = [text.get_text() for panel in figure.axes for text in panel.get_yticklabels()]
    assert "noise" in names


def test_sizes_of_weighted_points_are_weights():
    X, labels = mixture(500, 2)
    labels[:20] = -1
    sizes = clusters(X, labels, weights=[9.5, 8, 7, 6], noise=2.5, weighted=True).axes[1]
    assert sizes.get_title(loc="left") == "weight of each cluster"
    assert sizes.texts[-1].get_text() == "2.5"


def test_modes_are_marked_at_the_given_centers():
    X, labels = mixture(500, 2)
    centers = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
    panel = clusters(X, labels, centers=centers, columns=["east", "north"]).axes[0]
    assert np.array_equal(panel.collections[-1].get_offsets(), centers)
    assert [text.get_text() for text in panel.texts] == ["0", "1", "2", "3"]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("east", "north")


def test_modes_are_drawn_in_the_period_of_the_points():
    X, labels = np.array([[-179.0, 1.0], [-20.0, 2.0], [170.0, 3.0]]), [2, 1, 0]
    centers = [[170.0, 3.0], [340.0, 2.0], [181.0, 1.0]]
    panel = clusters(X, labels, centers=centers, periodic=[360, None]).axes[0]
    assert np.array_equal(panel.collections[-1].get_offsets(), X[::-1])
    assert centers[1] == [340, 2]  # the argument is not changed
    with pytest.raises(InvalidInputError, match="periodic must be None or 2 values"):
        clusters(X, labels, centers=centers, periodic=[360])


def test_a_colour_is_reused_only_after_all_others_and_far_away():
    centers = np.c_[np.arange(12.0), np.zeros(12)]
    colours = cluster_colours(centers, 12)
    k = len(PALETTE)
    assert len({tuple(colour) for colour in colours[:k]}) == k
    assert np.array_equal(colours[k], colours[0])  # cluster 0 is the farthest from 9
    assert np.array_equal(colours[-1], to_rgb(GREY))


def test_far_outliers_do_not_squeeze_the_rest():
    x = np.r_[np.random.default_rng(0).normal(size=10_000), 1e6]
    low, high = axis_limits(x)
    assert -10 < low < high < 10


@pytest.mark.parametrize("value", [0.0, -3.0, 1.7e18, -1e300])
def test_a_constant_feature_has_an_axis_around_its_value(value):
    low, high = axis_limits(np.full(9, value))
    assert low < value < high


def test_the_features_that_separate_the_clusters_are_drawn():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 500)
    X = rng.normal(size=(1000, 8))
    X[:, [1, 3, 4, 6, 7]] += 9 * labels[:, None]
    figure = clusters(X, labels, columns=list("abcdefgh"))
    assert [panel.get_xlabel() for panel in figure.axes if panel.get_xlabel()] == list("bdegh")
    assert figure.texts[-1].get_text() == "1,000 points, 2 clusters; 5 of 8 features"
    figure = clusters(X, labels, title="T", subtitle="of last week")
    assert figure.texts[-1].get_text() == "of last week; 5 of 8 features"
    assert clusters(X[:, :5], labels, subtitle="all").texts[-1].get_text() == "all"


def test_installed_fonts_of_other_scripts_are_fallbacks(monkeypatch):
    monkeypatch.setattr("matplotlib.font_manager.get_font_names", lambda: ["Yu Gothic", "Arial"])
    figure = clusters(*mixture(50, 2), title="数据")
    assert figure.texts[0].get_fontfamily() == ["sans-serif", "Yu Gothic"]


def test_pyplot_is_not_imported():
    code = (
        "import sys; from meanshiftpp.plot import clusters; clusters([[1, 2], [3, 4]], [0, 1])\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("X", "labels"), [(np.ones(3), [0, 0, 0]), (np.ones((3, 2)), [0, 0]), (np.ones((0, 2)), [])]
)
def test_mismatched_shapes_raise(X, labels):
    with pytest.raises(InvalidInputError, match=r"(X|labels) must be .* of shape .*, got \("):
        clusters(X, labels)


WRONG = (object(), "a", [[1, 2], [3]], 1.5, np.zeros((3, 2, 2)), np.zeros(3, complex))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        *(("X", value) for value in (*WRONG, None, [[1.0, np.nan]] * 40)),
        *(("labels", value) for value in (*WRONG, None, np.zeros(40), np.full(40, 2**40))),
        *(("centers", value) for value in (*WRONG, [[0.0, 1.0]], np.zeros((9, 3)))),
        *(("weights", value) for value in (*WRONG, [1.0], np.ones((4, 2)))),
        *(("weights", [3.0, 2.0, 1.0, value]) for value in (np.nan, np.inf, -1.0)),
        *(("columns", value) for value in (object(), "ab", ["a"], ["a", "b", "c"])),
        *(("title", value) for value in (object(), 3)),
        *(("subtitle", value) for value in (object(), 3)),
        *(("tree", value) for value in (object(), "a", [])),
        *(("noise", value) for value in (object(), "a", -1, np.nan)),
    ],
)
def test_a_wrong_argument_is_named(parameter, value):
    X, labels = mixture(40, 2)
    with pytest.raises(InvalidInputError, match=f"^{parameter} must be .*, got") as caught:
        clusters(**{"X": X, "labels": labels, parameter: value})
    assert caught.value.parameter == parameter


def test_a_range_that_no_axis_has_is_an_error():
    with pytest.raises(InvalidInputError, match="scale the data down") as caught:
        clusters([[1.7e308, 0], [-1.7e308, 1]], [0, 1])
    assert caught.value.parameter == "X"


def test_axes_of_another_kind_are_named():
    X, _ = mixture(40, 2)
    for plot in (sweep(X, [1.0, 2.0]).plot, MeanShiftPP().fit(X).condensed_tree_.plot):
        with pytest.raises(InvalidInputError, match="ax must be matplotlib axes or None, got 3"):
            plot(3)
