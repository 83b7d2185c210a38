"""MeanShift++ on Spark: a grid or a tally for each partition, a tree of ``+``, one search.

`fit` clusters a data frame in one line. `MeanShiftPP` and `MeanShiftPPModel` are an Estimator and
a Model of pyspark.ml for pipelines, with Spark's names for parameters.

With a bandwidth, only grids are transferred; without one, tallies: the rows, or the cells of many
rows. Neither depends on the executor that made it or on the order of adding, so the result is that
of one process, bit for bit, and a lost executor costs only time.
"""

# ruff: noqa: E402, N802 - pyspark is checked first; the names are Spark's

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.extras import need
from meanshiftpp.errors import GridFileError, InvalidInputError, MeanShiftPPError

need("pyspark", "spark")
from pyspark.ml import Estimator, Model
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

from meanshiftpp._support.checks import Periodic
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import (
    DEFAULT_MAX_ITER,
    DEFAULT_TOL,
    Recipe,
    min_weight_for,
    report_convergence,
)
from meanshiftpp.core.tree import Clusters, Tree, treefile
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.engines.spark.files import find_scan
from meanshiftpp.engines.spark.parameters import Parameters, number_column
from meanshiftpp.engines.spark.tasks import (
    PARTIAL,
    WEIGHT,
    OtherFileError,
    add_rows,
    add_task,
    bin_files_task,
    bin_task,
    label_task,
)
from meanshiftpp.engines.sums import Total
from meanshiftpp.estimators.condensed import CondensedTree

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MeanShiftPP", "MeanShiftPPModel", "fit"]

FAN_IN = 16  # results that one task of the tree adds
_STORED = "grid binary, tree binary, unit double, whole boolean"  # schema of a stored model


def fit(
    df: Any,
    columns: Sequence[str],
    bandwidth: float | ArrayLike | None = None,
    *,
    weight: str | None = None,
    label: str = "label",
    resolution: int = 1,
    periodic: Periodic = None,
    tol: float = DEFAULT_TOL,
    max_iter: int = DEFAULT_MAX_ITER,
    min_cluster_size: float = 1,
    cluster_all: bool = True,
    strictness: float = 1.0,
) -> MeanShiftPPModel:
    """Find the clusters of some columns of a Spark data frame.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The points, one per row. Partitions may be empty. If the frame is exactly the rows of
        Parquet files, the tasks read the files themselves, which is much faster.
    columns : sequence of str
        The columns to cluster by, of any numeric type.
    bandwidth : float or array-like of shape (n_features,), default=None
        A third of the window's width; only grids then leave the executors. ``None`` finds the
        significant clusters of all rows: the rows are sent to the driver or, if there are more
        than 2**24, at most 2**22 cells of them, for which the data is rarely read a second time.
        Spark limits what the driver receives by ``spark.driver.maxResultSize``.
    weight : str, default=None
        The column of weights. Whole numbers are exact; with a bandwidth, real numbers are rounded
        partition by partition.
    label : str, default="label"
        Name of the column that the model's `transform` adds.
    resolution, periodic, tol, max_iter, min_cluster_size, cluster_all, strictness
        As in `meanshiftpp.MeanShiftPP`, of which this is the result, exactly.

    Returns
    -------
    model : MeanShiftPPModel
        `model.transform(df)` adds the labels; `model.grid` or `model.tree` is in this process.

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
    optional = {"bandwidth": bandwidth, "weightCol": weight, "periodic": periodic}
    estimator = MeanShiftPP(
        inputCols=list(columns),
        predictionCol=label,
        resolution=resolution,
        tol=tol,
        maxIter=max_iter,
        minClusterSize=min_cluster_size,
        clusterAll=cluster_all,
        strictness=strictness,
        **{name: value for name, value in optional.items() if value is not None},
    )
    model: MeanShiftPPModel = estimator.fit(df)
    return model


class MeanShiftPP(
    Parameters,
    Estimator,
    DefaultParamsReadable,
    DefaultParamsWritable,
):
    """Cluster without choosing the number of clusters, as an Estimator of pyspark.ml.

    Parameters
    ----------
    inputCols : list of str
        The columns to cluster by. If not set, `featuresCol`, by default "features", is the one
        column of vectors or arrays, as VectorAssembler makes it; separate columns are faster.
    predictionCol : str, default="prediction"
        Name of the column that the model adds.
    weightCol : str
        The column of weights.
    bandwidth : float or list of float
        A third of the window's width; if not set, the clusters are the significant ones, and the
        rows or at most 2**22 of their cells are sent to the driver, as in `fit`.
    resolution, periodic, tol, maxIter, minClusterSize, clusterAll, strictness
        As resolution, periodic, tol, max_iter, min_cluster_size, cluster_all and strictness of
        `meanshiftpp.MeanShiftPP`.

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

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._set(**params)

    def setParams(self, **params: Any) -> MeanShiftPP:
        """Set parameters by name."""
        self._set(**params)
        return self

    def _fit(self, df: Any) -> MeanShiftPPModel:
        points = self._points(df)
        weight = number_column(df, self.getWeightCol()) if self.isSet(self.weightCol) else None
        recipe, names = self._recipe(), self._names()
        if names:  # the length of vectors is known only when they are read
            recipe.checked(len(points))
        if weight is not None:
            points.append(weight.alias(WEIGHT))
        selected = df.select(*points)
        total = recipe.gather(lambda recipe: _bin(selected, recipe, names))
        model = MeanShiftPPModel(_search(total, recipe))
        model._resetUid(self.uid)
        fitted: MeanShiftPPModel = self._copyValues(model)
        return fitted


class MeanShiftPPModel(Parameters, Model, MLReadable, MLWritable):
    """The result of `MeanShiftPP`: `transform` labels rows, `save` and `load` store the model.

    Attributes
    ----------
    modes : Modes
        The modes of all clusters, also of those lighter than `minClusterSize`. Only with a
        bandwidth.
    grid : Grid
        The grid of the data; the rows themselves are not stored. Only with a bandwidth.
    tree : Tree
        The tree of significant clusters, with the leaves that label rows. Only without a bandwidth.

    Notes
    -----
    `transform` is lazy: Spark labels the rows in a later action, after `transform` has returned. An
    error about a value is then Spark's ``PythonException``, whose last line is the message.

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

    def __init__(self, found: Modes | Clusters) -> None:
        super().__init__()
        self._found = found

    @property
    def modes(self) -> Modes:
        """The modes of all clusters."""
        if isinstance(self._found, Clusters):
            raise _MissingError("modes and grids need a bandwidth; use tree or clusterCenters()")
        return self._found

    @property
    def grid(self) -> Grid:
        """The grid of the data."""
        return self.modes.grid

    @property
    def tree(self) -> Tree:
        """The tree of significant clusters."""
        return self._clusters("tree").tree

    def clusterCenters(self) -> NDArray[np.float64]:
        """Return the centres of the clusters of at least `minClusterSize`, heaviest first."""
        return self._large().centers

    def clusterWeights(self) -> NDArray[np.float64]:
        """Return the weight of each of these clusters: its number of rows, without weights."""
        return self._large().weights

    def cut(
        self,
        n_clusters: int | None = None,
        persistence: float | None = None,
        min_cluster_size: float | None = None,
    ) -> MeanShiftPPModel:
        """Return a model of coarser or finer clusters, as `meanshiftpp.MeanShiftPP.cut` does."""
        clusters = self._clusters("cut").cut(n_clusters, persistence, min_cluster_size)
        model: MeanShiftPPModel = self.copy()
        model._found = clusters
        return model

    def explain(self, label: int | None = None) -> str:
        """Return the valleys that separate a cluster, or each, from the others, one per line."""
        return CondensedTree(self._clusters("explain")).explain(label)

    def condensedTree(self) -> CondensedTree:
        """Return the splits of significant clusters: `to_pandas`, `plot`."""
        return CondensedTree(self._clusters("condensedTree"))

    def write(self) -> MLWriter:
        """Return a writer; `save(path)` is short for `write().save(path)`."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader; `load(path)` is short for `read().load(path)`."""
        return _Reader()

    def _clusters(self, name: str) -> Clusters:
        if not isinstance(self._found, Clusters):
            raise _MissingError(f"{name} needs significant clusters; fit without a bandwidth")
        return self._found

    def _large(self) -> Modes | Clusters:
        if isinstance(self._found, Clusters):  # the fit has joined the small ones
            return self._found
        return self._found.keep(min_weight_for(self.getMinClusterSize()))

    def _transform(self, df: Any) -> Any:
        name = self.getPredictionCol()
        if name in df.columns:
            advice = "drop that column, or set another predictionCol"
            raise InvalidInputError.for_parameter("predictionCol", "a new column", name, advice)
        # Only these columns are sent to Python, and one comes back; others may have any type.
        columns = self._points(df)
        features = columns[0] if len(columns) == 1 else sql.struct(*columns)
        large = self._large()
        all_points = {} if isinstance(large, Clusters) else {"cluster_all": self.getClusterAll()}
        task = sql.arrow_udf(label_task(partial(large.label, **all_points), self._names()), "int")
        return df.withColumn(name, task(features))


class _MissingError(MeanShiftPPError, AttributeError):
    """An attribute or a method that this kind of model does not have."""


class _Writer(MLWriter):
    """Write Spark's parameters and the tree, or the grid: its search is repeated on load."""

    def __init__(self, model: MeanShiftPPModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession)
        found = self.model._found
        row: tuple[Any, ...]
        if isinstance(found, Clusters):
            row = (None, treefile.to_bytes(found.tree), found.unit, found.whole)
        else:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "grid"
                found.grid.save(file)
                row = (file.read_bytes(), None, None, None)
        rows = self.sparkSession.createDataFrame([row], _STORED)
        rows.coalesce(1).write.parquet(f"{path}/data")


class _Reader(MLReader):
    def load(self, path: str) -> MeanShiftPPModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{MeanShiftPPModel.__module__}.{MeanShiftPPModel.__name__}"
        if metadata["class"] != name:
            raise GridFileError.for_file(path, f"holds a {metadata['class']}, not a {name}")
        saved = metadata["defaultParamMap"] | metadata["paramMap"]
        data = self.sparkSession.read.parquet(f"{path}/data").first()
        found = _modes(data, saved) if data["tree"] is None else _clusters(data, saved, path)
        model = MeanShiftPPModel(found)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


def _clusters(data: Any, saved: dict[str, Any], path: str) -> Clusters:
    """Return the clusters of a stored tree."""
    tree = treefile.from_bytes(data["tree"], path)
    options = {"unit": data["unit"], "whole": data["whole"], "cluster_all": saved["clusterAll"]}
    return Clusters.of_tree(tree, **options)


def _modes(data: Any, saved: dict[str, Any]) -> Modes:
    """Return the modes of a stored grid; the search is exact, and the fit reported convergence."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "grid"
        file.write_bytes(data["grid"])
        grid = Grid.load(file)
    limits = {"tol": saved["tol"], "max_iter": saved["maxIter"]}
    return Recipe(resolution=saved["resolution"], **limits).search_quietly(grid)


def _search(total: Any, recipe: Recipe | Significant) -> Modes | Clusters:
    """Return the clusters of all rows."""
    if isinstance(recipe, Significant):
        return recipe.checked(total.n_features).search(total)
    modes = recipe.search_quietly(total)
    report_convergence([modes], recipe, max_iter="maxIter")
    return modes


def _bin(points: Any, recipe: Recipe | Significant, names: tuple[str, ...]) -> Any:
    """Bin each partition, or the files that the data frame consists of, and add up the results."""
    scan = find_scan(points) if names else None
    if scan is not None and scan.tasks:
        n = len(scan.tasks)
        numbers = points.sparkSession.range(0, n, 1, n)  # a row in each partition
        with suppress(OtherFileError):  # Spark reads such files, or reports the error
            task = bin_files_task(recipe, scan.columns, scan.tasks, names)
            return _add_up(numbers.mapInArrow(task, PARTIAL), n)
    partial_sums = points.mapInArrow(bin_task(recipe, names), PARTIAL).persist()
    try:
        return _add_up(partial_sums, partial_sums.count())
    finally:
        partial_sums.unpersist()


def _add_up(partial_sums: Any, n: int) -> Total:
    """Add up at most `n` results in a tree on the cluster; the driver adds the last ones."""
    tree = partial_sums
    while n > FAN_IN:
        n = -(-n // FAN_IN)
        tree = tree.repartition(n, sql.col("part") % n).mapInArrow(add_task, PARTIAL)
    total = add_rows(tree.collect())
    if total is None or not len(total):
        raise InvalidInputError("the data must have at least one row of positive weight, got none")
    return total
