"""The work of `meanshiftpp cluster`.

Points that fit comfortably into memory are read once. Others are streamed: a first pass builds the
tally, or the grid of a given bandwidth, and a second labels. With a checkpoint or a grid file,
points are streamed too. The labels are the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.text import pluralize
from meanshiftpp.apps.cli.cluster.profile import in_period_of, write_centers
from meanshiftpp.apps.cli.cluster.summary import Summary, describe_clusters
from meanshiftpp.apps.cli.shared.clock import Stages
from meanshiftpp.apps.cli.shared.console import naming_columns, print_stderr, row_progress, spinner
from meanshiftpp.apps.cli.shared.options import add_points_with_progress, check_columns
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.gridfile import columns_of
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.profile import (
    Profile,
    profile_of_grid,
    profile_of_points,
    profile_of_tally,
)
from meanshiftpp.core.recipe import CheckedRecipe, Recipe
from meanshiftpp.core.tree.clusters import Clusters
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.core.tree.tally import Tally
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.label_files import write_labels
from meanshiftpp.io.maps.positions import find_position
from meanshiftpp.io.sources import Source

if TYPE_CHECKING:
    from meanshiftpp.apps.cli.cluster.maps import MapOutput

_NEAR_DATE_LINE = 170.0  # degrees of longitude
SAMPLE = 1_000_000  # rows of a stream for a picture


class Clustering:
    """One run: `read`, `stream` or `use_grid` find the clusters, `finish` writes the results."""

    def __init__(self, source: Source, recipe: Recipe | Significant, n_threads: int | None) -> None:
        self._source, self._recipe, self._n_threads = source, recipe, n_threads
        self._found: Modes | Clusters
        self._tally: Tally | None = None  # of a stream without a bandwidth
        self._points: NDArray[Any] | None = None  # all of them, or a sample
        self._labels: NDArray[np.int32] | None = None  # of all points, if they were read
        self._sizes: NDArray[np.int64] | None = None  # labels counted with --grid; noise first
        self._weights: NDArray[Any] | None = None  # of all points, if they were read
        self._streamed = True
        self._n_points: int | None = None  # None if the total weight counts them
        self._timed = Stages(first="start", between="describe")

    def read(self) -> None:
        """Read all points into memory, and cluster them."""
        source, recipe = self._source, self._checked_recipe()
        with self._timed("read"), spinner(f"reading {source.name}"):
            points, weights = source.read_weighted()
        with (
            self._timed("cluster"),
            source.locating_errors(),
            spinner(f"clustering {len(points):,} points"),
        ):
            found, *_, labels = recipe.fit(points, weights, n_threads=self._n_threads)
        self._found, self._labels = found, labels
        self._points, self._weights, self._n_points = points, weights, len(points)
        self._streamed = False

    def stream(self, checkpoint: Path | None, every: float) -> None:
        """Add up the points in a pass over them, and find the clusters of the sum."""
        source, checked = self._source, self._checked_recipe()

        def read(recipe: Any) -> Any:
            # A second pass for a tally begins at the end of the first if it is interrupted.
            saved = None if getattr(recipe, "levels", None) else checkpoint
            return add_points_with_progress(source, recipe.empty(), saved, every, self._n_threads)

        total: Any
        with self._timed("read"):
            total = checked.gather(read)
            if source.weight is not None:
                self._n_points = source.count_points()
        with self._timed("cluster"), spinner(f"clustering {source.name}"):
            self._tally = total if isinstance(total, Tally) else None
            self._found = checked.search(total, n_threads=self._n_threads)

    def use_grid(self, path: Path, *, chosen_columns: bool) -> None:
        """Search a grid file instead of the points, which are then labelled by it."""
        source, grid = self._source, Grid.load(path)
        if grid.n_features != len(source.columns):
            problem = (
                f"is a grid of {pluralize(grid.n_features, 'feature')}, but {source.name} "
                f"has {len(source.columns)}: {', '.join(source.columns)}; see --columns"
            )
            raise InvalidInputError.for_file(path, problem)
        check_columns(source.name, source.columns, path, columns_of(path), chosen=chosen_columns)
        assert isinstance(self._recipe, Recipe)  # of a grid
        with self._timed("cluster"), spinner(f"searching {len(grid):,} cells"):
            self._found = self._recipe.search(grid, n_threads=self._n_threads)
        self._sizes = np.zeros(len(self._found) + 1, np.int64)

    def finish(
        self, output: Path | MapOutput | None, plot: Path | None, centers: Path | None = None
    ) -> Summary:
        """Write labels or a map, a picture and a table of clusters, and return the summary."""
        if self._points is None and (plot or any(self._found.periods)):
            self._points = self._source.sample(SAMPLE)
        profile = self._profile()
        summary = self._summary(profile)
        if isinstance(output, Path):
            with self._timed("write"):
                summary.label_column = self._write(output)
            summary.output = str(output)
        if self._sizes is not None:
            self._count_labels(summary, self._sizes)
            self._sizes = None
        if output is not None and not isinstance(output, Path):
            labels = self._label if self._labels is None else self._labels
            with self._timed("write"):
                summary.map = output.write(summary, labels, self._label)
            summary.output = str(output.path)
        if plot:
            with spinner(f"drawing {plot}"):
                self._draw(plot, summary)
            summary.plot = str(plot)
        if centers:
            counted = {"weights": np.array(summary.sizes), "shares": np.array(summary.shares)}
            write_centers(centers, profile._replace(**counted), summary.columns)
            summary.centers_file = str(centers)
        summary.missing = self._count_missing()
        self._timed.close_gap()
        return summary

    @property
    def grid(self) -> Grid | None:
        """The grid that was searched, if any."""
        return self._found.grid if isinstance(self._found, Modes) else None

    def _checked_recipe(self) -> CheckedRecipe | Significant:
        with naming_columns(self._source.columns):
            return self._recipe.checked(len(self._source.columns))

    # -- results ------------------------------------------------------------------------------

    def _label(self, points: NDArray[Any]) -> NDArray[np.int32]:
        found: Any = self._found
        labels = self._recipe.label(found, points, n_threads=self._n_threads)
        if self._sizes is not None:
            self._sizes += np.bincount(labels + 1, minlength=len(self._sizes))
        return labels

    def _write(self, output: Path) -> str | None:
        with row_progress() as bar:
            task = bar.add_task("labelling", total=self._source.rows)
            return write_labels(
                output,
                self._source,
                self._label if self._labels is None else self._labels,
                progress=lambda rows: bar.advance(task, rows),
            )

    def _count_labels(self, summary: Summary, sizes: NDArray[np.int64]) -> None:
        """Replace the sizes of the grid by those of the labelled points, which may be others."""
        if not summary.output:
            with self._timed("label"):
                for chunk in self._source:
                    if len(chunk):
                        with chunk.locating_errors():
                            self._label(chunk.points)
        summary.grid_weight = self._found.total
        summary.points, summary.noise = int(sizes.sum()), int(sizes[0])
        summary.sizes = sizes[1:].tolist()
        summary.shares = (sizes[1:] / max(summary.points, 1)).tolist()

    def _draw(self, path: Path, summary: Summary) -> None:
        from meanshiftpp.estimators.condensed import CondensedTree
        from meanshiftpp.plot import clusters
        from meanshiftpp.plot.style import save

        assert self._points is not None  # sampled in `finish`
        figure = clusters(
            self._points,
            self._label(self._points) if self._labels is None else self._labels,
            centers=summary.centers,
            weights=summary.sizes,
            columns=self._source.columns,
            title=self._source.paths[0].name,
            subtitle=f"{summary.points:,} points, {describe_clusters(summary)}",
            tree=CondensedTree(self._found) if isinstance(self._found, Clusters) else None,
            noise=summary.noise,
            weighted=self._source.weight is not None,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # a glyph that no font has becomes a box
            save(figure, path)

    def _profile(self) -> Profile:
        """Return the profile of the clusters: of all points if they were read, else of their sum.

        On a feature with a period, centres and means are in the period of the points.
        """
        found, points, labels = self._found, self._points, self._labels
        if points is not None and labels is not None:
            profile = profile_of_points(found, points, labels, self._weights)
        elif isinstance(found, Modes):
            profile = profile_of_grid(found)
        else:
            assert self._tally is not None  # of a stream
            profile = profile_of_tally(found, self._tally, n_threads=self._n_threads)
            self._tally = None  # frees its memory
        if points is None or not any(found.periods):
            return profile
        return in_period_of(points, profile, found.periods)

    def _summary(self, profile: Profile) -> Summary:
        found = self._found
        weights = found.weights
        if isinstance(found, Clusters) and not found.cluster_all:
            weights = profile.weights  # points beyond the windows of all leaves are noise
        total = found.total
        summary = Summary(
            file=self._source.name,
            columns=list(self._source.columns),
            points=round(total) if self._n_points is None else self._n_points,
            weight=None if self._source.weight is None else total,
            clusters=len(found),
            sizes=[_plain(weight) for weight in weights.tolist()],
            centers=profile.centers.tolist(),
            means=profile.means.tolist(),
            shares=profile.shares.tolist(),
            spreads=profile.spreads.tolist(),
            noise=_plain(total - float(weights.sum())),
            streamed=self._streamed,
            seconds=self._timed.seconds,
        )
        if isinstance(found, Clusters):
            self._describe_tree(found, summary)
        else:
            summary.bandwidth, summary.cells = found.bandwidth.tolist(), len(found.grid)
            summary.iterations, summary.converged = found.n_iter, found.converged
        return summary

    def _describe_tree(self, clusters: Clusters, summary: Summary) -> None:
        from meanshiftpp.core.tree.valleys import candidates, valleys  # slow to import

        assert isinstance(self._recipe, Significant)  # it found the clusters
        summary.valleys = valleys(clusters)
        if self._recipe.n_clusters is None:
            summary.strictness = clusters.tree.strictness
            if not clusters.tree.splits and not self._recipe.min_weight:
                summary.candidates = candidates(clusters.tree, self._n_threads)
        _warn_of_date_line(clusters, self._source.columns)

    def _count_missing(self) -> int | None:
        """Return the number of rows that are left out because values are missing; None if unknown.

        A run that continues from a checkpoint does not read all rows, unless it writes labels.
        """
        return 0 if self._source.missing == "error" else self._source.rows_missing


def _plain(weight: float) -> float:
    """Return a whole number as an int: 3 instead of 3.0."""
    return int(weight) if weight == int(weight) else weight


def _warn_of_date_line(clusters: Clusters, columns: Sequence[str]) -> None:
    """Warn about longitudes on both sides of the date line, which raw numbers keep apart."""
    position = find_position(columns)
    if position is None or not position.is_geographic or any(clusters.periods):
        return
    leaves = clusters.tree.leaves
    longitudes = leaves.lattice.values(leaves.positions)[:, position.x]
    if longitudes.min() < -_NEAR_DATE_LINE < _NEAR_DATE_LINE < longitudes.max():
        name = columns[position.x]
        print_stderr(
            f"warning: {name!r} has values near -180 and 180, which are far apart as numbers; "
            "use --periodic with 360 for it, or a length such as -b 100km"
        )
