"""The work of `meanshiftpp cluster`.

Points that fit comfortably into memory are read once. Others are streamed: a first pass builds the
grid, a second labels. With a checkpoint or a grid file, points are streamed too. At a given
bandwidth the labels are the same; without one, a stream chooses it, and the tree that joins the
modes, from a sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from meanshiftpp._support.text import format_bandwidth, pluralize
from meanshiftpp.apps.cli.cluster.profile import profile_of, write_centers
from meanshiftpp.apps.cli.cluster.summary import Summary
from meanshiftpp.apps.cli.shared.console import naming_columns, print_stderr, row_progress, spinner
from meanshiftpp.apps.cli.shared.options import build_grid_with_progress, check_columns
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.grid import Grid
from meanshiftpp.core.gridfile import columns_of
from meanshiftpp.core.modes import Modes
from meanshiftpp.core.profile import Profile
from meanshiftpp.core.recipe import CheckedRecipe, Recipe
from meanshiftpp.core.tree import JoinedModes, Tree
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.io.label_files import write_labels
from meanshiftpp.io.maps.positions import find_position
from meanshiftpp.io.sources import Source

if TYPE_CHECKING:
    from meanshiftpp.apps.cli.cluster.maps import MapOutput

# Points, the weight of all points of which they are a sample, and their weights.
WeightedSample = tuple[NDArray[Any], float, NDArray[Any] | None]
_NEAR_DATE_LINE = 170.0  # degrees of longitude
SAMPLE = 1_000_000  # rows of a stream for the choice of a bandwidth and for a picture


class Clustering:
    """One run: `read`, `stream` or `use_grid` find the modes, `finish` writes the results."""

    def __init__(
        self,
        source: Source,
        recipe: Recipe,
        n_threads: int | None,
        n_clusters: int | None = None,
    ) -> None:
        self._source, self._recipe, self._n_threads = source, recipe, n_threads
        self._n_clusters = n_clusters
        self._modes: Modes
        self._points: NDArray[Any] | None = None  # all of them, or a sample
        self._labels: NDArray[np.int32] | None = None  # of all points, if they were read
        self._sizes: NDArray[np.int64] | None = None  # labels counted with --grid; noise first
        self._weights: NDArray[Any] | None = None  # of all points, if they were read
        self._streamed = True
        self._n_points: int | None = None  # None if the weight of the grid counts them
        self._seconds: dict[str, float] = {}

    def read(self) -> None:
        """Read all points into memory, and cluster them."""
        source = self._source
        with self._timed("read"), spinner(f"reading {source.name}"):
            points, weights = source.read_weighted()
        with self._timed("cluster"), source.locating_errors():
            total = len(points) if weights is None else float(weights.sum())
            recipe = self._checked_recipe(lambda: (points, total, weights))
            with spinner(f"clustering {len(points):,} points"):
                if self._cuts_grid():
                    grid = recipe.bin(Chunk(points, weights), n_threads=self._n_threads)
                    recipe = replace(recipe, tree=self._cut_tree(grid))
                self._modes, self._labels = recipe.fit(points, weights, n_threads=self._n_threads)
        self._points, self._weights, self._n_points = points, weights, len(points)
        self._streamed = False

    def stream(self, checkpoint: Path | None, every: float) -> None:
        """Build the grid in a pass over the points, and search it."""
        source = self._source
        with self._timed("read"):
            recipe = self._checked_recipe(lambda: source.sample_weighted(SAMPLE))
            grid = build_grid_with_progress(
                source, recipe.empty(), checkpoint, every, self._n_threads
            )
            if source.weight is not None:
                self._n_points = source.count_points()
        self._search(grid)

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
        self._search(grid)
        self._sizes = np.zeros(len(self._modes) + 1, np.int64)

    def finish(
        self, output: Path | MapOutput | None, plot: Path | None, centers: Path | None = None
    ) -> Summary:
        """Write labels or a map, a picture and a table of clusters, and return the summary."""
        if self._points is None and (plot or any(self._modes.grid.periods)):
            self._points = self._source.sample(SAMPLE)[0]
        profile = profile_of(self._modes, self._points, self._labels, self._weights)
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
        return summary

    @property
    def grid(self) -> Grid:
        """The grid that was searched."""
        return self._modes.grid

    # -- modes --------------------------------------------------------------------------------

    def _checked_recipe(self, sample: Callable[[], WeightedSample]) -> CheckedRecipe:
        """Return the checked recipe; choose a bandwidth if none is given, and print it exactly."""
        recipe, n_features = self._recipe, len(self._source.columns)
        if recipe.bandwidth is not None:
            with naming_columns(self._source.columns):
                return recipe.checked(n_features)
        from meanshiftpp.bandwidth.significant import complete_recipe  # slow to import

        with spinner(f"choosing a bandwidth for {self._source.name}"):
            points, total, weights = sample()
            options: dict[str, Any] = {"n_clusters": self._n_clusters}
            recipe = complete_recipe(
                recipe, points, total, weights, n_threads=self._n_threads, **options
            )
        if np.isfinite(points).all():  # otherwise binning reports the bad value
            print_stderr(_chosen(recipe, len(points), self._n_clusters))
            _warn_of_date_line(points, self._source.columns, recipe)
        self._recipe = recipe
        return recipe.checked(n_features)

    def _cuts_grid(self) -> bool:
        """Return whether a tree is to be grown from the grid and cut."""
        return self._n_clusters is not None and self._recipe.tree is None

    def _cut_tree(self, grid: Grid) -> Tree:
        return Tree.of_grid(grid, n_threads=self._n_threads).cut(
            self._n_clusters, n_threads=self._n_threads
        )

    def _search(self, grid: Grid) -> None:
        with self._timed("cluster"), spinner(f"searching {len(grid):,} cells"):
            if self._cuts_grid() and len(grid):
                self._recipe = replace(self._recipe, tree=self._cut_tree(grid))
            self._modes = self._recipe.search(grid, n_threads=self._n_threads)

    # -- results ------------------------------------------------------------------------------

    def _label(self, points: NDArray[Any]) -> NDArray[np.int32]:
        labels = self._recipe.label(self._modes, points, n_threads=self._n_threads)
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
        summary.grid_weight = self._modes.grid.total
        summary.points, summary.noise = int(sizes.sum()), int(sizes[0])
        summary.sizes = sizes[1:].tolist()
        summary.shares = (sizes[1:] / max(summary.points, 1)).tolist()

    def _draw(self, path: Path, summary: Summary) -> None:
        from meanshiftpp.estimators.condensed import CondensedTree
        from meanshiftpp.plot import clusters
        from meanshiftpp.plot.style import save

        assert self._points is not None  # sampled in `finish`
        modes = self._modes
        figure = clusters(
            self._points,
            self._recipe.label(modes, self._points, n_threads=self._n_threads),
            centers=summary.centers,
            weights=summary.sizes,
            columns=self._source.columns,
            title=self._source.paths[0].name,
            subtitle=f"{summary.points:,} points, {pluralize(summary.clusters, 'cluster')}, "
            f"bandwidth {format_bandwidth(summary.bandwidth)}",
            tree=CondensedTree(modes) if isinstance(modes, JoinedModes) else None,
            noise=summary.noise,
            weighted=self._source.weight is not None,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # a glyph that no font has becomes a box
            save(figure, path)

    def _summary(self, profile: Profile) -> Summary:
        modes = self._modes
        total, in_clusters = modes.grid.total, float(modes.weights.sum())
        n_points = round(total) if self._n_points is None else self._n_points
        summary = Summary(
            file=self._source.name,
            columns=list(self._source.columns),
            points=n_points,
            weight=None if self._source.weight is None else total,
            bandwidth=modes.bandwidth.tolist(),
            cells=len(modes.grid),
            iterations=modes.n_iter,
            converged=modes.converged,
            clusters=len(modes),
            sizes=[_plain(weight) for weight in modes.weights.tolist()],
            centers=profile.centers.tolist(),
            means=profile.means.tolist(),
            shares=profile.shares.tolist(),
            spreads=profile.spreads.tolist(),
            noise=_plain(total - in_clusters),
            streamed=self._streamed,
            seconds=self._seconds,
        )
        if isinstance(modes, JoinedModes):
            self._describe_tree(modes, summary)
        return summary

    def _describe_tree(self, modes: JoinedModes, summary: Summary) -> None:
        from meanshiftpp.core.tree.valleys import candidates, valleys  # slow to import

        summary.valleys = valleys(modes)
        if self._n_clusters is None:
            summary.strictness = modes.tree.strictness
            if not modes.tree.splits:
                summary.candidates = candidates(modes.tree, self._n_threads)

    def _count_missing(self) -> int | None:
        """Return the number of rows that are left out because values are missing; None if unknown.

        A run that continues from a checkpoint does not read all rows, unless it writes labels.
        """
        return 0 if self._source.missing == "error" else self._source.rows_missing

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = perf_counter()
        yield
        self._seconds[stage] = perf_counter() - start


def _plain(weight: float) -> float:
    """Return a whole number as an int: 3 instead of 3.0."""
    return int(weight) if weight == int(weight) else weight


def _warn_of_date_line(points: NDArray[Any], columns: Sequence[str], recipe: Recipe) -> None:
    """Warn about longitudes on both sides of the date line, which raw numbers keep apart."""
    position = find_position(columns)
    if position is None or not position.is_geographic or recipe.periodic is not None:
        return
    longitudes = points[:, position.x]
    if len(longitudes) and longitudes.min() < -_NEAR_DATE_LINE < _NEAR_DATE_LINE < longitudes.max():
        name = columns[position.x]
        print_stderr(
            f"warning: {name!r} has values near -180 and 180, which are far apart as numbers; "
            "use --periodic with 360 for it, or a length such as -b 100km"
        )


def _chosen(recipe: Recipe, n_points: int, n_clusters: int | None) -> str:
    """Return the message about an automatic bandwidth: the options that repeat the run."""
    sizes = ",".join(f"{size!r}" for size in np.asarray(recipe.bandwidth).tolist())
    message = f"bandwidth chosen from {pluralize(n_points, 'point')}: -b {sizes}"
    if not recipe.join:
        return message
    options = "--join" if n_clusters is None else f"--join --n-clusters {n_clusters}"
    if n_clusters is None and recipe.strictness != 1:
        options += f" --strictness {recipe.strictness!r}"
    return f"{message} {options} (with -b, the tree is grown from the grid and may differ)"
