"""How fast is it, measured so that the answer can be trusted.

    make bench                      # everything, about ten minutes on two cores
    python -m benchmarks --quick    # small sizes, to see that it runs
    python -m benchmarks --large    # and 1e8 points, 1.2 GB
    python -m benchmarks n memory   # some of it

Every contender works on the same arrays, drawn from the same seed, and they take turns: what the
machine does meanwhile hits all of them. Each peer has a process of its own, so that its imports,
threads and memory disturb no other; `X.sum()`, which is reading the data once and so the floor, is
taken in turns with ours in one process. A time is reported only for an answer that was checked.

That is `speed`. Each of the others is a command of its own, `python -m benchmarks.NAME`, which says
with `--help` what it is given; most are the source of a table in the documents.

    speed       time, memory and starting up, against peers: what `python -m benchmarks` runs
    paper       the paper's experiments in one report, `make paper`
    bsds        segmentations of BSDS500 against what people drew
    tracking    trackers on films with a box for every frame
    images      colour clusters of photographs against a copy of them, OpenCV's mean shift, slic
    bandwidth   the automatic bandwidth against the best there is, on real tables
    tolerance   the evidence for the default of `tol`, on real tables
    origin      how much depends on where the cells begin
    density     GridDensity against scikit-learn's KernelDensity
    rate        the theorem's rate, measured
    scale       files of any size against only reading them
    engines     one process, Dask and Spark on the same files
    gpu         the GPU against reading the data once, and against the CPU
    studio      the studio in a browser: from a slider's event to the painted picture

    common      what several of them use: data, notes, measures, tables, axes
    results/    where they write, if nothing else is said; not in the repository
"""
