"""The benchmarks of `python -m benchmarks`: time, memory and starting up, against peers.

Contenders take turns on the same arrays; those that are not ours have processes of their own.

    goals       what is aimed at, as data
    contenders  what is run: ours, the floor, the peers
    suite       the benchmarks of speed: what is run at which sizes
    upkeep      those of memory and of starting up
    worker      the process of a contender     lanes    the other end of it, and the race
    checks      what a right answer is
    report      JSON, Markdown, the screen     plots    pictures
"""
