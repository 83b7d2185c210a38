"""Relations: changes of the data whose effect on a result is known, for generated data of any kind.

`check(subject, relation, seed)` generates data, applies the change and compares the results:

    subject     what is computed: clusters, the tree, a density, a sweep
    relation    what is changed: order of rows, types, weights, units, threads, the way of a fit
    Change      the effect: which rows the changed data has, and how places move

With a bandwidth, values are multiples of 2**-10 below 2**10, so that every change is exact.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone
from tests.apps.cli.command_line import run
from tests.images.scenes import same_partition
from tests.io.table_files import write

from meanshiftpp import GridDensity, MeanShiftPP, sweep
from meanshiftpp.core.recipe import Recipe
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.dask import MeanShiftPP as LazyMeanShiftPP
from meanshiftpp.io.streams import add_points
from meanshiftpp.stream import open_points, write_labels

Rng = np.random.Generator
Fit = Callable[[Any, Any, NDArray[Any] | None], Any]


class Case(NamedTuple):
    """Data, parameters, and the way of a fit: from an estimator, points and weights to a model."""

    X: Any
    weight: NDArray[Any] | None = None
    bandwidth: NDArray[np.float64] | None = None
    periodic: tuple[float | None, ...] | None = None
    n_jobs: int | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    fit: Fit = lambda model, X, weight: model.fit(X, sample_weight=weight)

    def subset(self, rows: NDArray[np.intp]) -> Case:
        weight = None if self.weight is None else self.weight[rows]
        return self._replace(X=self.X[rows], weight=weight)


class Result(NamedTuple):
    """Values of each row, values that no change affects, and places and lengths in data units.

    Some ways of a fit return the rows only.
    """

    rows: Sequence[NDArray[Any]]
    fixed: Sequence[Any] = ()
    places: NDArray[np.float64] | None = None
    lengths: NDArray[np.float64] | None = None


class Change(NamedTuple):
    """Changed data, the original row of each row, and what happens to places and lengths."""

    case: Case
    rows: Any = slice(None)
    factor: float = 1.0
    shift: NDArray[np.float64] | float = 0.0
    columns: Any = slice(None)  # of the changed data that the original has too
    renumbers: bool = False  # clusters of equal weight may swap their labels
    original: Case | None = None  # to compare with; the case itself by default


# -- data ------------------------------------------------------------------------------------------


def generate(rng: Rng, *, bandwidth: bool, least: int = 1) -> Case:
    """Draw data of any kind, with or without a bandwidth, weights and periods."""
    n, d = int(rng.integers(least, 250)), int(rng.integers(1, 5))
    centers = rng.uniform(-40, 40, (rng.integers(1, 5), d))
    X = centers[rng.integers(len(centers), size=n)] + rng.normal(0, rng.uniform(0.1, 8), (n, d))
    kind = rng.choice(["smooth", "rounded", "whole", "equal", "clipped", "even", "far"])
    if kind == "rounded":
        X = np.round(X * 4) / 4
    elif kind == "whole":
        X = np.round(X)
    elif kind == "equal":
        X = X[rng.integers(0, max(n // 4, 1), n)]
    elif kind == "clipped":
        X = X.clip(*np.quantile(X, [0.2, 0.8]))
    elif kind == "even":
        X = rng.uniform(-40, 40, (n, d))
    elif kind == "far":
        X[:: max(n // 3, 1)] *= 10
    X = np.round(X.clip(-1000, 1000) * 1024) / 1024
    h = 2.0 ** rng.integers(-1, 4, d) if bandwidth else None
    unit = 1.0 if bandwidth else float(rng.choice([1, 1, 0.1, 1e-3, 1e6]))
    periods = [None, 64.0 * unit, 128.0 * unit]
    periodic = tuple(rng.choice(periods, d)) if rng.integers(4) == 0 else None
    weight = rng.integers(0, 4, n) if rng.integers(3) == 0 else None
    if weight is not None:
        weight[0] = 1
    return Case(X * unit, weight, h, periodic)


# -- subjects --------------------------------------------------------------------------------------


def clusters(case: Case) -> Result:
    """Cluster with a bandwidth, or by the tree."""
    given = {"periodic": case.periodic, "n_jobs": case.n_jobs, **case.options}
    model = case.fit(MeanShiftPP(case.bandwidth, **given), case.X, case.weight)
    if not hasattr(model, "cluster_weights_"):  # a road that only has labels
        return Result([model.labels_])
    fixed = [model.cluster_weights_]
    if case.bandwidth is None:
        fixed += [np.array([split.depth for split in model.tree_.splits]), model.tree_.radii]
    return Result([np.asarray(model.predict(case.X))], fixed, model.cluster_centers_)


def density(case: Case) -> Result:
    """Estimate the density; its unit is that of a cell."""
    given = {"periodic": case.periodic, "n_jobs": case.n_jobs}
    model = case.fit(GridDensity(case.bandwidth, **given), case.X, case.weight)
    unit = np.log(model.bandwidth_).sum()
    return Result([np.round(model.score_samples(case.X) + unit, 9)])


def swept(case: Case) -> Result:
    """Cluster at several bandwidths, chosen ones too; a sweep has no periods."""
    sizes = None if case.bandwidth is None else case.bandwidth * np.array([[1], [2], [4]])
    found = sweep(case.X, sizes, sample_weight=case.weight, n_threads=case.n_jobs)
    rows = [found.labels(which, case.X) for which in range(len(found))]
    fixed = [found.n_clusters, found.stability, found.best]
    return Result(rows, fixed, lengths=found.bandwidths)


class Subject(NamedTuple):
    """A computation, and the relations that hold for it only approximately or do not exist."""

    compute: Callable[[Case], Result]
    bandwidth: bool
    without: frozenset[str] = frozenset()
    least: int = 1  # rows


ESTIMATORS_ONLY = frozenset({"pickle", "clone", "fit again", "chunks", "files", "command", "dask"})
CLUSTERS_ONLY = ESTIMATORS_ONLY - {"pickle", "clone", "fit again"}
SWEPT = ESTIMATORS_ONLY | {"constant", "turns"}  # another number of features, and no periods
# Without a bandwidth, columns and origin hold for some data only: tests/laws/test_significant.py.
CHOSEN = frozenset({"columns", "whole cells", "copies"})
CHOSEN_SIZES = CHOSEN | {"constant", "turns"}  # a bandwidth depends on the number of features
SUBJECTS = {
    "clusters": Subject(clusters, bandwidth=True),
    "tree": Subject(clusters, bandwidth=False, without=CHOSEN),
    # The window of a density has fewer cells if there are more features.
    "density": Subject(density, bandwidth=True, without=CLUSTERS_ONLY | {"constant"}),
    "chosen density": Subject(
        density, bandwidth=False, without=CLUSTERS_ONLY | CHOSEN_SIZES, least=5
    ),
    "sweep": Subject(swept, bandwidth=True, without=SWEPT),
    "chosen sweep": Subject(swept, bandwidth=False, without=SWEPT | CHOSEN, least=5),
}


# -- changes of the data ---------------------------------------------------------------------------


def order(case: Case, rng: Rng) -> Change:
    rows = rng.permutation(len(case.X))
    return Change(case.subset(rows), rows)


def columns(case: Case, rng: Rng) -> Change:
    order = rng.permutation(case.X.shape[1])
    assert case.bandwidth is not None  # otherwise rows at borders may move
    if case.weight is not None:  # rows of weight 0 may be equally near to several clusters
        case = case._replace(weight=np.maximum(case.weight, 1))
    periodic = case.periodic and tuple(case.periodic[j] for j in order)
    changed = case._replace(X=case.X[:, order], bandwidth=case.bandwidth[order], periodic=periodic)
    return Change(changed, renumbers=True, original=case)


def constant(case: Case, rng: Rng) -> Change:
    """Add a constant column. It makes the cells of a tree coarser beside more than one other."""
    if case.bandwidth is None:
        periodic = case.periodic and case.periodic[:1]
        case = case._replace(X=case.X[:, :1], periodic=periodic)
    d = case.X.shape[1]
    at, value = int(rng.integers(d + 1)), float(rng.choice([0, 1, -7.25, 1e6]))
    h = None if case.bandwidth is None else np.insert(case.bandwidth, at, 1.0)
    periodic = case.periodic and (*case.periodic[:at], None, *case.periodic[at:])
    changed = case._replace(X=np.insert(case.X, at, value, axis=1), bandwidth=h, periodic=periodic)
    return Change(changed, columns=np.delete(np.arange(d + 1), at), original=case)


def turns(case: Case, rng: Rng) -> Change:
    """Move rows by whole periods."""
    X = np.round(case.X.clip(-1000, 1000) * 1024) / 1024  # a period of another unit is not exact
    case = case._replace(X=X, periodic=(64.0,) * X.shape[1])
    moved = X + 64 * rng.integers(-9, 10, X.shape)
    return Change(case._replace(X=moved), original=case)


def copies(case: Case, rng: Rng) -> Change:
    """Take every row twice instead of doubling its weight."""
    weight = np.ones(len(case.X), int) if case.weight is None else case.weight
    rows = np.tile(np.arange(len(case.X)), 2)
    return Change(case.subset(rows), rows, original=case._replace(weight=2 * weight))


def weights(case: Case, rng: Rng) -> Change:
    """Repeat each row as often as its weight, which is then 1."""
    weight = rng.integers(0, 4, len(case.X))
    weight[0] = 1
    rows = np.repeat(np.arange(len(case.X)), weight)
    original = case._replace(weight=weight)
    return Change(case._replace(X=case.X[rows], weight=None), rows, original=original)


def weightless(case: Case, rng: Rng) -> Change:
    """Add rows of weight 0, equal to others, and weights as real numbers."""
    n = len(case.X)
    rows = np.append(np.arange(n), rng.integers(0, n, rng.integers(1, 9)))
    weight = np.zeros(len(rows))
    weight[:n] = 1 if case.weight is None else case.weight
    return Change(case._replace(X=case.X[rows], weight=weight), rows)


def dtypes(case: Case, rng: Rng) -> Change:
    types = ["f4", ">f8", ">f4", "f2", "i2", "i4", ">i8", "i8"]
    with np.errstate(over="ignore", invalid="ignore"):
        exact = [t for t in types if np.array_equal(case.X.astype(t).astype("f8"), case.X)]
    return Change(case._replace(X=case.X.astype(rng.choice(exact))))


def layouts(case: Case, rng: Rng) -> Change:
    X = case.X
    strided = np.zeros((2 * len(X), 3 * X.shape[1]))[::2, ::3]
    strided[...] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(X.dtype).reshape(X.shape)
    choices = [np.asfortranarray(X), strided, frozen, unaligned, X[::-1].copy()[::-1]]
    return Change(case._replace(X=choices[rng.integers(len(choices))]))


def tables(case: Case, rng: Rng) -> Change:
    named = {f"x{j}": column for j, column in enumerate(case.X.T)}
    make = (pd.DataFrame, pl.DataFrame, pa.table)[rng.integers(3)]
    return Change(case._replace(X=make(named)))


def power_of_two(case: Case, rng: Rng) -> Change:
    factor = 2.0 ** rng.integers(-900, 900)
    periodic = case.periodic and tuple(p and p * factor for p in case.periodic)
    h = None if case.bandwidth is None else case.bandwidth * factor
    changed = case._replace(X=case.X * factor, bandwidth=h, periodic=periodic)
    return Change(changed, factor=factor)


def whole_cells(case: Case, rng: Rng) -> Change:
    assert case.bandwidth is not None  # the size of a cell
    case = case._replace(periodic=None)  # clusters of equal weight swap their labels otherwise
    cells = 4 * rng.integers(-(2**18), 2**18, case.X.shape[1])  # of each bandwidth of a sweep
    shift = cells * case.bandwidth
    return Change(case._replace(X=case.X + shift), shift=shift, original=case)


def threads(case: Case, rng: Rng) -> Change:
    return Change(case._replace(n_jobs=int(rng.integers(1, 9))))


def chunks(case: Case, rng: Rng) -> Change:
    """Fit in chunks, in any order of the rows."""
    parts = np.array_split(rng.permutation(len(case.X)), rng.integers(1, 8))

    def fit(model: Any, X: Any, weight: Any) -> Any:
        for rows in parts:
            if len(rows) and (weight is None or weight[rows].any()):
                model.partial_fit(X[rows], sample_weight=None if weight is None else weight[rows])
        return model

    return Change(case._replace(fit=fit))


# -- ways of a fit ---------------------------------------------------------------------------------


def pickled(model: Any, X: Any, weight: Any) -> Any:
    return pickle.loads(pickle.dumps(model.fit(X, sample_weight=weight)))


def cloned(model: Any, X: Any, weight: Any) -> Any:
    return clone(model.fit(X, sample_weight=weight)).fit(X, sample_weight=weight)


def fitted_again(model: Any, X: Any, weight: Any) -> Any:
    return model.fit(np.zeros((3, X.shape[1])) + 1.5).fit(X, sample_weight=weight)


class Labels(NamedTuple):
    """The result of a road that has labels only."""

    labels_: NDArray[np.int32]


def _written(folder: str, X: Any, weight: Any) -> tuple[Path, list[str]]:
    """Write a table with a column of weights, which are 1 without weights."""
    names = [f"x{j}" for j in range(X.shape[1])]
    columns = dict(zip(names, X.T, strict=True))
    columns["w"] = np.ones(len(X), int) if weight is None else weight
    suffix = (".csv", ".parquet", ".arrow")[len(X) % 3]
    return write(Path(folder) / f"a{suffix}", pa.table(columns)), names


def from_files(model: Any, X: Any, weight: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path, names = _written(folder, X, weight)
        source = open_points(path, names, weight="w")
        recipe: Any = Significant(model.periodic)
        if model.bandwidth is not None:
            recipe = Recipe(model.bandwidth, periodic=model.periodic)
        checked = recipe.checked(len(names))
        found = checked.search(add_points(source, checked.empty()))
        write_labels(Path(folder) / "out.npy", source, found.label)
        return Labels(np.load(Path(folder) / "out.npy"))


def by_command(model: Any, X: Any, weight: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path, names = _written(folder, X, weight)
        out = Path(folder) / "out.npy"
        options = ["--columns", ",".join(names), "--weight", "w", "-o", out]
        if model.bandwidth is not None:
            options += ["-b", ",".join(map(repr, model.bandwidth.tolist()))]
        if model.periodic is not None:
            options += ["--periodic", ",".join(str(p or "-") for p in model.periodic)]
        options += ["--stream"] if len(X) % 2 else []
        status, _, errors = run("cluster", path, *options)
        assert status == 0, errors
        return Labels(np.load(out))


def by_dask(model: Any, X: Any, weight: Any) -> Any:
    import dask
    import dask.array as da

    size = max(len(X) // 3, 1)
    lazy = LazyMeanShiftPP(model.bandwidth, periodic=model.periodic)
    weights = None if weight is None else da.from_array(weight, chunks=size)
    with dask.config.set(scheduler="sync"):
        lazy.fit(da.from_array(X, chunks=(size, -1)), sample_weight=weights)
        return Labels(lazy.labels_.compute())


def way(fit: Fit) -> Callable[[Case, Rng], Change]:
    """Return the relation between `fit` and another way."""
    return lambda case, rng: Change(case._replace(fit=fit))


RELATIONS: dict[str, Callable[[Case, Rng], Change]] = {
    "order": order,
    "columns": columns,
    "constant": constant,
    "turns": turns,
    "copies": copies,
    "weights": weights,
    "no weight": weightless,
    "dtypes": dtypes,
    "layouts": layouts,
    "tables": tables,
    "power of two": power_of_two,
    "whole cells": whole_cells,
    "threads": threads,
    "pickle": way(pickled),
    "clone": way(cloned),
    "fit again": way(fitted_again),
    "chunks": chunks,
    "files": way(from_files),
    "command": way(by_command),
    "dask": way(by_dask),
}
PAIRS = [
    (subject, relation)
    for subject, each in SUBJECTS.items()
    for relation in RELATIONS
    if relation not in each.without
]


# -- the law ---------------------------------------------------------------------------------------


def check(subject: str, relation: str, seed: int) -> None:
    """Check a relation on the data of a seed."""
    rng = np.random.default_rng([PAIRS.index((subject, relation)), seed])
    each = SUBJECTS[subject]
    compare(each, generate(rng, bandwidth=each.bandwidth, least=each.least), relation, rng)


def compare(subject: Subject, case: Case, relation: str, rng: Rng) -> None:
    """Compare the result of changed data with the change of the result."""
    change = RELATIONS[relation](case, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of searches that end early, and of constant data
        expected, found = subject.compute(change.original or case), subject.compute(change.case)
    for a, b in zip(found.rows, expected.rows, strict=True):
        assert (same_partition if change.renumbers else np.array_equal)(a, b[change.rows])
    for a, b in zip(found.fixed, expected.fixed, strict=False):
        assert np.array_equal(a, b, equal_nan=True)
    if found.places is not None and not change.renumbers:
        places = expected.places * change.factor + change.shift
        found_places = found.places[:, change.columns]
        np.testing.assert_allclose(found_places, places, rtol=1e-15)  # a sum may be rounded
    if found.lengths is not None and not change.renumbers:
        assert np.array_equal(found.lengths, expected.lengths * change.factor)
