"""The parameters of the estimator and the model on Spark, and the columns that they name."""

# ruff: noqa: E402, N802, N815 - pyspark is checked first; the names are Spark's

from __future__ import annotations

from typing import Any

import numpy as np

from meanshiftpp._support.extras import need

need("pyspark", "spark")
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasInputCols,
    HasMaxIter,
    HasPredictionCol,
    HasTol,
    HasWeightCol,
)
from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType, NumericType

from meanshiftpp._support.checks import as_bandwidth, as_periods, as_positive, is_number
from meanshiftpp.core.recipe import DEFAULT_MAX_ITER, DEFAULT_TOL, Recipe, min_weight_for
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.errors import InvalidInputError


def _to_bandwidth(value: Any) -> list[float]:
    """Convert a bandwidth to Spark's form: a list of one number, or of one for each feature."""
    bandwidth: list[float] = as_bandwidth(value, np.size(value)).tolist()
    return bandwidth


def _to_periods(value: Any) -> float | list[float | None]:
    """Convert periods to Spark's form: a number for all features, or a list with one for each."""
    periods = as_periods(value, np.size(np.asarray(value, object)))
    return periods[0] if np.ndim(value) == 0 else [length or None for length in periods]


def _to_cluster_size(value: Any) -> float:
    """Check a minimum cluster size."""
    if not is_number(value) or not value >= 1:
        raise InvalidInputError.for_parameter("minClusterSize", "a number of at least 1", value)
    return float(value)


def _to_strictness(value: Any) -> float:
    """Check a strictness."""
    return as_positive(value, "strictness")


class Parameters(
    HasInputCols,
    HasFeaturesCol,
    HasPredictionCol,
    HasWeightCol,
    HasTol,
    HasMaxIter,
):
    """Spark's parameters, which the estimator and the model share."""

    bandwidth = Param(
        Params._dummy(), "bandwidth", "a third of the window, one or one per feature", _to_bandwidth
    )
    resolution = Param(
        Params._dummy(),
        "resolution",
        "cells from the centre of the window to its border",
        TypeConverters.toInt,
    )
    periodic = Param(
        Params._dummy(), "periodic", "period of each feature, or null for none", _to_periods
    )
    minClusterSize = Param(
        Params._dummy(), "minClusterSize", "least weight of a cluster", _to_cluster_size
    )
    clusterAll = Param(
        Params._dummy(),
        "clusterAll",
        "whether every point gets a label",
        TypeConverters.toBoolean,
    )
    strictness = Param(
        Params._dummy(), "strictness", "multiplies the required depth of a valley", _to_strictness
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(tol=DEFAULT_TOL, maxIter=DEFAULT_MAX_ITER, resolution=1)
        self._setDefault(minClusterSize=1.0, clusterAll=True, strictness=1.0)

    def getBandwidth(self) -> list[float] | None:
        """Return the bandwidth that was set, or None."""
        return self.getOrDefault(self.bandwidth) if self.isSet(self.bandwidth) else None

    def getResolution(self) -> int:
        """Return the cells from the centre of the window to its border."""
        return int(self.getOrDefault(self.resolution))

    def getPeriodic(self) -> float | list[float | None] | None:
        """Return the periods that were set, or None."""
        return self.getOrDefault(self.periodic) if self.isSet(self.periodic) else None

    def getMinClusterSize(self) -> float:
        """Return the least weight of a cluster."""
        return float(self.getOrDefault(self.minClusterSize))

    def getClusterAll(self) -> bool:
        """Return whether every point gets a label."""
        return bool(self.getOrDefault(self.clusterAll))

    def getStrictness(self) -> float:
        """Return the factor of the required depth of a valley."""
        return float(self.getOrDefault(self.strictness))

    def _recipe(self) -> Recipe | Significant:
        """Return the recipe of these parameters; the model drops light modes later."""
        if self.getBandwidth() is None:
            return Significant(
                self.getPeriodic(),
                strictness=self.getStrictness(),
                min_weight=min_weight_for(self.getMinClusterSize()),
                cluster_all=self.getClusterAll(),
            )
        return Recipe(
            _one_or_all(self.getBandwidth()),
            resolution=self.getResolution(),
            periodic=self.getPeriodic(),
            tol=self.getTol(),
            max_iter=self.getMaxIter(),
            cluster_all=self.getClusterAll(),
        )

    def _names(self) -> tuple[str, ...]:
        return tuple(self.getInputCols()) if self.isSet(self.inputCols) else ()

    def _points(self, df: Any) -> list[Any]:
        """Return the columns to read: columns of numbers, or one column of vectors or arrays."""
        if self.isSet(self.inputCols):
            if not self._names():
                raise InvalidInputError("at least one column to cluster by is needed, got none")
            # The columns are renamed, because mapInArrow fails for names with a dot.
            return [number_column(df, name).alias(f"x{j}") for j, name in enumerate(self._names())]
        name = self.getFeaturesCol()
        kind = _kind(df, name)
        if isinstance(kind, VectorUDT):
            return [vector_to_array(_column(name)).alias("x")]
        if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
            return [_column(name).alias("x")]
        raise InvalidInputError(
            f"column {name!r} holds {kind.simpleString()}, not vectors; "
            "name columns of numbers in inputCols"
        )


def _kind(df: Any, name: str) -> Any:
    if name not in df.columns:
        raise InvalidInputError(f"the data frame has no column {name!r}, only {df.columns}")
    return df.schema[name].dataType


def _column(name: str) -> Any:
    quoted = name.replace("`", "``")
    return sql.col(f"`{quoted}`")  # unquoted, a dot selects a field of a struct


def number_column(df: Any, name: str) -> Any:
    """Return a column of a data frame, which must hold numbers."""
    if not isinstance(kind := _kind(df, name), NumericType):
        raise InvalidInputError(f"column {name!r} holds {kind.simpleString()}, not numbers")
    return _column(name)


def _one_or_all(values: Any) -> Any:
    """Return the value of a list of one, which applies to all features."""
    return values[0] if values is not None and len(values) == 1 else values
