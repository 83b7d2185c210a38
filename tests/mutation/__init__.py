"""Mutation testing of the kernel and the package: does a test fail for every change of a line?

`make mutants` puts a switch at each operator: into a copy of the kernel, which it builds once
(`sources.py`, `switch.hpp`), and into modules of the package when they are imported (`modules.py`,
`switch.py`). It then runs the tests against one mutant after the other (`trials.py`), and fails if
a mutant survives that `explained.toml` does not list.
"""
