"""How fast is it, measured so that the answer can be trusted.

    make bench                      # everything, about ten minutes on two cores
    python -m benchmarks --quick    # small sizes, to see that it runs
    python -m benchmarks --large    # and 1e8 points, 1.2 GB
    python -m benchmarks n memory   # some of it

Every contender works on the same arrays, drawn from the same seed, and they take turns: what the
machine does meanwhile hits all of them. Each peer has a process of its own, so that its imports,
threads and memory disturb no other; `X.sum()`, which is reading the data once and so the floor, is
taken in turns with ours in one process. A time is reported only for an answer that was checked.

    goals     what is aimed at, as data
    data      the arrays
    contenders  what is run: ours, the floor, the peers
    worker    the process of a contender       lanes   the other end of it, and the race
    checks    what a right answer is
    suite     the benchmarks: what is run at which sizes
    upkeep    the benchmarks of memory and of starting up
    report    JSON, Markdown, the screen       plots   pictures        machine   where it ran
    tolerance the evidence for the default of `tol`, on real tables
    bandwidth the automatic bandwidth against the best there is, on real tables
    rate      the theorem's rate, measured      density  against scikit-learn's KernelDensity
    paper     the paper's experiments in one report
"""
