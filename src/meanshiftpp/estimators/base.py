"""The base of the estimators: scikit-learn's checks, for arrays on the host and on a GPU.

Private names of scikit-learn are imported here and nowhere else.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_n_features, check_array, validate_data

from meanshiftpp._support.checks import Weights, as_points, as_weights, check_features
from meanshiftpp._support.columns import array_from_table, is_table
from meanshiftpp._support.devices import as_array, check_unmasked, on_gpu
from meanshiftpp.errors import InvalidInputError

__all__ = [
    "CONSTRAINTS",
    "Estimator",
    "Interval",
    "checked_points",
    "checked_weight",
    "column_names",
    "columns_named",
    "parameters_checked",
    "threads_of",
]

_POSITIVE = Interval(Real, 0, None, closed="neither")
CONSTRAINTS: dict[str, list[Any]] = {
    "bandwidth": [_POSITIVE, "array-like", None],
    "periodic": [_POSITIVE, "array-like", None],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
}


class Estimator(BaseEstimator):  # type: ignore[misc]
    """The base of the estimators, which caches the names of the parameters.

    scikit-learn inspects the signature at every fit, which can take longer than the search.
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return list(_names_of(cls))  # type: ignore[arg-type]

    def _snapshot(self) -> Self:
        """Return the estimator as it is now: a fit by another thread does not change it."""
        snapshot = object.__new__(type(self))
        snapshot.__dict__.update(self.__dict__)
        return snapshot


def parameters_checked(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Check the parameters before a fit, unless they are those of the last one of its class.

    scikit-learn's check takes as long as the fit of a small table (`small` in benchmarks.speed).
    """
    fit_checked = _fit_context(prefer_skip_nested_validation=True)(fit)

    @functools.wraps(fit)
    def fit_once_checked(self: Any, *args: Any, **options: Any) -> Any:
        values = [getattr(self, name) for name in self._get_param_names()]
        kinds = [type(value) for value in values]
        if not _SCALARS.issuperset(kinds):
            return fit_checked(self, *args, **options)
        if _LAST.get(type(self)) == (values, kinds):
            return fit(self, *args, **options)
        fitted = fit_checked(self, *args, **options)
        _LAST[type(self)] = values, kinds
        return fitted

    return columns_named(_input_restored(fit_once_checked))


def _input_restored(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Restore the number and names of the features if a fit fails after it has set them."""

    @functools.wraps(fit)
    def restoring(self: Any, *args: Any, **options: Any) -> Any:
        before = {name: vars(self)[name] for name in _OF_INPUT if name in vars(self)}
        try:
            return fit(self, *args, **options)
        except BaseException:
            for name in _OF_INPUT:
                vars(self).pop(name, None)
            vars(self).update(before)
            raise

    return restoring


def columns_named(method: Callable[..., Any]) -> Callable[..., Any]:
    """Name the column of a data frame in errors about one of its values, instead of a number."""

    @functools.wraps(method)
    def named(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        except InvalidInputError as error:
            if error.column is None or error.place != f"X[{error.row}, {error.column}]":
                raise
            names = column_names(args[0] if args else options.get("X"))
            if not names:
                raise
            raise error.at(f"X[{error.row}, {names[error.column]!r}]") from error

    return named


def column_names(X: Any) -> list[Any]:
    """Return the names of the columns of a data frame or an Arrow table; none for arrays."""
    if hasattr(X, "column_names"):
        return list(X.column_names)
    return list(X.columns) if hasattr(X, "columns") and hasattr(X, "dtypes") else []


_OF_INPUT = ("n_features_in_", "feature_names_in_")  # set while checking the points
_SCALARS = {bool, int, float, type(None)}
_LAST: dict[type, tuple[list[Any], list[type]]] = {}  # the parameters that were found valid


@functools.cache
def _names_of(estimator: Any) -> tuple[str, ...]:
    return tuple(BaseEstimator._get_param_names.__func__(estimator))


def checked_points(estimator: Any, X: Any, *, reset: bool, ensure_min_samples: int = 1) -> Any:
    """Check shape, names and type. Non-finite values are detected while binning.

    Arrays on a GPU stay there, with and without scikit-learn's array API dispatch. A plain array
    needs none of scikit-learn's checks, which take as long as the fit of a small table.
    """
    if _is_plain(X, estimator, ensure_min_samples) and (
        reset or X.shape[1] == estimator.n_features_in_
    ):
        check_features(X.shape[1])
        estimator.n_features_in_ = X.shape[1]
        return X
    check_unmasked(X)
    if hasattr(X, "collect") and hasattr(X, "collect_schema") and not hasattr(X, "shape"):
        raise InvalidInputError("X must be a table in memory, got a lazy one; pass X.collect()")
    if isinstance(X, list | tuple):
        X = as_array(X)
    if hasattr(X, "__dlpack_device__") and on_gpu(X := as_array(X)):
        points = as_points(X)
        if len(points) < ensure_min_samples:
            raise InvalidInputError(f"X must have at least one row, got shape {points.shape}")
        _check_n_features(estimator, points, reset=reset)
        return points
    options = {"ensure_all_finite": False, "ensure_min_samples": ensure_min_samples}
    try:
        if is_table(X):
            points = check_array(array_from_table(X), **options)
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            return points
        points = validate_data(estimator, X, reset=reset, **options)
    except (OverflowError, TypeError, ValueError, KeyError) as error:
        _check_names_differ(X)
        if not (isinstance(X, np.ndarray) and isinstance(error, TypeError)):  # scikit-learn's own
            _check_columns_are_numbers(X)
        raise
    if points.dtype.kind in "OmM":  # dates
        _check_columns_are_numbers(X)
    return points


def _check_names_differ(X: Any) -> None:
    """Raise InvalidInputError if two columns of a table have one name."""
    for name, count in Counter(column_names(X)).items():
        if count > 1:
            raise InvalidInputError(
                f"the columns of X must have different names, got {name!r} {count} times; rename "
                "them, or pass an array"
            )


def _check_columns_are_numbers(X: Any) -> None:
    """Raise InvalidInputError for the first value of a table or of objects that is not a number."""
    for j, (name, column) in enumerate(_columns(X)):
        is_time = column.dtype.kind in "mM"
        for row, value in enumerate(column.tolist() if column.dtype.kind in "OUSmM" else ()):
            if is_time or not _is_numeric(value):
                got, remedy = repr(value), "correct it"
                if is_time:
                    got = f"a date or a time, {column[row].astype(column.dtype.kind + '8[s]')}"
                    remedy = "convert the column to numbers, such as days since the first"
                raise InvalidInputError(
                    f"is {got}, not a number; {remedy}, or select the columns to cluster",
                    place=f"X[{row}, {name!r}]",
                    row=row,
                    column=j,
                )


def _columns(X: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Yield the names and the values of columns; arrays that are not objects have only numbers."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        yield from enumerate(X.T)
    for j, name in enumerate(column_names(X)):
        try:
            yield name, np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[name])
        except Exception:  # of a column that cannot be an array, which the caller reports
            yield name, np.empty(0)


def _is_numeric(value: object) -> bool:
    try:
        return np.asarray(value, np.float64).ndim == 0
    except (OverflowError, TypeError, ValueError):
        return False


def _is_plain(X: Any, estimator: Any, min_samples: int) -> bool:
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype.kind in "iuf"
        and X.dtype.isnative
        and X.itemsize in (4, 8)
        and len(X) >= min_samples
        and X.shape[1] > 0
        and not hasattr(estimator, "feature_names_in_")
    )


def checked_weight(sample_weight: Any, X: Any, *, allow_zero: bool = False) -> Weights | None:
    """Check the weights of points; nothing below checks them again.

    Unless `allow_zero`, at least one weight must be above zero.
    """
    if sample_weight is None:
        return None
    weight = as_weights(sample_weight, X)
    if not allow_zero and not weight.counts.any():
        problem = "sample_weight must have a weight above zero, got only zeros"
        raise InvalidInputError(problem, parameter="sample_weight")
    return weight


def threads_of(n_jobs: int | None) -> int | None:
    """Return the number of threads for a joblib number of jobs."""
    return None if n_jobs is None else int(effective_n_jobs(n_jobs))
