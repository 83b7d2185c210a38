"""Helpers for tests of `meanshiftpp segment`: a small picture, and a way to run the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tifffile
from typer.testing import CliRunner

from meanshiftpp.apps.cli.app import app


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["segment", *(str(argument) for argument in arguments)])
    return result.exit_code, result.stdout, result.stderr


def left_over(folder: Path) -> list[str]:
    """Return the temporary files that are left in a folder."""
    return [path.name for path in folder.rglob(".*")]


def image(seed: int = 0) -> np.ndarray:
    values = np.full((60, 80, 3), (190.0, 200.0, 180.0))
    values[36:] = 70, 60, 50
    values[15:45, 12:36] = 180, 40, 30
    values += np.random.default_rng(seed).normal(0, 5, values.shape)
    return values.clip(0, 255).round().astype(np.uint8)


def geotiff(path: Path, values: np.ndarray, **tags: object) -> Path:
    """Write a .tif of bands (channels last) with the "no data" tag of GDAL."""
    extra = [(42113, "s", 0, str(tags.pop("nodata")), True)] if "nodata" in tags else []
    layout = {"photometric": "minisblack", "planarconfig": "contig"} if values.ndim == 3 else {}
    tifffile.imwrite(path, values, extratags=extra, metadata=None, **layout | tags)
    return path
