"""MeanShift++ on Spark: a grid for each partition, a tree of ``+``, one search on the driver.

`fit` is one line for a data frame. `MeanShiftPP` and `MeanShiftPPModel` are the same as Estimator
and Model of pyspark.ml, for pipelines, with Spark's names for parameters.

Only grids travel; the rows stay where they are. A grid is the same whichever executor made it and
in whichever order it was added, so the result is that of one process, bit for bit, and an executor
that is lost costs time and nothing else.
"""

# ruff: noqa: E402, N802, N815 - pyspark is asked for first; the names are Spark's

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.extras import need
from meanshiftpp.errors import GridFileError, InvalidInputError

need("pyspark", "spark")
from pyspark.ml import Estimator, Model
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
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType, NumericType

from meanshiftpp._support.checks import as_bandwidth
from meanshiftpp.bandwidth.choice import bandwidth_from_sample
from meanshiftpp.bandwidth.spread import SAMPLE
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import DEFAULT_MAX_ITER, DEFAULT_TOL, Modes, seek
from meanshiftpp.engines.spark.tasks import PARTIAL, WEIGHT, add_up, adding, binning, labelling

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MeanShiftPP", "MeanShiftPPModel", "fit"]

FAN_IN = 16  # grids that one task of the tree adds up


def fit(
    df: Any,
    columns: Sequence[str],
    bandwidth: float | ArrayLike | None = None,
    *,
    weight: str | None = None,
    label: str = "label",
    tol: float = DEFAULT_TOL,
    max_iter: int = DEFAULT_MAX_ITER,
    min_cluster_size: float = 1,
    cluster_all: bool = True,
) -> MeanShiftPPModel:
    """Find the modes of some columns of a Spark data frame.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The points, one in a row. Partitions of no rows are fine.
    columns : sequence of str
        The columns to cluster by, of any numeric type.
    bandwidth : float or array-like of shape (n_features,), default=None
        Side of a grid cell. ``None`` chooses one for each feature as `select_bandwidth` does, for
        which Spark counts the rows, and reads the data once to look at some 16,384 of them.
    weight : str, default=None
        The column of weights. Whole numbers are exact; others are rounded part by part.
    label : str, default="label"
        The column that the model's `transform` adds.
    tol, max_iter, min_cluster_size, cluster_all
        As those of `meanshiftpp.MeanShiftPP`.

    Returns
    -------
    model : MeanShiftPPModel
        `model.transform(df)` adds the labels; `model.modes` and `model.grid` are in this process.

    Examples
    --------
    >>> from pyspark.sql import SparkSession
    >>> from meanshiftpp.spark import fit
    >>> session = SparkSession.builder.getOrCreate()
    >>> df = session.createDataFrame([(1.0, 1.0), (1.2, 1.0), (9.0, 9.0)], ["x", "y"])
    >>> model = fit(df, ["x", "y"], bandwidth=1.0)
    >>> [row.label for row in model.transform(df).collect()]
    [0, 0, 1]
    """
    optional = {"bandwidth": bandwidth, "weightCol": weight}
    estimator = MeanShiftPP(
        inputCols=list(columns),
        predictionCol=label,
        tol=tol,
        maxIter=max_iter,
        minClusterSize=min_cluster_size,
        clusterAll=cluster_all,
        **{name: value for name, value in optional.items() if value is not None},
    )
    model: MeanShiftPPModel = estimator.fit(df)
    return model


def _to_bandwidth(value: Any) -> list[float]:
    """Give a bandwidth as Spark keeps it: a list of one number, or of one for each feature."""
    sides: list[float] = as_bandwidth(value, np.size(value)).tolist()
    return sides


class _Parameters(
    HasInputCols,
    HasFeaturesCol,
    HasPredictionCol,
    HasWeightCol,
    HasTol,
    HasMaxIter,
):
    """What estimator and model are told, in Spark's way."""

    bandwidth = Param(
        Params._dummy(), "bandwidth", "side of a grid cell, one or one per feature", _to_bandwidth
    )
    minClusterSize = Param(
        Params._dummy(), "minClusterSize", "least weight of a cluster", TypeConverters.toFloat
    )
    clusterAll = Param(
        Params._dummy(), "clusterAll", "label points far from all too", TypeConverters.toBoolean
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(tol=DEFAULT_TOL, maxIter=DEFAULT_MAX_ITER)
        self._setDefault(minClusterSize=1.0, clusterAll=True)

    def getBandwidth(self) -> list[float] | None:
        """Return the bandwidth that was set, if one was."""
        return self.getOrDefault(self.bandwidth) if self.isSet(self.bandwidth) else None

    def getMinClusterSize(self) -> float:
        """Return the weight that a cluster has at least."""
        return float(self.getOrDefault(self.minClusterSize))

    def getClusterAll(self) -> bool:
        """Return whether points far from every occupied cell get a label."""
        return bool(self.getOrDefault(self.clusterAll))

    def _names(self) -> tuple[str, ...]:
        return tuple(self.getInputCols()) if self.isSet(self.inputCols) else ()

    def _points(self, df: Any) -> list[Any]:
        """Give the columns to read: numbers side by side, or one column of vectors or arrays."""
        if self.isSet(self.inputCols):
            if not self._names():
                raise InvalidInputError("at least one column to cluster by is needed, got none")
            # Renamed, because a dot in a name is too much for mapInArrow.
            return [_number(df, name).alias(f"x{j}") for j, name in enumerate(self._names())]
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


class MeanShiftPP(
    _Parameters,
    Estimator,
    DefaultParamsReadable,
    DefaultParamsWritable,
):
    """Cluster by mode seeking on a grid, as an Estimator of pyspark.ml.

    Parameters
    ----------
    inputCols : list of str
        The columns to cluster by. Where it is not set, `featuresCol`, by default "features", is the
        one column of vectors or arrays, as VectorAssembler makes it; separate columns are faster.
    predictionCol : str, default="prediction"
        The column that the model adds.
    weightCol : str
        The column of weights, if there is one.
    bandwidth : float or list of float
        Side of a grid cell; where it is not set, it is chosen as in `fit`.
    tol, maxIter, minClusterSize, clusterAll
        As tol, max_iter, min_cluster_size and cluster_all of `meanshiftpp.MeanShiftPP`.

    Examples
    --------
    >>> from pyspark.ml import Pipeline
    >>> from pyspark.ml.feature import VectorAssembler
    >>> from pyspark.sql import SparkSession
    >>> from meanshiftpp.spark import MeanShiftPP
    >>> session = SparkSession.builder.getOrCreate()
    >>> df = session.createDataFrame([(1.0, 1.0), (1.2, 1.0), (9.0, 9.0)], ["x", "y"])
    >>> vectors = VectorAssembler(inputCols=["x", "y"], outputCol="features")
    >>> model = Pipeline(stages=[vectors, MeanShiftPP(bandwidth=1.0)]).fit(df)
    >>> [row.prediction for row in model.transform(df).collect()]
    [0, 0, 1]
    """

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self._set(**given)

    def setParams(self, **given: Any) -> MeanShiftPP:
        """Set parameters by name."""
        self._set(**given)
        return self

    def _fit(self, df: Any) -> MeanShiftPPModel:
        points = self._points(df)
        weight = _number(df, self.getWeightCol()) if self.isSet(self.weightCol) else None
        bandwidth: Any = self.getBandwidth()
        if bandwidth is None:
            bandwidth = _chosen(df, points, weight)
        bandwidth = bandwidth[0] if len(bandwidth) == 1 else bandwidth
        if self._names():  # vectors are known only when they are read
            bandwidth = as_bandwidth(bandwidth, len(points))
        if weight is not None:
            points.append(weight.alias(WEIGHT))
        grid = _grid_of(df.select(*points), bandwidth, self._names())
        model = MeanShiftPPModel(_search(grid, self.getTol(), self.getMaxIter()))
        model._resetUid(self.uid)
        fitted: MeanShiftPPModel = self._copyValues(model)
        return fitted


class MeanShiftPPModel(_Parameters, Model, MLReadable, MLWritable):
    """What `MeanShiftPP` found: `transform` labels rows, `save` and `load` keep the model.

    Attributes
    ----------
    modes : Modes
        The modes of all clusters, also of those under `minClusterSize`.
    grid : Grid
        All that is kept of the data.

    Examples
    --------
    >>> import tempfile
    >>> from pyspark.sql import SparkSession
    >>> from meanshiftpp.spark import MeanShiftPPModel, fit
    >>> session = SparkSession.builder.getOrCreate()
    >>> df = session.createDataFrame([(1.0,), (1.2,), (9.0,)], ["x"])
    >>> model = fit(df, ["x"], bandwidth=1.0)
    >>> model.clusterCenters().round(6).tolist()
    [[1.1], [9.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     MeanShiftPPModel.load(f"{folder}/model").grid == model.grid
    True
    """

    def __init__(self, modes: Modes) -> None:
        super().__init__()
        self.modes = modes

    @property
    def grid(self) -> Grid:
        """The grid of the data."""
        return self.modes.grid

    def clusterCenters(self) -> NDArray[np.float64]:
        """Return the modes of the clusters that are large enough, heaviest first."""
        return self._kept().centers

    def clusterWeights(self) -> NDArray[np.float64]:
        """Return the weight of each of these clusters: without weights, its number of rows."""
        return self._kept().weights

    def write(self) -> MLWriter:
        """Return a writer; `save(path)` is short for `write().save(path)`."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader; `load(path)` is short for `read().load(path)`."""
        return _Reader()

    def _kept(self) -> Modes:
        least = self.getMinClusterSize()
        return self.modes.keep(least) if least > 1 else self.modes

    def _transform(self, df: Any) -> Any:
        # Only these columns go to Python and one comes back; the others may be of any type.
        columns = self._points(df)
        together = columns[0] if len(columns) == 1 else sql.struct(*columns)
        task = sql.arrow_udf(labelling(self._kept(), self.getClusterAll(), self._names()), "int")
        return df.withColumn(self.getPredictionCol(), task(together))


class _Writer(MLWriter):
    """Parameters as Spark writes them, and the grid. The search is exact, and is done again."""

    def __init__(self, model: MeanShiftPPModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "grid"
            self.model.grid.save(file)
            rows = self.sparkSession.createDataFrame([(file.read_bytes(),)], "grid binary")
        rows.coalesce(1).write.parquet(f"{path}/data")


class _Reader(MLReader):
    def load(self, path: str) -> MeanShiftPPModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{MeanShiftPPModel.__module__}.{MeanShiftPPModel.__name__}"
        if metadata["class"] != name:
            raise GridFileError(f"{path} holds a {metadata['class']}, not a {name}")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "grid"
            file.write_bytes(self.sparkSession.read.parquet(f"{path}/data").first()["grid"])
            grid = Grid.load(file)
        saved = metadata["defaultParamMap"] | metadata["paramMap"]
        model = MeanShiftPPModel(seek(grid, tol=saved["tol"], max_iter=saved["maxIter"]))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _kind(df: Any, name: str) -> Any:
    if name not in df.columns:
        raise InvalidInputError(f"the data frame has no column {name!r}, only {df.columns}")
    return df.schema[name].dataType


def _column(name: str) -> Any:
    quoted = name.replace("`", "``")
    return sql.col(f"`{quoted}`")  # bare, a dot would mean a field of a struct


def _number(df: Any, name: str) -> Any:
    if not isinstance(kind := _kind(df, name), NumericType):
        raise InvalidInputError(f"column {name!r} holds {kind.simpleString()}, not numbers")
    return _column(name)


def _chosen(df: Any, points: list[Any], weight: Any) -> NDArray[np.float64]:
    """Choose a bandwidth from some of the rows, all of them where they are not many.

    Rows without weight have no say, whatever they hold.
    """
    rows = df if weight is None else df.where(weight > 0)
    one = sql.lit(1) if weight is None else weight.cast("double")
    n, total = rows.agg(sql.count("*"), sql.sum(one)).first()
    some = rows.select(*points, one.alias(WEIGHT))
    found = (some.sample(SAMPLE / n, seed=0) if n > SAMPLE else some).collect()
    values = [row[0] if isinstance(row[0], list) else row[:-1] for row in found]
    if len({len(value) for value in values}) != 1:
        return np.ones(1)  # no rows, or vectors of several lengths: the binning will say so
    sample = np.stack([_floats(value) for value in values])
    each = None if weight is None else np.array([row[-1] for row in found])
    return bandwidth_from_sample(sample, total, sample_weight=each)


def _floats(row: Sequence[Any]) -> NDArray[np.float64]:
    """Take the numbers of a row; those that are missing are NaN."""
    return np.array([np.nan if value is None else value for value in row], np.float64)


def _grid_of(points: Any, bandwidth: Any, names: tuple[str, ...]) -> Grid:
    """Bin each partition, keep the partial grids on the cluster, add them up in a tree."""
    partial = points.mapInArrow(binning(bandwidth, names), PARTIAL).persist()
    try:
        n, tree = partial.count(), partial
        while n > FAN_IN:
            n = -(-n // FAN_IN)
            tree = tree.repartition(n, sql.col("part") % n).mapInArrow(adding, PARTIAL)
        grid, error = add_up(tree.collect())
    finally:
        partial.unpersist()
    if error is not None:
        raise InvalidInputError(error)
    if grid is None or not len(grid):
        raise InvalidInputError("the data must have at least one row of some weight, got none")
    return grid


def _search(grid: Grid, tol: float, max_iter: int) -> Modes:
    from sklearn.exceptions import ConvergenceWarning

    modes = seek(grid, tol=tol, max_iter=max_iter)
    if not modes.converged:
        warnings.warn(
            f"MeanShiftPP still moved after {modes.n_iter} iterations. "
            f"Raise maxIter (now {max_iter}) or tol (now {tol}).",
            ConvergenceWarning,
            stacklevel=5,
        )
    return modes
