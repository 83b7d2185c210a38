"""Mutation testing of the kernel: does a test fail for every change of a line?

`make mutants` builds the kernel once with a switch at each operator (`sources.py`, `switch.hpp`),
then runs the tests of each area against one mutant after the other (`trials.py`). It fails if a
mutant survives that `explained.toml` does not list.
"""
