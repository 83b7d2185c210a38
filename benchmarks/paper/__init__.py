"""Repeat the paper's experiments with this package: one command, one report.

    make paper DATA=dir                        # everything, under an hour on two cores
    python -m benchmarks.paper dir --quick     # small sizes, to check that it runs
    python -m benchmarks.paper dir --only table2 tracking

`dir` contains `tables/`, `bsds500/` and `tracking/`; missing tables are downloaded from UCI or
OpenML if there is a network. The report, paper.html and paper.md, separates values measured here
from values of the paper. A stopped run continues where it was.

    figure1      one step of a point
    figure2      time and quality by number of points
    table2       clustering quality and time on all data sets
    figure3      scores and times by bandwidth
    gallery      segmented photographs side by side
    bsds         BSDS500, with the benchmark `benchmarks.bsds`
    tracking     object tracking, with the benchmark `benchmarks.tracking`
    theorem      the convergence rate, with the benchmark `benchmarks.rate`

    published    the paper's tables, as data
    datasets     the data sets of Table 1: local files or downloads
    sensor_data  the large data sets of Table 1, or synthetic stand-ins
    run          options, folders and helpers that all sections share
    report       the report as HTML and Markdown
"""
