"""Results against those of libraries that this project did not write.

The estimator checks of scikit-learn are in `tests/estimators`; `make test-lowest` repeats them with
the oldest version. The comparison of colours with scikit-image is in `tests/images`.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from sklearn.cluster import DBSCAN, MeanShift
from sklearn.metrics import adjusted_rand_score
from tests.images.scenes import same_partition

from meanshiftpp import Grid, GridDensity, MeanShiftPP, _kernel

CELL_SIZE = 0.25  # a power of two, so that edges of cells are exact in every library


def lattice_points(n: int, d: int, seed: int) -> np.ndarray:
    """Draw points on a lattice, many of them exactly on the edges of cells."""
    return np.random.default_rng(seed).integers(-64, 64, (n, d)) / 32.0


# -- grids and histograms --------------------------------------------------------------------------


@given(
    n=st.integers(1, 400),
    d=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
)
def test_counts_equal_the_histogram_of_numpy(n, d, seed, weighted):
    X = lattice_points(n, d, seed)
    weight = np.random.default_rng(seed).integers(0, 5, n) if weighted else None
    grid = Grid.from_points(X, CELL_SIZE, sample_weight=weight)
    low = -9
    edges = [np.arange(low, 10) * CELL_SIZE] * d
    expected, _ = np.histogramdd(X, edges, weights=weight)
    counts = np.zeros_like(expected)
    counts[tuple((grid.cells - low).T)] = grid.counts
    np.testing.assert_array_equal(counts, expected)


@given(n=st.integers(1, 300), d=st.integers(4, 12), seed=st.integers(0, 2**32 - 1))
def test_cells_equal_the_unique_rows_of_numpy(n, d, seed):
    X = lattice_points(n, d, seed) * np.random.default_rng(seed).integers(0, 2, d)
    grid = Grid.from_points(X, CELL_SIZE)
    cells, counts = np.unique(np.floor(X / CELL_SIZE).astype(int), axis=0, return_counts=True)
    np.testing.assert_array_equal(grid.cells, cells)
    np.testing.assert_array_equal(grid.counts, counts)


@pytest.mark.parametrize("resolution", [1, 2, 3])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_densities_equal_a_histogram_filtered_by_scipy(d, resolution):
    """The count in a window is a box filter of the histogram."""
    X = lattice_points(500, d, seed=d)
    bandwidth = CELL_SIZE * (2 * resolution + 1)
    model = GridDensity(bandwidth, resolution=resolution).fit(X)
    np.testing.assert_array_equal(model.grid_.bandwidth, [CELL_SIZE] * d)
    low, n_cells = -20, 40
    counts = np.histogramdd(X, [np.arange(low, low + n_cells + 1) * CELL_SIZE] * d)[0]
    sums = ndimage.convolve(counts, np.ones([2 * resolution + 1] * d), mode="constant")
    volume = ((2 * resolution + 1) * CELL_SIZE) ** d
    cells = np.floor(X / CELL_SIZE).astype(int) - low
    expected = np.log(sums[tuple(cells.T)] / (len(X) * volume))
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-12)


# -- clusters --------------------------------------------------------------------------------------


def separated_blobs(d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw blobs of diameter 1 whose centers are at least 8 apart along an axis."""
    rng = np.random.default_rng(seed)
    centers = rng.permutation(8)[:5, None] * 8.0 + rng.uniform(-1, 1, (5, d))
    labels = rng.integers(0, 5, 300)
    return centers[labels] + rng.uniform(-0.5, 0.5, (300, d)), labels


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_separated_clusters_equal_those_of_scikit_learn(d, seed):
    X, truth = separated_blobs(d, seed)
    ours = MeanShiftPP(bandwidth=1.5).fit(X)
    theirs = MeanShift(bandwidth=4.0).fit(X)
    assert adjusted_rand_score(theirs.labels_, truth) == 1
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1
    assert adjusted_rand_score(DBSCAN(eps=3.0).fit_predict(X), ours.labels_) == 1
    # Both converge to the means of the blobs.
    order = [np.argmin(np.abs(theirs.cluster_centers_ - c).sum(1)) for c in ours.cluster_centers_]
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_[order], atol=1e-6)
    # New points near the blobs go to the same clusters.
    new = X + np.random.default_rng(seed).uniform(-0.2, 0.2, X.shape)
    assert adjusted_rand_score(ours.predict(new), theirs.predict(new)) == 1


# -- images ----------------------------------------------------------------------------------------


def finest_regions(clusters: np.ndarray, n_threads: int) -> np.ndarray:
    """Return the connected pieces of a label image or volume; nothing is absorbed or merged."""
    flat = np.ascontiguousarray(clusters.reshape(-1), np.int32)
    colours = np.repeat(flat[:, None] * np.float32(20), 3, axis=1)
    shape = (1, *clusters.shape) if clusters.ndim == 2 else clusters.shape
    pieces = _kernel.Hierarchy(colours, flat, shape, (1.0, 1.0, 1.0), 1, 1.0, n_threads)
    return pieces.cut(colours, pieces.count(-1.0), 1, n_threads).reshape(clusters.shape)


def blotches(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Draw four clusters in irregular blotches, and masked pixels."""
    smooth = ndimage.uniform_filter(np.random.default_rng(seed).random(shape), 3)
    quantiles = np.quantile(smooth, [0.2, 0.4, 0.6, 0.8])
    return np.digitize(smooth, quantiles) - 1


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("seed", range(4))
def test_connected_pieces_equal_those_of_opencv(seed, n_threads):
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed")
    clusters = blotches((90, 700), seed)
    pieces = finest_regions(clusters, n_threads)
    np.testing.assert_array_equal(pieces == -1, clusters == -1)
    for value in range(4):
        here = clusters == value
        n, theirs = cv2.connectedComponents(here.astype(np.uint8), connectivity=4)
        assert len(np.unique(pieces[here])) == n - 1
        assert same_partition(pieces[here], theirs[here])


@pytest.mark.parametrize("n_threads", [1, 4])
def test_connected_pieces_of_a_volume_equal_those_of_scipy(n_threads):
    clusters = blotches((9, 40, 60), seed=5)
    pieces = finest_regions(clusters, n_threads)
    for value in range(4):
        here = clusters == value
        theirs, n = ndimage.label(here)
        assert len(np.unique(pieces[here])) == n
        assert same_partition(pieces[here], theirs[here])


@pytest.mark.parametrize("space", ["lab", "luv"])
def test_colours_agree_with_opencv(space):
    """OpenCV interpolates a coarse table for Lab, with errors of up to 0.31."""
    cv2 = pytest.importorskip("cv2", reason="OpenCV is not installed")
    axis = np.linspace(0, 1, 18, dtype=np.float32)
    colours = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    code = {"lab": cv2.COLOR_RGB2LAB, "luv": cv2.COLOR_RGB2LUV}[space]
    theirs = cv2.cvtColor(colours[None], code)[0]
    ours = _kernel.convert_colours(colours, space, 1.0, 1)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=0.4)
