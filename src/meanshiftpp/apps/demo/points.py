"""Clusters of a million points and of Iris, compared with the true groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp.apps.cli.shared.console import duration
from meanshiftpp.apps.demo.tables import new_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meanshiftpp.estimators.cluster import MeanShiftPP


@dataclass(frozen=True)
class Clustering:
    """A data set and its clusters."""

    name: str
    columns: Sequence[str]
    X: NDArray[Any]
    model: MeanShiftPP
    seconds: float
    agreement: float  # adjusted Rand index of the labels and the true groups


def cluster_iris() -> Clustering:
    """Cluster the Iris data of scikit-learn."""
    from sklearn.datasets import load_iris

    iris = load_iris()
    columns = [name.removesuffix(" (cm)") for name in iris.feature_names]
    return cluster("Iris", columns, iris.data, iris.target)


def cluster(
    name: str,
    columns: Sequence[str],
    X: NDArray[Any],
    truth: NDArray[Any],
    bandwidth: float | None = None,
) -> Clustering:
    """Fit a model once and measure its time and its agreement with the true groups."""
    from sklearn.metrics import adjusted_rand_score

    from meanshiftpp.estimators.cluster import MeanShiftPP

    start = perf_counter()
    model = MeanShiftPP(bandwidth).fit(X)
    seconds = perf_counter() - start
    agreement = float(adjusted_rand_score(truth, model.labels_))
    return Clustering(name, columns, X, model, seconds, agreement)


def draw(clustering: Clustering, picture: Path) -> None:
    """Write the picture of a clustering."""
    from meanshiftpp.plot import clusters
    from meanshiftpp.plot.style import save

    model = clustering.model
    figure = clusters(
        clustering.X,
        model.labels_,
        centers=model.cluster_centers_,
        columns=clustering.columns,
        title=f"MeanShift++ on {clustering.name}",
        subtitle=f"{len(clustering.X):,} points, {len(model.cluster_centers_):,} clusters found "
        f"in {duration(clustering.seconds)}",
    )
    save(figure, picture)


def table(clusterings: Sequence[Clustering]) -> Any:
    """Return a table with a column for each data set."""
    result = new_table()
    result.add_column()
    for each in clusterings:
        result.add_column(each.name, justify="right")
    columns = [list(_rows(each)) for each in clusterings]
    for row in zip(*columns, strict=True):
        result.add_row(row[0][0], *(value for _, value in row))
    return result


def _rows(clustering: Clustering) -> Iterator[tuple[str, str]]:
    n, model = len(clustering.X), clustering.model
    sizes = model.cluster_weights_
    yield "points x features", f"{n:,} x {clustering.X.shape[1]}"
    searched = model.bandwidth is not None
    yield "bandwidth", f"{model.bandwidth_[0]:.3g}" if searched else "none"
    yield "cells or leaves", f"{len(model.grid_ if searched else model.tree_.leaves):,}"
    yield "clusters", f"{len(sizes):,}"
    yield "of 0.5% or more", f"{np.sum(sizes >= 0.005 * n):,}"
    yield "largest cluster", f"{sizes[0]:,.0f}"
    yield "adjusted Rand index", f"{clustering.agreement:.3f}"
    yield "[bold]time of fit[/]", f"[bold green]{duration(clustering.seconds)}[/]"
