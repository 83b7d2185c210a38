"""How good and how large clusters are: a score for held-out points, and a table of profiles."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from meanshiftpp._support.checks import Weights
from meanshiftpp._support.devices import to_host
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.profile import profile_of_points
from meanshiftpp.core.scale import observed_rows
from meanshiftpp.estimators.base import (
    Estimator,
    checked_points,
    checked_weight,
    column_names,
    columns_named,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_FRAMES = ("pandas", "polars")


def _has_bandwidth(estimator: Any) -> bool:
    """Return True, or raise: a score compares bandwidths."""
    if estimator.bandwidth is None:
        raise AttributeError("score compares bandwidths; set a bandwidth")
    return True


class Evaluation(Estimator):
    """The methods of `MeanShiftPP` that evaluate a fit."""

    n_jobs: int | None
    _modes: Any
    predict: Any

    @available_if(_has_bandwidth)  # type: ignore[untyped-decorator]
    @columns_named
    def score(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log density at points, by the windows of the fitted grid.

        Only models with a bandwidth have a score.

        For points that were not in `fit`, a higher score means a bandwidth that describes the data
        better, so `GridSearchCV` and `cross_val_score` can compare bandwidths. The score of the
        points of `fit` themselves always favours small bandwidths.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The points.
        y : ignored
            For scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points in the mean.

        Returns
        -------
        score : float
            The mean of the natural logarithms, always finite.
        """
        check_is_fitted(self, "grid_")
        points = checked_points(self, X, reset=False)
        weight = checked_weight(sample_weight, points)
        modes = self._modes
        values = _log_density(modes.grid, modes.resolution, points, self.n_jobs)
        return float(np.average(values, weights=None if weight is None else to_host(weight.values)))

    @columns_named
    def describe(self, X: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Describe the clusters of points: size, share, and the values of each feature.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            The points, those of `fit` or others; `predict` labels them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, not negative.

        Returns
        -------
        table : DataFrame or dict of ndarray
            A row for each cluster, the heaviest first: label, size, share, the centre of each
            feature under its name, and its mean, standard deviation, minimum and maximum with the
            suffixes _mean, _std, _min and _max; minimum and maximum of a cluster without points
            are NaN. A data frame of pandas or polars if `X` is one.
        """
        fitted = self._snapshot()
        labels = to_host(fitted.predict(X))
        points = checked_points(fitted, X, reset=False)
        weight = checked_weight(sample_weight, points)
        return _table(fitted._modes, X, to_host(points), labels, weight)


def _log_density(
    grid: Grid, resolution: int, points: NDArray[Any], n_jobs: int | None
) -> NDArray[np.float64]:
    """Return the logarithm of the density at each point: always finite.

    A window without points would make the score of a fold infinite, so one point more is spread
    around all the data, with a Laplace density in each feature.
    """
    from meanshiftpp.estimators.density import GridDensity  # seldom needed

    windows = GridDensity.from_grid(grid, resolution=resolution).set_params(n_jobs=n_jobs)
    near = to_host(windows.score_samples(points))
    cells = grid.to("cpu")
    n = observed_rows(cells.counts.astype(np.float64), cells.whole)
    around = _log_laplace(cells, np.asarray(to_host(points), np.float64))
    both: NDArray[np.float64] = np.logaddexp(near + np.log(n), around) - np.log(n + 1)
    return both


def _log_laplace(grid: Grid, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a log density of the location and scale of a grid; even over a period."""
    weight = grid.counts / grid.counts.sum(dtype=np.float64)
    log_density = np.zeros(len(points))
    for j, period in enumerate(grid.periods):
        if period:
            log_density -= np.log(period)
            continue
        h = grid.bandwidth[j]
        at = (grid.cells[:, j] + 0.5) * h
        middle = weight @ at
        scale = max(weight @ np.abs(at - middle), h)
        log_density -= np.abs(points[:, j] - middle) / scale + np.log(2 * scale)
    return log_density


def _table(
    modes: Any,
    X: Any,
    points: NDArray[Any],
    labels: NDArray[np.int32],
    weight: Weights | None,
) -> Any:
    """Return a row for each cluster of `points`, the checked form of `X`."""
    values = None if weight is None else to_host(weight.values)
    found = profile_of_points(modes, points, labels, values, extremes=True)
    module = type(X).__module__.partition(".")[0]
    names = column_names(X) or [f"x{j}" for j in range(points.shape[1])]
    columns = found.table([str(name) for name in names])
    if weight is None:
        size = [*columns][1]  # or cluster_size, next to a feature of that name
        columns[size] = columns[size].astype(np.int64)
    return sys.modules[module].DataFrame(columns) if module in _FRAMES else columns
