"""Label images keep the axes, the pixel size and the unit of a microscope's .tif."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile

from meanshiftpp import picture
from meanshiftpp.images.spacing import Spacing

SIZES = {"X": 0.25, "Y": 0.5, "Z": 1.5}


def values(axes: str) -> np.ndarray:
    lengths = {"C": 2, "S": 3, "Z": 4, "Y": 30, "X": 40}
    shape = [lengths[axis] for axis in axes]
    return np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)


def rewritten(path, n_labels: int = 9) -> tuple[Spacing, Spacing, np.ndarray]:
    """Return the spacing of a picture, that of its label image, and the labels read back."""
    photo = picture.read(path)
    labels = np.arange(np.prod(photo.shape)).reshape(photo.shape) % n_labels
    labels.flat[-1] = n_labels
    out = path.with_name("labels.tif")
    picture.write_labels(out, labels, photo.place, photo.spacing)
    read = picture.read(out)
    assert np.array_equal(read.values, labels)
    return photo.spacing, read.spacing, read.values


@pytest.mark.parametrize("axes", ["YX", "ZYX", "CYX", "ZCYX", "YXS"])
@pytest.mark.parametrize("unit", ["µm", "nm"])
def test_ome(tmp_path, axes, unit):
    metadata: dict = {"axes": axes}
    for axis in set(axes) & set(SIZES):
        metadata |= {f"PhysicalSize{axis}": SIZES[axis], f"PhysicalSize{axis}Unit": unit}
    path = tmp_path / "a.ome.tif"
    photometric = "rgb" if "S" in axes else "minisblack"
    tifffile.imwrite(path, values(axes), metadata=metadata, photometric=photometric)
    source, labels, _ = rewritten(path)
    assert source == labels
    spatial = axes.replace("C", "").replace("S", "")
    sizes = {axis: SIZES[axis] for axis in spatial}
    assert source == Spacing("OME", spatial, sizes, dict.fromkeys(sizes, unit))


def test_a_time_series_is_a_volume_with_a_warning(tmp_path):
    path = tmp_path / "a.ome.tif"
    tifffile.imwrite(path, values("ZYX"), metadata={"axes": "TYX"}, photometric="minisblack")
    with pytest.warns(UserWarning, match=r"time series \(axes TYX\) is segmented as a"):
        assert picture.read(path).shape == (4, 30, 40)


@pytest.mark.parametrize("axes", ["YX", "ZYX", "CYX"])
@pytest.mark.parametrize("unit", ["um", "\\u00B5m", "nm"])
def test_imagej(tmp_path, axes, unit):
    metadata = {"axes": axes, "unit": unit} | ({"spacing": 1.5} if "Z" in axes else {})
    options = {"imagej": True, "resolution": (4, 2), "metadata": metadata}
    tifffile.imwrite(tmp_path / "a.tif", values(axes), **options)
    source, labels, _ = rewritten(tmp_path / "a.tif")
    assert source == labels
    assert source.sizes == {axis: SIZES[axis] for axis in SIZES if axis in axes}
    assert source.kind == "ImageJ"
    assert source.units["X"] == unit.replace("\\u00B5", "µ")


def test_a_stack_of_imagej_without_a_kind_has_slices(tmp_path):
    description = "ImageJ=1.53\nimages=4\n"
    options = {"photometric": "minisblack", "metadata": None}
    tifffile.imwrite(tmp_path / "a.tif", values("ZYX"), description=description, **options)
    source, labels, _ = rewritten(tmp_path / "a.tif")
    assert source == labels
    assert (source.kind, source.axes) == ("ImageJ", "ZYX")


def test_axes_that_label_images_do_not_have_are_left_out(tmp_path):
    metadata = {"axes": "QYX", "PhysicalSizeX": 0.25}
    tifffile.imwrite(tmp_path / "a.ome.tif", values("ZYX"), metadata=metadata)
    source, labels, read = rewritten(tmp_path / "a.ome.tif")
    assert (source, labels) == (None, None)
    assert read.shape == (4, 30, 40)


def test_two_axes_of_the_same_name(tmp_path):
    options = {"photometric": "minisblack", "metadata": {"axes": "QQYX"}}
    tifffile.imwrite(tmp_path / "a.tif", values("ZYX")[None], **options)
    assert np.array_equal(picture.read(tmp_path / "a.tif").values, values("ZYX"))


def test_more_labels_than_imagej_has_are_written_as_ome(tmp_path):
    options = {"imagej": True, "resolution": (4, 2), "metadata": {"axes": "YX", "unit": "nm"}}
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((300, 300), np.uint16), **options)
    source, labels, read = rewritten(tmp_path / "a.tif", 70_000)
    assert read.dtype == np.uint32
    assert (labels.kind, labels.sizes, labels.units) == ("OME", source.sizes, source.units)


@pytest.mark.parametrize("unit", ["INCH", "CENTIMETER"])
def test_plain_tiff(tmp_path, unit):
    options = {"resolution": (40_000, 20_000), "resolutionunit": unit}
    tifffile.imwrite(tmp_path / "a.tif", values("YX"), **options)
    source, labels, _ = rewritten(tmp_path / "a.tif")
    assert source == labels
    sizes = {"X": 1 / 40_000, "Y": 1 / 20_000}
    assert source == Spacing("TIFF", "YX", sizes, dict.fromkeys("XY", unit))


def test_files_without_a_size_have_no_spacing(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", values("YX"))
    assert rewritten(tmp_path / "a.tif")[:2] == (None, None)
    wrong = "<?xml version='1.0'?><OME xmlns='http://www.openmicroscopy.org/Schemas/OME/2016-06'/>"
    tifffile.imwrite(tmp_path / "b.tif", values("YX"), description=wrong, metadata=None)
    assert picture.read(tmp_path / "b.tif").spacing is None
