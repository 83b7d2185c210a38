"""Code that several benchmarks share. Nothing here depends on a particular benchmark.

    clustering         bin, search and label without the estimator
    command_line       the argument parser of every command
    csv_tables         real data sets: CSV files with the label in the last column
    machine            processor, memory and versions, for the reports
    partition_metrics  how similar two segmentations or clusterings are
    plots              axes and line labels in the style of the package's plots
    reporting          tables, goals, durations, report files, the progress bar
    result_cache       results in a file, so that a stopped run continues
    synthetic          Gaussian clusters from a fixed seed
    time_limit         calls in a separate process that is killed at a time limit
    timing             median times of calls that take turns

Reports are written to `RESULTS` by default.
"""

from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"
