"""The contenders: a function for each, from points and a request to labels.

Each method runs with its defaults on the points as they are. DBSCAN has no default radius that
could suit all data, so it takes the knee of the curve of distances to neighbours. KMeans starts 10
times and GaussianMixture 3 times, from a fixed seed; the best start counts. MeanShift starts from
bins instead of every point, which takes minutes for some thousands. A method is imported when it
first runs. One that cannot run is reported with the reason, and so are its sizes: from `max_rows`
on, a method takes hours or more memory than there is, and it is not started.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version as package_version
from importlib.util import find_spec
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.machine import limit_memory
from benchmarks.common.result_cache import code_version

LAYERS = ("_support", "backends", "core", "bandwidth", "estimators")  # our methods use these
TIMED_BANDWIDTH = 1.0  # suits the unit Gaussians of the times

Points = NDArray[np.floating]
Labels = NDArray[np.integer]


class Request(NamedTuple):
    """The options of one call, which every method receives with the points."""

    clusters: int | None = None
    threads: int | None = 1  # None for all cores


# -- ours ------------------------------------------------------------------------------------------


def ours(X: Points, request: Request) -> Labels:
    from meanshiftpp import MeanShiftPP

    return MeanShiftPP(n_jobs=request.threads).fit_predict(X)


def ours_and_noise(X: Points, request: Request) -> Labels:
    from meanshiftpp import MeanShiftPP

    return MeanShiftPP(cluster_all=False, n_jobs=request.threads).fit_predict(X)


def ours_at_choice(X: Points, request: Request) -> Labels:
    from meanshiftpp import MeanShiftPP, select_bandwidth

    bandwidth = select_bandwidth(X, n_threads=request.threads)
    return MeanShiftPP(bandwidth, n_jobs=request.threads).fit_predict(X)


def ours_at_bandwidth(X: Points, request: Request) -> Labels:
    from meanshiftpp import MeanShiftPP

    return MeanShiftPP(TIMED_BANDWIDTH, n_jobs=request.threads).fit_predict(X)


def ours_cut(X: Points, request: Request) -> Labels:
    from meanshiftpp import MeanShiftPP

    model = MeanShiftPP(n_jobs=request.threads).fit(X).cut(n_clusters=request.clusters)
    labels: Labels = model.labels_
    return labels


# -- peers without the number of clusters ----------------------------------------------------------


def plscan(X: Points, request: Request) -> Labels:
    from fast_hdbscan import PLSCAN

    return np.asarray(PLSCAN().fit_predict(X))


def fast_plscan(X: Points, request: Request) -> Labels:
    from fast_plscan import PLSCAN

    return np.asarray(PLSCAN(num_threads=request.threads).fit_predict(X))


def fast_hdbscan(X: Points, request: Request) -> Labels:
    from fast_hdbscan import HDBSCAN

    return np.asarray(HDBSCAN().fit_predict(X))


def hdbscan(X: Points, request: Request) -> Labels:
    from sklearn.cluster import HDBSCAN

    return np.asarray(HDBSCAN(n_jobs=request.threads or -1, copy=True).fit_predict(X))


def dbscan(X: Points, request: Request) -> Labels:
    from sklearn.cluster import DBSCAN

    neighbours = 2 * X.shape[1]
    model = DBSCAN(knee_radius(X, neighbours), min_samples=neighbours, n_jobs=request.threads or -1)
    return np.asarray(model.fit_predict(X))


def knee_radius(X: Points, neighbours: int) -> float:
    """Return the distance to a neighbour at the knee of its curve over all points.

    The knee of the sorted distances is the point farthest below the line from the first to the
    last one. The point itself counts as a neighbour, as it does in DBSCAN.
    """
    from scipy.spatial import cKDTree

    distances = np.sort(cKDTree(X).query(X, k=[min(neighbours, len(X))])[0][:, 0])
    line = np.linspace(distances[0], distances[-1], len(distances))
    radius = float(distances[np.argmax(line - distances)])
    positive = distances[distances > 0]
    return radius or (float(positive[0]) if len(positive) else 1.0)  # a radius of 0 is an error


def mean_shift(X: Points, request: Request) -> Labels:
    from sklearn.cluster import MeanShift

    model = MeanShift(bin_seeding=True, n_jobs=request.threads or -1)
    return np.asarray(model.fit_predict(X))


# -- peers with the number of clusters -------------------------------------------------------------


def genie(X: Points, request: Request) -> Labels:
    from genieclust import Genie

    return np.asarray(Genie(n_clusters=request.clusters).fit_predict(X))


def lumbermark(X: Points, request: Request) -> Labels:
    from lumbermark import Lumbermark

    return np.asarray(Lumbermark(n_clusters=request.clusters).fit_predict(X))


def gaussian_mixture(X: Points, request: Request) -> Labels:
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(request.clusters or 1, n_init=3, random_state=0)
    return np.asarray(model.fit_predict(X))


def kmeans(X: Points, request: Request) -> Labels:
    from sklearn.cluster import KMeans

    return np.asarray(KMeans(request.clusters or 1, n_init=10, random_state=0).fit_predict(X))


def ward(X: Points, request: Request) -> Labels:
    from sklearn.cluster import AgglomerativeClustering

    return np.asarray(AgglomerativeClustering(request.clusters, linkage="ward").fit_predict(X))


# -- the list --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A clustering method."""

    key: str  # its name on the command line
    name: str
    call: Callable[[Points, Request], Labels]
    package: str
    knows_count: bool = False  # it is told the number of clusters
    rejects: bool = False  # some points get the label -1
    max_rows: int | None = None

    @property
    def own(self) -> bool:
        return self.package == "meanshiftpp"

    @cached_property
    def title(self) -> str:
        """The name with the package and its version, since several packages share names."""
        if self.own:
            return self.name
        release = "" if self.reason_absent else f" {package_version(self.package)}"
        return f"{self.name} ({self.package}{release})"

    @cached_property
    def version(self) -> str:
        """The version of the package and, for our methods, of the code."""
        return package_version(self.package) + (f", {code_version(*LAYERS)}" if self.own else "")

    @property
    def reason_absent(self) -> str | None:
        """Why the method cannot run here, or None if it can."""
        if find_spec(MODULES.get(self.package, self.package.replace("-", "_"))) is None:
            return f"not installed (pip install {self.package})"
        return None

    def reason_skipped(self, rows: int) -> str | None:
        """Why the method is not run with so many rows, or None if it is."""
        if self.max_rows is not None and rows > self.max_rows:
            return f"not run: more than {self.max_rows:,} rows"
        return None


MODULES = {"scikit-learn": "sklearn"}  # names other than that of the package
SMALL, MEDIUM, LARGE = 20_000, 200_000, 2_000_000  # rows, for `max_rows`
OURS, SKLEARN = "meanshiftpp", "scikit-learn"
_ALL = (
    Method("ours", "MeanShiftPP()", ours, OURS),
    Method("noise", "MeanShiftPP(cluster_all=False)", ours_and_noise, OURS, rejects=True),
    Method("chosen", "MeanShiftPP(select_bandwidth(X))", ours_at_choice, OURS),
    Method("plscan", "PLSCAN", plscan, "fast-hdbscan", rejects=True, max_rows=LARGE),
    Method("fast-plscan", "PLSCAN", fast_plscan, "fast-plscan", rejects=True, max_rows=LARGE),
    Method("fast-hdbscan", "HDBSCAN", fast_hdbscan, "fast-hdbscan", rejects=True, max_rows=LARGE),
    Method("hdbscan", "HDBSCAN", hdbscan, SKLEARN, rejects=True, max_rows=SMALL),
    Method("dbscan", "DBSCAN, knee", dbscan, SKLEARN, rejects=True, max_rows=SMALL),
    Method("meanshift", "MeanShift, bins", mean_shift, SKLEARN, max_rows=SMALL),
    Method("cut", "MeanShiftPP().cut(k)", ours_cut, OURS, knows_count=True),
    Method("genie", "Genie", genie, "genieclust", knows_count=True, max_rows=LARGE),
    Method("lumbermark", "Lumbermark", lumbermark, "lumbermark", knows_count=True, max_rows=LARGE),
    Method("gmm", "GaussianMixture", gaussian_mixture, SKLEARN, knows_count=True, max_rows=MEDIUM),
    Method("kmeans", "KMeans", kmeans, SKLEARN, knows_count=True),
    Method("ward", "Ward linkage", ward, SKLEARN, knows_count=True, max_rows=SMALL),
)
METHODS = {method.key: method for method in _ALL}
AT_BANDWIDTH = Method(  # only timed: the base of the cost of the tree
    "bandwidth", f"MeanShiftPP({TIMED_BANDWIDTH:g})", ours_at_bandwidth, OURS
)


def labels_of(key: str, X: Points, request: Request) -> Labels:
    """Run a method by its name, so that another process can be asked to do it."""
    method = AT_BANDWIDTH if key == AT_BANDWIDTH.key else METHODS[key]
    return method.call(X, request)


def timed_labels(key: str, X: Points, request: Request) -> tuple[Labels, float]:
    """Run a method by its name; return the labels and the seconds of CPU time."""
    limit_memory()
    warm_up(key)
    start = process_time()
    labels = labels_of(key, X, request)
    return labels, process_time() - start


@cache
def warm_up(key: str) -> None:
    """Run a method on a few points, so that imports and compilation are not timed."""
    labels_of(key, np.random.default_rng(0).normal(size=(200, 2)), Request(2))
