"""The result of `meanshiftpp cluster`, as data for --json and as a printed table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from meanshiftpp._support.text import format_bandwidth, pluralize
from meanshiftpp.apps.cli.shared.console import duration, print_table

if TYPE_CHECKING:
    from meanshiftpp.core.tree.valleys import Candidate, Valley

CLUSTERS_SHOWN = 10
FEATURES_SHOWN = 8
VALLEYS_SHOWN = 40
MANY_CLUSTERS = 30  # more come with a hint how to see them coarser
STAGES = {
    "start": "starting",
    "read": "reading",
    "cluster": "clustering",
    "label": "labelling",
    "describe": "describing",
    "write": "writing",
}


@dataclass
class Summary:
    """The result of a run; the field names are the keys of --json."""

    file: str
    columns: list[str]
    points: int
    clusters: int
    sizes: list[float]  # weights of the clusters: whole numbers, unless weights are real
    centers: list[list[float]]  # the densest places
    means: list[list[float]]
    shares: list[float]  # of all points or their weight, including noise
    spreads: list[list[float]]  # standard deviations, estimated from the grid of a stream
    noise: float
    streamed: bool
    bandwidth: list[float] | None = None  # of a search, like the next three
    cells: int | None = None
    iterations: int | None = None
    converged: bool | None = None
    weight: float | None = None  # of all points, with --weight
    missing: int | None = 0  # rows with missing values, which are not points; None if unknown
    strictness: float | None = None  # of significant clusters, unless --n-clusters is given
    valleys: list[Valley] | None = None  # between them
    candidates: list[Candidate] | None = None  # if there is only one cluster
    grid_weight: float | None = None  # of --grid, whose points may be others
    seconds: dict[str, float] = field(default_factory=dict)  # add up to the wall time
    output: str | None = None
    label_column: str | None = None
    map: str | None = None  # the number and kind of features, if the output is a map
    plot: str | None = None
    centers_file: str | None = None


def print_summary(summary: Summary, *, explain: bool = False) -> None:
    """Print a summary as a table; with `explain`, also the valley of each cluster."""
    print_table(summary.file, _table_rows(summary, explain))


def _table_rows(summary: Summary, explain: bool) -> Iterator[tuple[str, str]]:
    heavy = "" if summary.weight is None else f" of weight {summary.weight:,.6g}"
    yield "points", f"{summary.points:,}{heavy} in {', '.join(summary.columns)}"
    if summary.missing:
        yield "missing", f"values in {pluralize(summary.missing, 'row')}"
    if summary.bandwidth is not None:
        yield from _search_rows(summary, summary.bandwidth)
    yield "clusters", _format_clusters(summary)
    yield from _cluster_rows(summary)
    if summary.noise:
        yield "noise", _format_noise(summary)
    if summary.candidates is not None:
        yield "valleys", _format_candidates(summary.candidates)
    if explain:
        yield from _valley_rows(summary.valleys or [])
    spent = summary.seconds
    times = [f"{STAGES[stage]} {duration(spent[stage])}" for stage in STAGES if stage in spent]
    yield "time", ", ".join(times)
    if summary.map:
        yield "map", f"{summary.output}, {summary.map}"
    elif summary.output:
        column = f", column {summary.label_column}" if summary.label_column else ""
        yield "labels", f"{summary.output}{column}"
    if summary.plot:
        yield "picture", summary.plot
    if summary.centers_file:
        yield "centers", summary.centers_file


def _search_rows(summary: Summary, bandwidth: list[float]) -> Iterator[tuple[str, str]]:
    yield "bandwidth", format_bandwidth(bandwidth)
    weight = "" if summary.grid_weight is None else f", of a grid of weight {summary.grid_weight:,}"
    yield "cells", f"{summary.cells:,}{weight}"
    yield "steps", f"{summary.iterations}{'' if summary.converged else ', not converged'}"


def _valley_rows(valleys: Sequence[Valley]) -> Iterator[tuple[str, str]]:
    """Yield a row for each of the clearest valleys."""
    for number, valley in enumerate(valleys[:VALLEYS_SHOWN]):
        yield "" if number else "valleys", str(valley)
    if len(valleys) > VALLEYS_SHOWN:
        yield "", f"... and {len(valleys) - VALLEYS_SHOWN:,} less clear ones, all in --json"


def describe_clusters(summary: Summary) -> str:
    """Return the number of clusters and how they were found, for the heading of a picture."""
    if summary.bandwidth is not None:
        found = pluralize(summary.clusters, "cluster")
        return f"{found}, bandwidth {format_bandwidth(summary.bandwidth)}"
    if summary.strictness is None:
        return f"{pluralize(summary.clusters, 'cluster')} cut from the tree"
    return pluralize(summary.clusters, "significant cluster")


def _format_clusters(summary: Summary) -> str:
    if summary.valleys is None:
        return f"{summary.clusters:,}"
    kind = "significant" if summary.strictness is not None else "cut from the tree"
    return f"{summary.clusters:,} {kind}"


def _format_candidates(candidates: list[Candidate]) -> str:
    """Return the sentence about one cluster, and the options to try."""
    from meanshiftpp.core.tree.valleys import describe_candidates  # imports NumPy

    sentence = describe_candidates(candidates, "--strictness")
    return f"{sentence}; meanshiftpp sweep shows the clusters at many bandwidths"


def _format_noise(summary: Summary) -> str:
    if summary.weight is not None:
        return f"weight {summary.noise:,.6g}"
    return pluralize(int(summary.noise), "point")


def _cluster_rows(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield a row of the printed table for each of the largest clusters."""
    whole = "points" if summary.weight is None else "weight"
    for k in range(min(len(summary.sizes), CLUSTERS_SHOWN)):
        size = f"{100 * summary.shares[k]:.3g} % of the {whole} ({_format_size(summary.sizes[k])})"
        yield f"cluster {k}", f"{size}: {_values(summary, k)}"
    more = len(summary.sizes) - CLUSTERS_SHOWN
    if more > 0:
        largest = _format_size(max(summary.sizes[CLUSTERS_SHOWN:]))
        yield "", f"... and {more:,} smaller {_ones(more)}, of at most {largest}"
    if summary.valleys is not None and len(summary.sizes) > MANY_CLUSTERS:
        small = _format_option(summary.sizes[CLUSTERS_SHOWN - 1])
        yield (
            "",
            f"--n-clusters {CLUSTERS_SHOWN} or --min-cluster-size {small} shows the same tree "
            "coarser, a larger --n-clusters finer; --centers lists all clusters",
        )


def _ones(n: int) -> str:
    return "one" if n == 1 else "ones"


def _format_option(size: float) -> str:
    """Return a size as a whole number of two digits, for an option."""
    return f"{max(int(float(f'{size:.2g}')), 2)}"


def _values(summary: Summary, k: int) -> str:
    """Return the mean and the standard deviation of the first columns."""
    values: Sequence[tuple[str, float, float]] = [
        *zip(summary.columns, summary.means[k], summary.spreads[k], strict=True)
    ]
    texts = [f"{name} {_format_value(mean, spread)}" for name, mean, spread in values]
    rest = len(texts) - FEATURES_SHOWN
    return ", ".join(texts[:FEATURES_SHOWN]) + (f" and {rest} more columns" if rest > 0 else "")


def _format_size(size: float) -> str:
    return f"{size:,}" if isinstance(size, int) else f"{size:,.6g}"


def _format_value(mean: float, spread: float) -> str:
    """Return a mean and its spread, both to the second digit of the spread."""
    if not 1e-12 * abs(mean) < spread < math.inf:
        return f"{mean:.6g}\u00a0±\u00a0{spread:.2g}"
    digits = min(max(1 - math.floor(math.log10(spread)), 0), 12)
    return f"{mean:.{digits}f}\u00a0±\u00a0{spread:.{digits}f}"
