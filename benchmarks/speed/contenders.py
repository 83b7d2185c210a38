"""What is run: a function for each contender, from an array and a case to labels.

Peers get the settings a careful user would choose: the true number of clusters, a radius that
suits the density, all cores where they can use them. They are imported when first run, each in its
own process, and one that is not installed is reported as absent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.data import Data

OURS, FLOOR = "meanshiftpp", "X.sum()"


@dataclass(frozen=True)
class Case:
    """What a contender is asked to do."""

    data: Data
    bandwidth: float = 1.0
    threads: int | None = None
    rows: int | None = None  # only the first so many

    def __str__(self) -> str:
        head = "" if self.rows is None else f"the first {self.rows:,} rows of "
        return f"{head}{self.data}, h={self.bandwidth:g}"


NOTHING = Case(Data(0))  # of what starts without data


def ours(X: NDArray[Any], case: Case) -> NDArray[Any]:
    from meanshiftpp import MeanShiftPP

    return MeanShiftPP(case.bandwidth, n_jobs=case.threads).fit_predict(X)


def kernel(X: NDArray[Any], case: Case) -> NDArray[Any]:
    """Run the native part with the checks of its arguments, without the estimator around it."""
    from meanshiftpp.core.modes import fit_labels

    return fit_labels(X, case.bandwidth, n_threads=case.threads)[1]


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
    """Give the radius in which a point two deviations off a centre has ten neighbours."""
    d = data.d
    density = n / data.k * (2 * math.pi) ** (-d / 2) * math.exp(-2)
    ball = math.pi ** (d / 2) / math.gamma(d / 2 + 1)
    return float((10 / (density * ball)) ** (1 / d))


CONTENDERS: dict[str, Callable[[NDArray[Any], Case], NDArray[Any] | None]] = {
    OURS: ours,
    FLOOR: floor,
    "kernel": kernel,
    "KMeans": kmeans,
    "DBSCAN": dbscan,
    "fast-hdbscan": fast_hdbscan,
    "HDBSCAN": hdbscan,
    "MeanShift": mean_shift,
}


def absent(contender: str) -> str | None:
    """Say why a contender cannot run here, if it cannot."""
    if contender == "fast-hdbscan" and find_spec("fast_hdbscan") is None:
        return "not installed (pip install --group bench)"
    return None
