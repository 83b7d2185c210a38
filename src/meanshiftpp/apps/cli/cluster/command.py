"""`meanshiftpp cluster`: read points, write a label for each."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from meanshiftpp.apps.cli.cluster.profile import Centers, check_centers
from meanshiftpp.apps.cli.cluster.summary import print_summary
from meanshiftpp.apps.cli.shared.console import print_stderr, report_errors
from meanshiftpp.apps.cli.shared.metres import hint_metres, in_metres, to_degrees
from meanshiftpp.apps.cli.shared.options import (
    MAP_FORMATS,
    AsJson,
    Bandwidth,
    CheckpointFile,
    Columns,
    Every,
    Files,
    Periods,
    Resolution,
    Strictness,
    Threads,
    check_periods,
    check_plot,
    free_memory,
    is_map,
    open_source,
    parse_bandwidth,
    parse_periods,
    parse_size,
)
from meanshiftpp.apps.cli.shared.row_options import (
    MissingOption,
    MissingRows,
    Rows,
    Weight,
    WhereOption,
)


def cluster(
    context: typer.Context,
    files: Files,
    bandwidth: Bandwidth = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Output file: a table with all columns of FILE and the labels, .npy for labels "
            "only, .tif for a raster, .las or .laz for a point cloud, .gpkg or .geojson for a map.",
        ),
    ] = None,
    hulls: Annotated[
        bool,
        typer.Option("--hulls", help="Write hulls of the clusters to a map, instead of centers."),
    ] = False,
    centers: Centers = None,
    columns: Columns = None,
    weight: Weight = None,
    missing: MissingOption = MissingRows.error,
    where: WhereOption = None,
    as_json: AsJson = False,
    strictness: Strictness = None,
    n_clusters: Annotated[
        int | None,
        typer.Option(
            "--n-clusters", min=1, metavar="K", help="Cut the tree of clusters into K clusters."
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the valley that sets each cluster apart.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="PNG",
            help="Draw the clusters, and the tree of significant ones (.png, .svg or .pdf).",
        ),
    ] = None,
    resolution: Resolution = 1,
    periodic: Periods = None,
    tol: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="T",
            help="After 64 steps, cells that would move by at most T bandwidths stay.",
        ),
    ] = 1e-3,
    max_iter: Annotated[int, typer.Option(min=1, metavar="N", help="Stop after N steps.")] = 10_000,
    min_cluster_size: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Clusters of fewer points join their neighbour; with -b or --grid they are noise, "
            "of label -1.",
        ),
    ] = 1,
    cluster_all: Annotated[
        bool,
        typer.Option(
            "--cluster-all/--no-cluster-all",
            help="Assign every point to a cluster, or label -1 those in sparse surroundings; with "
            "--grid, those outside of it.",
        ),
    ] = True,
    threads: Threads = None,
    stream: Annotated[
        bool | None,
        typer.Option("--stream/--no-stream", help="Read twice in chunks, or once into memory."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Stream points that need more memory, such as 500M or 2G. Default: a quarter of "
            "the free memory.",
        ),
    ] = None,
    checkpoint: CheckpointFile = None,
    every: Every = 30.0,
    grid: Annotated[
        Path | None,
        typer.Option(metavar="GRID", help="Label the points by this grid file, from `grid build`."),
    ] = None,
) -> None:
    """Find the clusters of the points in FILE.

    Prints a short table and writes a label for each row to OUT: 0 is the largest cluster. Without
    a bandwidth, a cluster is a group that a significant valley separates from the rest. Files that
    do not fit comfortably into memory are read twice, in chunks, with the same result.
    """
    metric = in_metres(bandwidth)
    bandwidths = (
        None if bandwidth is None or metric else parse_bandwidth(bandwidth, or_lengths=True)
    )
    periods = parse_periods(periodic)
    _check_effects(context, "-b" if bandwidth else "--grid" if grid else None)
    if strictness is not None and n_clusters is not None:
        raise typer.BadParameter("--n-clusters chooses the strictness, but --strictness was given")
    if hulls and not (output and is_map(output)):
        raise typer.BadParameter("--hulls needs a map; add -o with a .gpkg or .geojson file")
    limit = free_memory() // 4 if memory is None else parse_size(memory)
    if stream is False and checkpoint:
        raise typer.BadParameter("--checkpoint needs a stream, but --no-stream was given")
    if grid:
        determined = {"--bandwidth": bandwidth, "--periodic": periodic, "--checkpoint": checkpoint}
        determined["--weight"] = weight
        _check_options_of_grid({**determined, "--no-stream": stream is False})
    with report_errors():
        from meanshiftpp._support.files import check_no_overwrite
        from meanshiftpp.apps.cli.cluster.run import Clustering
        from meanshiftpp.core.recipe import Recipe, min_weight_for
        from meanshiftpp.core.tree.significant import Significant
        from meanshiftpp.io.label_files import check_output

        if centers:
            check_centers(centers)
        if plot:
            check_plot(plot)
        source = open_source(files, columns, Rows(weight, missing.value, where), grid)
        check_periods(periodic, source.columns)
        inputs = [*source.paths, *([grid] if grid else [])]
        check_no_overwrite([output, centers, plot, checkpoint], inputs)
        map_output = None
        if output and is_map(output):
            from meanshiftpp.apps.cli.cluster.maps import MapOutput

            map_output = MapOutput(output, source, hulls=hulls, geographic=metric)
        elif output:
            check_output(output, source, also=MAP_FORMATS)
        if bandwidth and metric:
            bandwidths, periods = to_degrees(bandwidth, source, periods)
        min_weight = min_weight_for(min_cluster_size)
        recipe = (
            Recipe(
                bandwidths,
                resolution=resolution,
                periodic=periods,
                tol=tol,
                max_iter=max_iter,
                min_weight=min_weight,
                cluster_all=cluster_all,
            )
            if bandwidth or grid
            else Significant(
                periods,
                strictness=1.0 if strictness is None else strictness,
                min_weight=min_weight,
                cluster_all=cluster_all,
                n_clusters=n_clusters,
            )
        )
        work = Clustering(source, recipe, threads)
        if grid:
            work.use_grid(grid, chosen_columns=columns is not None)
        elif checkpoint or (source.nbytes > limit if stream is None else stream):
            work.stream(checkpoint, every)
        else:
            work.read()
        summary = work.finish(map_output or output, plot, centers)
        if checkpoint:
            checkpoint.unlink(missing_ok=True)
        if bandwidth and not metric and work.grid is not None:
            hint_metres(source.columns, summary.bandwidth or [], work.grid)
    if summary.bandwidth and 2 * summary.sizes.count(1) > summary.points > 1:
        print_stderr(
            "more than half of the points are alone in their cluster; use a larger bandwidth "
            "(meanshiftpp sweep shows the clusters at many)"
        )
    if n_clusters is not None and summary.clusters < n_clusters:
        size = f" of --min-cluster-size {min_cluster_size}" if min_cluster_size > 1 else ""
        advice = "a smaller size" if size else "fewer clusters"
        print_stderr(
            f"expected {n_clusters:,} clusters, found {summary.clusters:,}{size}; use {advice}"
        )
    if as_json:
        typer.echo(json.dumps(asdict(summary)))
    else:
        print_summary(summary, explain=explain)


def _check_effects(context: typer.Context, searched: str | None) -> None:
    """Raise for options without effect; `searched` is the option that asks for a search of a grid.

    A search keeps every mode; only a tree has valleys, which need a strictness.
    """
    of_tree, of_search = ("strictness", "n_clusters", "explain"), ("resolution", "tol", "max_iter")
    for name in of_tree if searched else of_search:
        if (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            if searched:
                raise typer.BadParameter(f"{option} has no effect with {searched}; leave out one")
            raise typer.BadParameter(f"{option} has no effect without -b or --grid; add one")


def _check_options_of_grid(given: dict[str, object]) -> None:
    """Raise for options that the grid has already determined."""
    for name, value in given.items():
        if value:
            raise typer.BadParameter(f"{name} cannot be used with --grid, which determines it")
