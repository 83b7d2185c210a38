"""A running studio, a tab of it, and a small picture."""

import numpy as np
import pytest
from tests.apps.studio.studio_server import running


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with running(tmp_path_factory.mktemp("studio"), "--max-upload", "8") as studio:
        yield studio


@pytest.fixture
def tab(studio):
    with studio.tab() as tab:
        yield tab


@pytest.fixture(scope="module")
def photo():
    """Colour patches with noise, so that regions and clusters have imperfect borders."""
    rng = np.random.default_rng(3)
    patches = rng.integers(0, 256, (6, 9, 3)).repeat(30, 0).repeat(30, 1)
    return (patches + rng.normal(0, 9, patches.shape)).clip(0, 255).astype(np.uint8)
