from __future__ import annotations

import numpy as np
import pytest
from tests.images.scenes import scene


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return scene()
