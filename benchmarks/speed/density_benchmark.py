"""The benchmark of the density: error and time of GridDensity() and of a kernel estimate."""

from __future__ import annotations

from functools import partial
from statistics import median

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.timing import median_times
from benchmarks.speed.checks import WrongResultError
from benchmarks.speed.presets import Preset
from benchmarks.speed.results import Measurement, OnMeasurement, Result
from meanshiftpp._support.text import pluralize

POINTS = 10_000
LATTICE = {1: 2_000, 2: 64}  # places along each axis
GRID, KERNEL = "GridDensity()", "KernelDensity"
SHARES, PLACES, SPREADS = (0.5, 0.3, 0.2), (-1.5, 0.5, 1.5), (0.8, 1.0, 0.5)
Reals = NDArray[np.float64]


def density(preset: Preset, on_measurement: OnMeasurement) -> Result:
    """Compare the errors on samples of a known density, and the times on one sample."""
    n = max(POINTS // min(preset.goal_divisor, 10), 1_000)
    result = Result("density", f"Density of {n:,} points, fitted and evaluated on a lattice", [])
    for d in LATTICE:
        at = lattice(d)
        errors = [error_ratio(d, at, seed, n) for seed in range(preset.rounds)]
        X = draw(d, n, 0)
        calls = {GRID: partial(grid_estimate, X, at), KERNEL: partial(kernel_estimate, X, at)}
        times = median_times(calls, min(preset.rounds, 3))
        for name, seconds in times.items():
            row = Measurement(f"{name}, {pluralize(d, 'feature')}", times=(seconds,))
            on_measurement(row)
            result.rows.append(row)
        text = f"{pluralize(d, 'feature')}: error {median(errors):.3f} times that of {KERNEL}"
        result.notes.append(text)
        if preset.full_size:
            result.reached[f"density-{d}d"] = median(errors)
    return result


def error_ratio(d: int, at: Reals, seed: int, n: int) -> float:
    """Return the error of GridDensity() on a sample as a multiple of the kernel estimate's."""
    X, expected = draw(d, n, seed), truth(at)
    errors = [np.square(f(X, at) - expected).sum() for f in (grid_estimate, kernel_estimate)]
    if not 0 < errors[0] < 0.1 * np.square(expected).sum():
        raise WrongResultError(f"GridDensity() in {d} features is far from the density")
    return float(np.sqrt(errors[0] / errors[1]))


def grid_estimate(X: Reals, at: Reals) -> Reals:
    from meanshiftpp import GridDensity

    return np.exp(GridDensity().fit(X).score_samples(at))


def kernel_estimate(X: Reals, at: Reals) -> Reals:
    """Return the estimate with a normal kernel and the bandwidth of the normal reference rule."""
    from sklearn.neighbors import KernelDensity

    (n, d), spread = X.shape, X.std(axis=0)
    h = (4 / (d + 2) / n) ** (1 / (d + 4))
    model = KernelDensity(bandwidth=h, rtol=1e-4).fit(X / spread)
    return np.exp(model.score_samples(at / spread)) / spread.prod()


def draw(d: int, n: int, seed: int) -> Reals:
    """Draw points of three overlapping Gaussians."""
    random = np.random.default_rng(seed)
    part = random.choice(len(SHARES), n, p=SHARES)
    noise = random.normal(size=(n, d)) * np.array(SPREADS)[part, None]
    return np.array(PLACES)[part, None] + noise


def truth(at: Reals) -> Reals:
    """Return the density of the three Gaussians."""
    d, total = at.shape[1], np.zeros(len(at))
    for share, place, spread in zip(SHARES, PLACES, SPREADS, strict=True):
        square = np.square((at - place) / spread).sum(axis=1)
        total += share * np.exp(-square / 2) / (spread * np.sqrt(2 * np.pi)) ** d
    return total


def lattice(d: int) -> Reals:
    axis = np.linspace(-6, 6, LATTICE[d])
    return np.stack([each.ravel() for each in np.meshgrid(*[axis] * d)], axis=1)
