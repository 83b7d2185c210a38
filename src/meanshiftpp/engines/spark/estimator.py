"""MeanShift++ on Spark: a grid for each partition, a tree of ``+``, one search on the driver.

`fit` clusters a data frame in one line. `MeanShiftPP` and `MeanShiftPPModel` are an Estimator and
a Model of pyspark.ml for pipelines, with Spark's names for parameters.

Only grids are transferred; the rows stay on their executors. A grid does not depend on the executor
that made it or on the order of adding, so the result is that of one process, bit for bit, and a
lost executor costs only time.
"""

# ruff: noqa: E402, N802 - pyspark is checked first; the names are Spark's

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.extras import need
from meanshiftpp.errors import GridFileError, InvalidInputError

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
from meanshiftpp.bandwidth.significant import complete_recipe
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.recipe import (
    DEFAULT_MAX_ITER,
    DEFAULT_TOL,
    Recipe,
    min_weight_for,
    report_convergence,
)
from meanshiftpp.core.scale import SAMPLE_SIZE
from meanshiftpp.core.tree import JoinedModes, treefile
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

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["MeanShiftPP", "MeanShiftPPModel", "fit"]

FAN_IN = 16  # grids that one task of the tree adds


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
    join: bool | None = None,
    strictness: float = 1.0,
) -> MeanShiftPPModel:
    """Find the modes of some columns of a Spark data frame.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The points, one per row. Partitions may be empty. If the frame is exactly the rows of
        Parquet files, the tasks read the files themselves, which is much faster.
    columns : sequence of str
        The columns to cluster by, of any numeric type.
    bandwidth : float or array-like of shape (n_features,), default=None
        A third of the window's width. ``None`` chooses one for each feature and joins the modes by
        the tree of a sample; for that, Spark counts the rows and reads the data once to sample
        about 16,384 of them. Up to that many rows, the result is that of one process.
    weight : str, default=None
        The column of weights. Whole numbers are exact; real numbers are rounded partition by
        partition.
    label : str, default="label"
        Name of the column that the model's `transform` adds.
    resolution, periodic, tol, max_iter, min_cluster_size, cluster_all, join, strictness
        As in `meanshiftpp.MeanShiftPP`. With a bandwidth, the tree of ``join=True`` is grown from
        the grid: the result is that of one process.

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
    optional = {"bandwidth": bandwidth, "weightCol": weight, "periodic": periodic, "join": join}
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
    """Cluster by mode seeking on a grid, as an Estimator of pyspark.ml.

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
        A third of the window's width; if not set, it is chosen as in `fit`.
    resolution, periodic, tol, maxIter, minClusterSize, clusterAll, join, strictness
        As resolution, periodic, tol, max_iter, min_cluster_size, cluster_all, join and strictness
        of `meanshiftpp.MeanShiftPP`.

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
        recipe = self._recipe(self.getBandwidth())
        if recipe.bandwidth is None:
            recipe = _complete(recipe, df, points, weight)
        if self._names():  # the length of vectors is known only when they are read
            recipe.checked(len(points))
        if weight is not None:
            points.append(weight.alias(WEIGHT))
        modes = recipe.search_quietly(_build_grid(df.select(*points), recipe, self._names()))
        report_convergence([modes], recipe, max_iter="maxIter")
        model = MeanShiftPPModel(recipe.joined(modes))
        model._resetUid(self.uid)
        fitted: MeanShiftPPModel = self._copyValues(model)
        return fitted


class MeanShiftPPModel(Parameters, Model, MLReadable, MLWritable):
    """The result of `MeanShiftPP`: `transform` labels rows, `save` and `load` store the model.

    Attributes
    ----------
    modes : Modes
        The modes of all clusters, also of those lighter than `minClusterSize`. If they are joined,
        `modes.tree` has the reason for each split.
    grid : Grid
        The grid of the data; the rows themselves are not stored.

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

    def __init__(self, modes: Modes) -> None:
        super().__init__()
        self.modes = modes

    @property
    def grid(self) -> Grid:
        """The grid of the data."""
        return self.modes.grid

    def clusterCenters(self) -> NDArray[np.float64]:
        """Return the modes of the clusters of at least `minClusterSize`, heaviest first."""
        return self._large_modes().centers

    def clusterWeights(self) -> NDArray[np.float64]:
        """Return the weight of each of these clusters: its number of rows, without weights."""
        return self._large_modes().weights

    def write(self) -> MLWriter:
        """Return a writer; `save(path)` is short for `write().save(path)`."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader; `load(path)` is short for `read().load(path)`."""
        return _Reader()

    def _large_modes(self) -> Modes:
        return self.modes.keep(min_weight_for(self.getMinClusterSize()))

    def _transform(self, df: Any) -> Any:
        name = self.getPredictionCol()
        if name in df.columns:
            advice = "drop that column, or set another predictionCol"
            raise InvalidInputError.for_parameter("predictionCol", "a new column", name, advice)
        # Only these columns are sent to Python, and one comes back; others may have any type.
        columns = self._points(df)
        features = columns[0] if len(columns) == 1 else sql.struct(*columns)
        recipe = Recipe(cluster_all=self.getClusterAll())
        task = sql.arrow_udf(label_task(self._large_modes(), recipe, self._names()), "int")
        return df.withColumn(name, task(features))


class _Writer(MLWriter):
    """Write Spark's parameters, the grid and the tree; the search is exact and repeated on load."""

    def __init__(self, model: MeanShiftPPModel) -> None:
        super().__init__()
        self.model = model

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self.model, path, self.sparkSession)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "grid"
            self.model.grid.save(file)
            grid, modes = file.read_bytes(), self.model.modes
        tree = treefile.to_bytes(modes.tree) if isinstance(modes, JoinedModes) else None
        rows = self.sparkSession.createDataFrame([(grid, tree)], "grid binary, tree binary")
        rows.coalesce(1).write.parquet(f"{path}/data")


class _Reader(MLReader):
    def load(self, path: str) -> MeanShiftPPModel:
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{MeanShiftPPModel.__module__}.{MeanShiftPPModel.__name__}"
        if metadata["class"] != name:
            raise GridFileError.for_file(path, f"holds a {metadata['class']}, not a {name}")
        data = self.sparkSession.read.parquet(f"{path}/data").first().asDict()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "grid"
            file.write_bytes(data["grid"])
            grid = Grid.load(file)
        saved, stored = metadata["defaultParamMap"] | metadata["paramMap"], data.get("tree")
        recipe = Recipe(
            resolution=saved["resolution"],
            tol=saved["tol"],
            max_iter=saved["maxIter"],
            cluster_all=saved["clusterAll"],
            join=stored is not None,
            tree=None if stored is None else treefile.from_bytes(stored, path),
        )
        modes = recipe.search_quietly(grid)  # the fit has reported convergence
        model = MeanShiftPPModel(recipe.joined(modes))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        if stored is None and "bandwidth" not in saved:
            model._set(join=False)  # a model of a release that did not join
        return model


def _complete(recipe: Recipe, df: Any, points: list[Any], weight: Any) -> Recipe:
    """Complete a recipe from a sample of the rows of positive weight."""
    rows = df if weight is None else df.where(weight > 0)
    row_weight = sql.lit(1) if weight is None else weight.cast("double")
    n, total = rows.agg(sql.count("*"), sql.sum(row_weight)).first()
    selected = rows.select(*points, row_weight.alias(WEIGHT))
    if n > SAMPLE_SIZE:
        selected = selected.sample(SAMPLE_SIZE / n, seed=0)
    sampled = selected.collect()
    values = [row[0] if isinstance(row[0], list) else row[:-1] for row in sampled]
    if len({len(value) for value in values}) != 1:
        return replace(recipe, bandwidth=1.0)  # no rows, or several lengths: binning reports it
    sample = np.stack([_floats(value) for value in values])
    weights = None if weight is None else np.array([row[-1] for row in sampled])
    return complete_recipe(recipe, sample, total, weights)


def _floats(row: Sequence[Any]) -> NDArray[np.float64]:
    """Return the numbers of a row; missing ones become NaN."""
    return np.array([np.nan if value is None else value for value in row], np.float64)


def _build_grid(points: Any, recipe: Recipe, names: tuple[str, ...]) -> Grid:
    """Bin each partition, or the files that the data frame consists of, and add up the grids."""
    recipe = replace(recipe, tree=None)  # binning does not need it
    scan = find_scan(points) if names else None
    if scan is not None and scan.tasks:
        n = len(scan.tasks)
        numbers = points.sparkSession.range(0, n, 1, n)  # a row in each partition
        with suppress(OtherFileError):  # Spark reads such files, or reports the error
            task = bin_files_task(recipe, scan.columns, scan.tasks, names)
            return _add_up(numbers.mapInArrow(task, PARTIAL), n)
    partial = points.mapInArrow(bin_task(recipe, names), PARTIAL).persist()
    try:
        return _add_up(partial, partial.count())
    finally:
        partial.unpersist()


def _add_up(partial: Any, n: int) -> Grid:
    """Add up at most `n` grids in a tree on the cluster; the driver adds the last ones."""
    tree = partial
    while n > FAN_IN:
        n = -(-n // FAN_IN)
        tree = tree.repartition(n, sql.col("part") % n).mapInArrow(add_task, PARTIAL)
    grid = add_rows(tree.collect())
    if grid is None or not len(grid):
        raise InvalidInputError("the data must have at least one row of positive weight, got none")
    return grid
