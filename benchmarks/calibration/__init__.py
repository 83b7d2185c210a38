"""Simulate data without clusters and calibrate the tree: `python -m benchmarks.calibration`.

cases        the simulated data: nulls, which are one cluster, and mixtures
simulation   trees of all cases over many seeds, on several processes, kept in a file
derivation   critical values from the strictness that nulls needed; writes the table
rates        rates of false splits with their intervals
report       JSON, Markdown, the screen
"""
