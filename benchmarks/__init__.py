"""Reproducible measurements of speed, memory and quality.

    make bench                      # the speed benchmarks, about ten minutes on two cores
    python -m benchmarks --quick    # the same with small sizes, to check that they run
    python -m benchmarks --large    # additionally 1e8 points, 1.2 GB
    python -m benchmarks n memory   # only some of them

All contenders work on the same arrays, drawn from the same seed, and take turns, so that
background load affects all of them alike. Each peer runs in a separate process, so that its
imports, threads and memory do not disturb the others. `X.sum()`, which reads the data once and is
therefore the floor, takes turns with meanshiftpp in one process. A time is reported only if the
result passed its checks.

`python -m benchmarks` runs `speed`. The others are commands, `python -m benchmarks.NAME`, with
their own `--help`; most of them produce a table of the documentation.

    speed       time, memory and start-up, compared with peers: `python -m benchmarks`
    paper       the paper's experiments in one report: `make paper`
    bsds        segmentations of BSDS500, compared with human drawings
    tracking    trackers on sequences with a box for every frame
    clustering  clusters of points, compared with reference labellings and with peers
    calibration  how often data without clusters is split, and the critical values
    images      colour clusters of photographs: an image copy, OpenCV's mean shift and SLIC
    bandwidth   the automatic bandwidth and the best possible one, on real tables
    tolerance   the evidence for the default of `tol`, on real tables
    origin      how much the clusters depend on the origin of the grid
    density     GridDensity and scikit-learn's KernelDensity
    rate        the convergence rate of the paper's theorem
    scale       clustering Parquet files of any size, compared with only reading them
    engines     one process, Dask and Spark on the same files
    gpu         the GPU, compared with reading the data once and with the CPU
    studio      the studio in a browser: from a slider event to the painted picture

    common      shared code: data, metrics, timing, tables, plots
    results/    the default output folder; git ignores it
"""
