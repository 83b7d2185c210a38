"""Values that look like "no data" but are not declared: a warning names them, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

rasterio = pytest.importorskip("rasterio")

from tests.apps.cli.command_line import run  # noqa: E402

from meanshiftpp import picture  # noqa: E402
from meanshiftpp.images.no_data import undeclared_no_data  # noqa: E402
from meanshiftpp.images.picture import PictureWarning  # noqa: E402

FIELD = np.random.default_rng(0).normal(3000, 400, (80, 120))


def band(value: float, share: float = 0.03, dtype: str = "float32") -> np.ndarray:
    """Return a field in which a share of the pixels has a value."""
    values = FIELD.copy()
    values.flat[: int(values.size * share)] = value
    return values.astype(dtype)


def raster(path: Path, *bands: np.ndarray, place: bool = True) -> Path:
    where = {"crs": "EPSG:32633", "transform": rasterio.Affine(10, 0, 5e5, 0, -10, 5e6)}
    size = {"height": 80, "width": 120, "count": len(bands), "dtype": bands[0].dtype}
    with rasterio.open(path, "w", "GTiff", **size, **(where if place else {})) as file:
        file.write(np.stack(bands))
    return path


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (-9999, "float32", "-9999"),
        (-9999, "int16", "-9999"),
        (-32768, "int16", "-32768"),
        (65535, "uint16", "65535"),
        (-9999.5, "float64", "-9999.5"),
        (-3.4028234663852886e38, "float32", "-3.4028234663852886e+38"),
        (1e20, "float64", "1e+20"),
    ],
)
@pytest.mark.parametrize("share", [0.002, 0.03, 0.9])
def test_a_value_far_from_the_others_is_named(value, dtype, text, share):
    pixels = np.stack([FIELD.astype(dtype), band(value, share, dtype)], axis=-1).reshape(-1, 2)
    found = undeclared_no_data("a.tif", pixels)
    assert found is not None
    assert found.startswith(f"a.tif: {text} is the value of ")
    assert found.endswith(f"rio edit-info --nodata={text} a.tif")


ORDINARY = {
    "black border": band(0),
    "16-bit black border": band(0, 0.3, "uint16"),
    "bytes": np.where(FIELD > 3500, 255, FIELD / 20).astype("uint8"),
    "bytes with a border": np.where(FIELD > 3500, 0, 200).astype("uint8"),
    "saturated": np.minimum(FIELD * 16, 65535).astype("uint16"),
    "a few outliers": band(-9999, 0.0005),
    "classes": np.where(FIELD > 3000, 1, 200).astype("int16"),
    "constant": np.full((80, 120), 7.0),
    "all NaN": np.full((80, 120), np.nan),
    "sea level": np.maximum(FIELD - 3000, 1),
    "two sides": np.where(FIELD > 3000, FIELD, -FIELD),
    "log-normal": np.exp(FIELD / 400),
}


def test_masked_pixels_do_not_count():
    pixels = band(-9999).reshape(-1, 1)
    assert undeclared_no_data("a.tif", pixels) is not None
    assert undeclared_no_data("a.tif", pixels, pixels[:, 0] != -9999) is None


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_values_are_not(name):
    assert undeclared_no_data("a.tif", ORDINARY[name].reshape(-1, 1)) is None


@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_only_maps_are_examined(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PictureWarning)
        picture.read(raster(tmp_path / "a.tif", band(65535, dtype="uint16"), place=False))
    with pytest.warns(PictureWarning, match=r"b\.tif: 65535 is the value of 3 %"):
        picture.read(raster(tmp_path / "b.tif", band(65535, dtype="uint16")))


@pytest.mark.parametrize(
    "command", [("segment", "-o", "a.gpkg"), ("segment", "-o", "a.png"), ("cluster",), ("sweep",)]
)
def test_every_command_warns_until_the_value_is_declared(tmp_path, command):
    file = raster(tmp_path / "dem.tif", band(-9999))
    output = [str(tmp_path / each) if each.startswith("a.") else each for each in command[1:]]
    code, _, err = run(command[0], file, *output)
    assert code == 0
    assert f"{file}: -9999 is the value of 3 % of the pixels" in " ".join(err.split())
    tool = Path(sys.executable).with_name("rio")
    subprocess.run([tool, "edit-info", "--nodata=-9999", file], check=True)
    code, _, err = run(command[0], file, *output)
    assert code == 0
    assert "-9999" not in err
