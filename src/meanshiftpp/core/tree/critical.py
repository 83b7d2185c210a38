"""The critical values of a valley, from simulated data without clusters.

A valley counts if it is deeper, in standard errors, than `factor * sqrt(2 ln pairs)`, where pairs
is the number of pairs of windows that could have made it, and deeper than `least`. The factor is
`line` where the data is a line, because noise cuts a line at one window. It falls with `slope` to
`plane` as the dimension grows, because noise must then be low along a whole front. The factors hold
for windows of ten rows; the kernel raises them for lighter windows and lowers them for heavier.

``python -m benchmarks.calibration`` derives such values, rounded up to 0.01. Those below were
rounded by hand from its output, most of them to multiples of 0.05, and then checked by the rates of
false splits that it measures with them. ``--write`` replaces them by the derived values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# n_features: line, plane, slope, least. The last row holds for all higher numbers.
CRITICAL = {
    1: (1.45, 1.45, 1.0, 2.3),
    2: (1.45, 0.95, 1.0, 2.0),
    3: (1.45, 0.9, 0.47, 2.1),
    4: (1.45, 0.75, 0.47, 2.0),
    5: (1.45, 0.7, 0.5, 2.0),
}


def critical_values(n_features: int) -> NDArray[np.float64]:
    """Return line, plane, slope and least for a number of features."""
    return np.array(CRITICAL[min(n_features, max(CRITICAL))])
