"""The benchmarks of `python -m benchmarks`: time, memory and start-up, compared with peers.

Contenders take turns on the same arrays; every peer has a separate process.

    goals               the targets, as data
    presets             sizes and limits of a full, a quick and a test run
    contenders          the functions that are measured: ours, the floor, the peers
    time_benchmarks     which contenders run at which sizes
    density_benchmark   error and time of a density
    features_benchmark  binning with six to ten features
    files_benchmark     Parquet, CSV and a photograph
    memory_benchmark    peak memory
    startup_benchmark   imports and the command line
    timing              contenders take turns in worker processes
    worker              the process of a contender
    worker_client       starts a worker process and sends requests to it
    checks              criteria of a correct result
    results             measurements of a contender, result of a benchmark
    report              JSON, Markdown, the screen
    plots               figures
"""
