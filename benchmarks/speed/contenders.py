"""The contenders: a function for each, from an array and a case to labels.

Peers run with the settings of a careful user: the true number of clusters, a radius that suits the
density, all cores if they can use them. Each is imported when it first runs, in a separate
process; one that is not installed is reported as absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.synthetic import Data

OURS, FLOOR = "meanshiftpp", "X.sum()"
SWEEP, FITS, DEFAULT_SWEEP, AUTOMATIC = "sweep of 50", "50 fits", "sweep()", "select_bandwidth"
SWEPT = np.linspace(0.5, 4, 50)  # the bandwidths of SWEEP and FITS
FEW_SWEEP, FEW_FITS, JOINED = "sweep of 3", "3 fits", "MeanShiftPP()"
FEW_SWEPT = (0.5, 1.25, 3.125)  # the bandwidths of FEW_SWEEP and FEW_FITS: none divides another


@dataclass(frozen=True)
class Case:
    """Data and parameters of a run."""

    data: Data
    bandwidth: float = 1.0
    threads: int | None = None
    rows: int | None = None  # use only the first rows

    def __str__(self) -> str:
        head = "" if self.rows is None else f"the first {self.rows:,} rows of "
        return f"{head}{self.data}, h={self.bandwidth:g}"


NO_CASE = Case(Data(0))  # for measurements without data


def ours(X: NDArray[Any], case: Case) -> NDArray[Any]:
    from meanshiftpp import MeanShiftPP

    return MeanShiftPP(case.bandwidth, n_jobs=case.threads).fit_predict(X)


def kernel(X: NDArray[Any], case: Case) -> NDArray[Any]:
    """Bin, search and label, with the checks of the arguments but without the estimator."""
    from benchmarks.common.clustering import fit_labels

    return fit_labels(X, case.bandwidth, n_threads=case.threads)[1]


def sweep_of_50(X: NDArray[Any], case: Case) -> None:
    """Cluster at fifty bandwidths, without labels."""
    from meanshiftpp import sweep

    sweep(X, SWEPT, n_threads=case.threads)


def fits_of_50(X: NDArray[Any], case: Case) -> None:
    """Cluster at the same bandwidths, one by one."""
    from meanshiftpp import Grid, seek

    for h in SWEPT.tolist():
        seek(Grid.from_points(X, h, n_threads=case.threads), n_threads=case.threads)


def sweep_of_3(X: NDArray[Any], case: Case) -> None:
    """Cluster at three unrelated bandwidths, without labels."""
    from meanshiftpp import sweep

    sweep(X, FEW_SWEPT, n_threads=case.threads)


def fits_of_3(X: NDArray[Any], case: Case) -> None:
    """Cluster at the same bandwidths, one by one."""
    from meanshiftpp import Grid, seek

    for h in FEW_SWEPT:
        seek(Grid.from_points(X, h, n_threads=case.threads), n_threads=case.threads)


def default_sweep(X: NDArray[Any], case: Case) -> None:
    from meanshiftpp import sweep

    sweep(X, n_threads=case.threads)


def automatic(X: NDArray[Any], case: Case) -> NDArray[Any]:
    """Choose the bandwidth with `select_bandwidth`."""
    from meanshiftpp import MeanShiftPP, select_bandwidth

    bandwidth = select_bandwidth(X, n_threads=case.threads)
    return MeanShiftPP(bandwidth, n_jobs=case.threads).fit_predict(X)


def joined(X: NDArray[Any], case: Case) -> NDArray[Any]:
    """Choose the bandwidth and the clusters with the tree of a sample."""
    from meanshiftpp import MeanShiftPP

    return MeanShiftPP(n_jobs=case.threads).fit_predict(X)


def floor(X: NDArray[Any], case: Case) -> None:
    """Read the data once."""
    X.sum()


def kmeans(X: NDArray[Any], case: Case) -> NDArray[Any]:
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(case.data.k, n_init=1, random_state=0).fit_predict(X))


def mean_shift(X: NDArray[Any], case: Case) -> NDArray[Any]:
    from sklearn.cluster import MeanShift

    return np.asarray(MeanShift(bandwidth=2, bin_seeding=True).fit_predict(X))


def hdbscan(X: NDArray[Any], case: Case) -> NDArray[Any]:
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(max(5, len(X) // 100), min_samples=10, n_jobs=-1, copy=True)
    return np.asarray(model.fit_predict(X))


def fast_hdbscan(X: NDArray[Any], case: Case) -> NDArray[Any]:
    from fast_hdbscan import HDBSCAN

    model = HDBSCAN(min_cluster_size=max(5, len(X) // 100), min_samples=10)
    return np.asarray(model.fit_predict(X))


def dbscan(X: NDArray[Any], case: Case) -> NDArray[Any]:
    from sklearn.cluster import DBSCAN

    model = DBSCAN(_radius(len(X), case.data), min_samples=10, n_jobs=-1)
    return np.asarray(model.fit_predict(X))


def _radius(n: int, data: Data) -> float:
    """Return the radius with ten neighbours at two standard deviations from a centre."""
    d = data.d
    density = n / data.k * (2 * math.pi) ** (-d / 2) * math.exp(-2)
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    return float((10 / (density * ball)) ** (1 / d))


CONTENDERS: dict[str, Callable[[NDArray[Any], Case], NDArray[Any] | None]] = {
    OURS: ours,
    FLOOR: floor,
    "kernel": kernel,
    SWEEP: sweep_of_50,
    FITS: fits_of_50,
    DEFAULT_SWEEP: default_sweep,
    AUTOMATIC: automatic,
    FEW_SWEEP: sweep_of_3,
    FEW_FITS: fits_of_3,
    JOINED: joined,
    "KMeans": kmeans,
    "DBSCAN": dbscan,
    "fast-hdbscan": fast_hdbscan,
    "HDBSCAN": hdbscan,
    "MeanShift": mean_shift,
}


def reason_absent(contender: str) -> str | None:
    """Return why a contender cannot run here, or None if it can."""
    if contender == "fast-hdbscan" and find_spec("fast_hdbscan") is None:
        return "not installed (pip install --group bench)"
    return None
