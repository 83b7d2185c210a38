"""Images: scikit-image's conventions, the paper's method on pixels, and what bad input gets.

The pictures are small and made here, with noise, so that there is something to merge.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import ndimage
from tests.helpers import fit_labels

import meanshiftpp
from meanshiftpp import _kernel, hierarchy, palette, quantize, segment
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.reference import mean_shift_pp

SPACES = ["rgb", "lab", "luv", "hsv"]


def scene(height: int = 60, width: int = 80, noise: float = 6.0, seed: int = 0) -> np.ndarray:
    """A bright wall, a dark floor, a red box and a blue ball, with noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width] / [[[height]], [[width]]]
    image = np.full((height, width, 3), (190.0, 200.0, 180.0))
    image[y > 0.6] = 70, 60, 50
    image[(abs(x - 0.3) < 0.15) & (abs(y - 0.5) < 0.25)] = 180, 40, 30
    image[(x - 0.75) ** 2 + (y - 0.35) ** 2 < 0.03] = 40, 60, 170
    image += rng.normal(0, noise, image.shape)
    return image.clip(0, 255).round().astype(np.uint8)


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return scene()


def same_partition(a: np.ndarray, b: np.ndarray) -> bool:
    pairs = np.unique(np.stack([a.ravel(), b.ravel()]), axis=1).shape[1]
    return pairs == len(np.unique(a)) == len(np.unique(b))


def assert_connected(labels: np.ndarray) -> None:
    for label in range(int(labels.max()) + 1):
        assert ndimage.label(labels == label)[1] == 1, f"region {label} is in parts"


def assert_ordered(labels: np.ndarray, start: int = 0) -> None:
    """Labels without gaps, by falling size."""
    sizes = np.bincount(labels[labels >= start] - start)
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()


# -- shapes and types ------------------------------------------------------------------------------


def test_the_scene_is_found(image):
    labels = segment(image)
    assert labels.shape == (60, 80)
    assert labels.dtype == np.int32
    assert_ordered(labels)
    assert_connected(labels)
    middle = [labels[5, 5], labels[57, 40], labels[30, 24], labels[21, 60]]
    assert len(set(middle)) == 4
    assert labels.max() == 3


@pytest.mark.parametrize("space", [*SPACES, None])
@pytest.mark.parametrize("regions", [True, False])
def test_every_space_gives_labels_in_order(image, space, regions):
    labels = segment(image, space=space, regions=regions)
    assert labels.shape == image.shape[:2]
    assert labels.dtype == np.int32
    assert labels.min() == 0
    assert labels.max() >= 1
    assert_ordered(labels)
    if regions:
        assert_connected(labels)


@pytest.mark.parametrize(
    "convert",
    [
        lambda image: image.astype(np.uint16) * 257,
        lambda image: image / np.float32(255),
        lambda image: image / 255.0,
        lambda image: image.tolist(),
        lambda image: np.asfortranarray(image),
        lambda image: image[::-1, ::-1][::-1, ::-1],
        lambda image: (image.astype(np.uint16) * 257).astype(">u2"),
    ],
    ids=["uint16", "float32", "float64", "list", "fortran", "strides", "big-endian"],
)
@pytest.mark.parametrize("regions", [True, False])
def test_types_that_hold_the_same_colours_give_the_same_labels(image, convert, regions):
    labels = segment(convert(image), regions=regions)
    expected = segment(image, regions=regions)
    # Rounding differs in the last bit between types: a pixel on a cell's edge may change sides.
    agree = max((labels == expected).mean(), same_partition(labels, expected))
    assert agree > 0.995


@pytest.mark.parametrize("dtype", ["i2", "u2", "i4", "u4", "i8", "u8", ">u2"])
@pytest.mark.parametrize("space", SPACES)
def test_bytes_are_bytes_in_every_type_of_integer(image, dtype, space):
    for regions in (True, False):
        expected = segment(image, space=space, regions=regions)
        assert np.array_equal(segment(image.astype(dtype), space=space, regions=regions), expected)
    assert np.array_equal(palette(image.astype(dtype)).colors, palette(image, space="rgb").colors)


@pytest.mark.parametrize("dtype", ["u2", "i4", "u4", "i8"])
def test_16_bits_are_16_bits_in_every_type_that_holds_them(image, dtype):
    wide = image.astype(np.uint16) * 257
    assert np.array_equal(segment(wide.astype(dtype)), segment(wide))


@pytest.mark.parametrize("function", [segment, hierarchy, quantize, palette])
@pytest.mark.parametrize(("dtype", "top"), [("u2", 4095), ("i2", 4000), ("u4", 8000)])
def test_16_bits_that_are_hardly_used_are_warned_of(image, function, dtype, top):
    """As of a sensor of 12 bits: in a colour space all of it is next to black."""
    dim = (image * (top / image.max())).astype(dtype)
    full = f"{32767 if dtype == 'i2' else 65535:,}"
    words = f"up to {top:,} of {full}.* scale it to the full range, or take space=None"
    with pytest.warns(UserWarning, match=words):
        function(dim)
    function(dim, space=None)
    function(dim * (32767 // top if dtype == "i2" else 65535 // top))
    assert segment(dim, space=None).max() == 3


def test_what_is_masked_has_no_part_in_the_range(image):
    mask = np.ones((60, 80), bool)
    mask[:20, :30] = False
    for other in (-9999, 32767):
        values = image.astype(np.int16)
        values[~mask] = other
        assert np.array_equal(segment(values, mask=mask), segment(image, mask=mask))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int16, np.float16, np.float32, bool])
def test_results_keep_to_the_type_of_the_image(image, dtype):
    if dtype is bool:
        values = image > 100
    elif np.dtype(dtype).kind == "f":
        values = (image / 255).astype(dtype)
    else:
        values = (image * (np.iinfo(dtype).max / 255)).astype(dtype)
    assert segment(values).shape == (60, 80)
    shown = quantize(values)
    found = palette(values)
    assert shown.shape == values.shape
    assert shown.dtype == found.colors.dtype == values.dtype
    assert found.colors.shape == (len(found), 3)


def test_channels_may_be_on_any_axis(image):
    expected, colours = segment(image), quantize(image, 24)
    for axis in (0, 1, -2, -3):
        moved = np.moveaxis(image, -1, axis)
        assert np.array_equal(segment(moved, channel_axis=axis), expected)
        back = np.moveaxis(quantize(moved, 24, channel_axis=axis), axis, -1)
        assert np.array_equal(back, colours)
        assert len(palette(moved, 24, channel_axis=axis)) == len(palette(image, 24))


def test_grey_images(image):
    grey = image[..., 0]
    labels = segment(grey)
    assert labels.shape == grey.shape
    assert np.array_equal(labels, segment(grey, channel_axis=None))
    assert np.array_equal(labels, segment(grey[..., None]))
    assert_connected(labels)
    assert quantize(grey).shape == grey.shape
    assert palette(grey).colors.shape[1] == 1


def test_a_grey_picture_is_the_same_as_its_rgb_copy(image):
    grey = image[..., 1]
    assert same_partition(segment(grey, space="lab"), segment(np.dstack([grey] * 3), space="lab"))


@pytest.mark.parametrize("bands", [2, 6])
@pytest.mark.parametrize("regions", [True, False])
def test_bands_that_are_no_colours(bands, regions):
    rng = np.random.default_rng(3)
    image = rng.normal(0, 4, (40, 50, bands))
    image[:, 25:] += np.arange(1, bands + 1) * 30
    for values in (image, (image + 100).clip(0, 255).astype(np.uint8)):
        labels = segment(values, regions=regions)
        left, right = np.bincount(labels[:, :25].ravel()), np.bincount(labels[:, 25:].ravel())
        assert left.argmax() != right.argmax()
        if regions:
            assert labels.max() == 1


@pytest.mark.parametrize("channels", [None, 3])
def test_volumes(channels):
    rng = np.random.default_rng(4)
    volume = np.full((10, 24, 30), 40.0)
    volume[2:8, 6:18, 8:24] = 200
    if channels:
        volume = np.stack([volume, volume[::-1], 255 - volume], axis=-1)
    volume = (volume + rng.normal(0, 4, volume.shape)).clip(0, 255).astype(np.uint8)
    labels = segment(volume, channel_axis=-1 if channels else None)
    assert labels.shape == (10, 24, 30)
    assert labels.max() == 1
    assert (labels[3:7, 7:17, 9:23] == 1).all()
    assert_connected(labels)
    clusters = segment(volume, channel_axis=-1 if channels else None, regions=False)
    assert clusters.shape == labels.shape
    assert quantize(volume, channel_axis=-1 if channels else None).shape == volume.shape


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 40, 3), (40, 1, 3), (1, 1), (2, 2, 3), (5, 7)])
def test_tiny_images(shape):
    image = np.full(shape, 100, np.uint8)
    for regions in (True, False):
        labels = segment(image, regions=regions)
        assert labels.shape == shape[:2]
        assert (labels == 0).all()
    assert np.array_equal(quantize(image), image)
    assert palette(image).shares.tolist() == [1.0]


def test_the_image_is_not_changed(image):
    before = image.copy()
    image.flags.writeable = False
    try:
        segment(image)
        quantize(image)
        palette(image)
    finally:
        image.flags.writeable = True
    assert np.array_equal(image, before)


# -- masks and labels ------------------------------------------------------------------------------


@pytest.mark.parametrize("regions", [True, False])
@pytest.mark.parametrize("start", [0, 1, 10, -5])
def test_masked_pixels_lie_below_the_first_label(image, regions, start):
    mask = np.ones((60, 80), bool)
    mask[:20, :30] = False
    labels = segment(image, mask=mask, regions=regions, start_label=start)
    assert (labels[~mask] == start - 1).all()
    assert (labels[mask] >= start).all()
    assert_ordered(labels, start)
    plain = segment(image, mask=mask, regions=regions)
    assert np.array_equal(plain + start, labels)


@pytest.mark.parametrize("regions", [True, False])
def test_what_is_masked_has_no_influence(image, regions):
    mask = np.ones((60, 80), bool)
    mask[:20, :30] = False
    other = image.copy()
    other[~mask] = 255, 0, 255
    options = {"mask": mask, "regions": regions}
    assert np.array_equal(segment(image, **options), segment(other, **options))
    ill = (image / 255).astype(np.float32)
    well = ill.copy()
    ill[~mask] = np.nan
    assert np.array_equal(segment(ill, **options), segment(well, **options))


@pytest.mark.parametrize("alpha", [False, True])
def test_hidden_pixels_are_in_no_measure_of_texture_or_edges(alpha):
    rng = np.random.default_rng(1)
    clouds = sum(
        ndimage.gaussian_filter(rng.normal(size=(120, 120, 3)), (s, s, 0)) * s for s in (2, 9)
    )
    clouds = (127 + 90 * clouds / np.abs(clouds).max()).astype(np.uint8)
    y, x = np.ogrid[:120, :120]
    mask = (y - 60) ** 2 + (x - 60) ** 2 < 45**2
    found = []
    for hidden in (clouds, 0, 255):
        image = np.where(mask[..., None], clouds, hidden).astype(np.uint8)
        image = np.dstack([image, mask * np.uint8(255)]) if alpha else image
        found.append(segment(image, mask=None if alpha else mask))
    assert found[0].max() > 3
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_a_full_mask_is_none(image):
    assert np.array_equal(segment(image, mask=np.ones((60, 80))), segment(image))


def test_alpha_is_a_mask(image):
    alpha = np.full((60, 80), 255, np.uint8)
    alpha[:20, :30] = 0
    rgba = np.dstack([image, alpha])
    for regions in (True, False):
        labels = segment(rgba, regions=regions)
        assert np.array_equal(labels, segment(image, mask=alpha > 0, regions=regions))
    shown = quantize(rgba)
    assert shown.shape == rgba.shape
    assert np.array_equal(shown[alpha == 0], rgba[alpha == 0])
    assert np.array_equal(shown[..., 3], alpha)
    assert palette(rgba).colors.shape[1] == 3


def test_regions_on_both_sides_of_a_mask_are_two():
    image = np.full((20, 41, 3), 90, np.uint8)
    mask = np.ones((20, 41), bool)
    mask[:, 20] = False
    labels = segment(image, mask=mask)
    assert labels[:, :20].max() == labels[:, :20].min()
    assert labels[:, 21:].max() == labels[:, 21:].min()
    assert labels[0, 0] != labels[0, 40]
    assert (segment(image, mask=mask, regions=False)[mask] == 0).all()


def test_regions_of_equal_size_are_numbered_as_they_are_read():
    image = np.zeros((20, 40, 3), np.uint8)
    image[:, 20:] = 200
    expected = np.repeat([[0] * 20 + [1] * 20], 20, axis=0)
    for same in (image, image[:, ::-1]):
        for n in (1, 2, 8):
            assert np.array_equal(segment(same, n_threads=n), expected)


# -- the hierarchy ---------------------------------------------------------------------------------

DETAILS = [0.05, 0.2, 0.5, 0.9, 1.0, 1.3, 2.0, 5.0, 20.0, 100.0]


def test_a_cut_is_what_segment_gives(image):
    tree = hierarchy(image)
    for detail in DETAILS:
        labels = tree.cut(detail)
        assert np.array_equal(labels, segment(image, detail=detail))
        assert tree.n_regions(detail) == labels.max() + 1
    assert np.array_equal(tree.cut(), segment(image))


def test_more_detail_is_never_fewer_regions_and_cuts_are_nested():
    image = scene(noise=14)
    tree = hierarchy(image)
    counts = [tree.n_regions(detail) for detail in DETAILS]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    for few, many in pairwise(DETAILS):
        coarse, fine = tree.cut(few), tree.cut(many)
        pairs = np.unique(np.stack([coarse.ravel(), fine.ravel()]), axis=1)
        assert pairs.shape[1] == fine.max() + 1, "a fine region lies in one coarse region"
    assert_connected(tree.cut(100.0))


@pytest.mark.parametrize("min_size", [1, 30, 200, 4000, 10**6])
def test_min_size_is_kept(min_size):
    image = scene(noise=14)
    labels = segment(image, detail=20.0, min_size=min_size)
    assert_ordered(labels)
    assert_connected(labels)
    assert np.bincount(labels.ravel()).min() >= min(min_size, labels.size)
    assert np.array_equal(labels, hierarchy(image).cut(20.0, min_size=min_size))


def test_min_size_with_a_mask_keeps_what_has_no_neighbour():
    image = scene()
    mask = np.ones((60, 80), bool)
    mask[:4, 3] = mask[3, :4] = False  # cuts off a corner of nine pixels
    labels = segment(image, mask=mask, min_size=100)
    corner = labels == labels[0, 0]
    assert corner[:3, :3].all()
    assert corner.sum() == 9, "it has joined nothing beyond the mask"
    assert np.bincount(labels[mask & ~corner]).max() > 100


def test_a_cut_changes_nothing_in_the_tree(image):
    tree = hierarchy(image)
    first = tree.cut(3.0)
    tree.cut(0.1)
    tree.cut(1.0, min_size=500)
    assert np.array_equal(tree.cut(3.0), first)


# -- the same for every number of threads ----------------------------------------------------------


@pytest.mark.parametrize("space", ["rgb", "lab", "hsv"])
@pytest.mark.parametrize("regions", [True, False])
def test_threads_change_nothing(space, regions):
    image = scene(150, 190, noise=12)
    one, two, eight = (
        segment(image, space=space, regions=regions, detail=4.0, n_threads=n) for n in (1, 2, 8)
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, eight)


def test_threads_change_neither_colours_nor_shares():
    image = scene(150, 190, noise=12)
    for n in (2, 8):
        assert np.array_equal(quantize(image, n_threads=n), quantize(image, n_threads=1))
        many, one = palette(image, n_threads=n), palette(image, n_threads=1)
        assert np.array_equal(many.colors, one.colors)
        assert np.array_equal(many.shares, one.shares)


def test_volumes_are_the_same_for_every_number_of_threads():
    volume = np.stack([scene(30, 40, noise=12, seed=s)[..., 0] for s in range(12)])
    one, two, eight = (segment(volume, channel_axis=None, n_threads=n) for n in (1, 2, 8))
    assert np.array_equal(one, two)
    assert np.array_equal(one, eight)


# -- the paper's method ----------------------------------------------------------------------------


@pytest.mark.parametrize("bandwidth", [7.0, 16.0, 24.0, 40.5])
def test_clusters_of_rgb_are_meanshift_exactly(image, bandwidth):
    labels = segment(image, bandwidth, space="rgb", regions=False)
    _, expected = fit_labels(image.reshape(-1, 3), bandwidth)
    assert np.array_equal(labels.ravel(), expected)


@pytest.mark.parametrize("bandwidth", [16.0, 30.0])
def test_clusters_of_rgb_are_algorithm_2(bandwidth):
    image = scene(14, 18)
    labels = segment(image, bandwidth, space="rgb", regions=False)
    reference = mean_shift_pp(image.reshape(-1, 3).astype(float), bandwidth)
    assert same_partition(labels, np.asarray(reference.labels))


def test_spatial_adds_the_coordinates(image):
    labels = segment(image, 24.0, space="rgb", spatial=16.0, regions=False)
    y, x = np.indices((60, 80))
    features = np.column_stack([image.reshape(-1, 3).astype(np.float32), y.ravel(), x.ravel()])
    _, expected = fit_labels(features, [24.0, 24.0, 24.0, 16.0, 16.0])
    assert np.array_equal(labels.ravel(), expected)
    assert labels.max() > segment(image, 24.0, space="rgb", regions=False).max()
    regions = segment(image, spatial=20.0)
    assert_connected(regions)


def test_values_as_they_are():
    rng = np.random.default_rng(8)
    image = rng.normal(0, 1, (20, 30, 2)) + np.array([-5.0, 1e4])
    labels = segment(image, 0.7, space=None, regions=False)
    assert np.array_equal(labels.ravel(), fit_labels(image.reshape(-1, 2), 0.7)[1])
    four = rng.normal(0, 1, (20, 30, 4))  # without a colour space the fourth band is no alpha
    labels = segment(four, 0.7, space=None, regions=False)
    assert np.array_equal(labels.ravel(), fit_labels(four.reshape(-1, 4), 0.7)[1])


def test_palette_and_quantized_image_belong_together(image):
    found, shown = palette(image, 24), quantize(image, 24)
    labels = segment(image, 24, space="rgb", regions=False)
    assert np.array_equal(found.colors[labels], shown)
    assert np.allclose(found.shares, np.bincount(labels.ravel()) / labels.size)
    assert (np.diff(found.shares) <= 0).all()
    assert found.shares.sum() == pytest.approx(1)
    assert np.abs(shown.astype(int) - image).mean() < 12


def test_every_pixel_has_the_mode_of_its_cluster(image):
    modes, labels = fit_labels(image.reshape(-1, 3), 24)
    expected = np.rint(modes.centers)[labels].reshape(image.shape)
    assert np.array_equal(quantize(image, 24), expected)


@pytest.mark.parametrize("space", ["lab", "luv", "hsv"])
def test_palettes_of_other_spaces_are_mean_colours(image, space):
    found = palette(image, space=space)
    labels = segment(image, space=space, regions=False)
    first = image[labels == 0].mean(axis=0)
    assert np.abs(found.colors[0] - first).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_colours_of_floats_stay_between_0_and_1(image, space, dtype):
    found = palette((image / 255).astype(dtype), space=space)
    assert found.colors.dtype == dtype
    assert found.colors.min() >= 0
    assert found.colors.max() <= 1
    assert np.abs(found.colors[0] * 255 - palette(image, space=space).colors[0]).max() < 1


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_colours_of_bands_are_their_means(image, channels, dtype):
    bands = image[..., :channels].astype(dtype)
    shown = quantize(bands, space=None)  # clustered in main directions, where a mode is no colour
    colours, of = np.unique(shown.reshape(-1, channels), axis=0, return_inverse=True)
    assert len(colours) > 1
    for k, colour in enumerate(colours):
        mean = bands.reshape(-1, channels)[of.ravel() == k].mean(axis=0, dtype=np.float64)
        assert np.abs(colour - mean).max() < (0.51 if dtype == np.uint8 else 1e-4)


# -- colour spaces ---------------------------------------------------------------------------------


def every_colour(dtype: type) -> np.ndarray:
    """Colours of the whole cube, and the greys."""
    axis = np.linspace(0, 255, 18).round()
    cube = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    greys = np.repeat(np.arange(256.0), 3).reshape(-1, 3)
    colours = np.vstack([cube, greys])
    return (colours / 255).astype(dtype) if dtype is not np.uint8 else colours.astype(np.uint8)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("space", ["lab", "luv"])
def test_conversion_is_that_of_scikit_image(space, dtype):
    color = pytest.importorskip("skimage.color", reason="the oracle of colour conversion")
    colours = every_colour(dtype)
    white = 255.0 if dtype is np.uint8 else 1.0
    ours = _kernel.convert_colours(colours, space, white, 1)
    convert = {"lab": color.rgb2lab, "luv": color.rgb2luv}[space]
    theirs = convert(colours[None].astype(np.float64) / white)[0]
    assert np.abs(ours - theirs).max() < 0.05


def test_hue_is_a_circle():
    """Reds on both sides of hue 0 are neighbours."""
    image = np.zeros((20, 40, 3), np.uint8)
    image[:, :20] = 230, 20, 28
    image[:, 20:] = 230, 28, 20
    assert segment(image, 8, space="hsv", regions=False).max() == 0
    image[:, 20:] = 20, 230, 28
    assert segment(image, space="hsv", regions=False).max() == 1


# -- bad input -------------------------------------------------------------------------------------

ANY = np.zeros((8, 9, 3), np.uint8)
FUNCTIONS = [segment, hierarchy, quantize, palette]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("image", "options", "words"),
    [
        (np.zeros((0, 9, 3), np.uint8), {}, "empty"),
        (np.zeros((8, 0), np.uint8), {}, "empty"),
        (np.zeros((8, 9, 0), np.uint8), {}, "empty"),
        (np.zeros(5, np.uint8), {}, "dimensions"),
        (np.uint8(5), {}, "shape"),
        (np.zeros((2, 2, 2, 2, 3), np.uint8), {}, "dimensions"),
        (np.zeros((2, 2, 2, 3), np.uint8), {"channel_axis": None}, "dimensions"),
        (ANY, {"channel_axis": 3}, "channel_axis"),
        (ANY, {"channel_axis": -4}, "channel_axis"),
        (ANY, {"mask": np.ones((9, 8), bool)}, "mask"),
        (ANY, {"mask": np.ones((8, 9, 3), bool)}, "mask"),
        (ANY, {"mask": np.zeros((8, 9), bool)}, "no pixel"),
        (np.dstack([ANY, ANY[..., 0]]), {}, "no pixel"),
        (np.where(np.indices((8, 9)).sum(0)[..., None] == 5, np.nan, ANY / 255), {}, r"\(0, 5\)"),
        (np.where(np.indices((8, 9)).sum(0)[..., None] == 5, np.inf, ANY / 255), {}, r"\(0, 5\)"),
        (ANY + 1.5, {}, "between 0 and 1"),
        (ANY - 0.5, {}, "between 0 and 1"),
        (ANY.astype(np.int16) - 1, {}, "between 0 and 65,535 for a colour space, got -1 to -1"),
        (ANY + np.int32(100_000), {}, "got 100,000 to 100,000; scale it, or take space=None"),
        (ANY * 1j, {}, "complex"),
        (np.full((8, 9), "red"), {}, "dtype"),
        (np.full((8, 9), None), {}, "dtype"),
        ([[1, 2], [3]], {}, "array of numbers"),
        (ANY, {"space": "cmyk"}, "space"),
        (ANY, {"space": "LAB"}, "space"),
        (ANY, {"bandwidth": 0}, "bandwidth"),
        (ANY, {"bandwidth": -3.0}, "bandwidth"),
        (ANY, {"bandwidth": float("nan")}, "bandwidth"),
        (ANY, {"n_threads": 0}, "n_threads"),
    ],
)
def test_bad_images_get_clear_errors(function, image, options, words):
    with pytest.raises(InvalidInputError, match=words):
        function(image, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"detail": 0}, "detail"),
        ({"detail": -1.0}, "detail"),
        ({"detail": float("nan")}, "detail"),
        ({"detail": float("inf")}, "detail"),
        ({"min_size": 0}, "min_size"),
        ({"min_size": -4}, "min_size"),
        ({"detail": "high"}, "detail must be a positive number, got 'high'"),
        ({"detail": None}, "detail must be a positive number, got None"),
        ({"detail": True}, "detail"),
        ({"min_size": "small"}, "min_size must be a whole number from 1, got 'small'"),
        ({"min_size": 2.5}, "min_size"),
    ],
)
def test_bad_options_of_regions(options, words):
    with pytest.raises(InvalidInputError, match=words):
        segment(ANY, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spatial": 0.0}, "spatial must be a positive number, got 0.0"),
        ({"spatial": -1}, "spatial must be a positive number, got -1"),
        ({"spatial": "near"}, "spatial must be a positive number, got 'near'"),
        ({"start_label": 1.5}, r"start_label must be a whole number from .* got 1.5"),
        ({"start_label": "one"}, "start_label"),
        ({"start_label": 2**31}, "start_label"),
    ],
)
@pytest.mark.parametrize("regions", [True, False])
def test_bad_options_of_segment(options, words, regions):
    with pytest.raises(InvalidInputError, match=words):
        segment(ANY, regions=regions, **options)


def test_bad_cuts():
    tree = hierarchy(ANY)
    with pytest.raises(InvalidInputError, match="detail"):
        tree.cut(0)
    with pytest.raises(InvalidInputError, match="detail"):
        tree.n_regions(-1)
    with pytest.raises(InvalidInputError, match="min_size"):
        tree.cut(min_size=0)


def test_errors_are_value_errors():
    with pytest.raises(ValueError, match="empty"):
        segment(np.zeros((0, 3)))


def test_the_names_are_public():
    for name in ("segment", "hierarchy", "quantize", "palette", "Hierarchy", "Palette"):
        assert name in meanshiftpp.__all__
