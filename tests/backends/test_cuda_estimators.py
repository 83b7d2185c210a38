"""Estimators and images on a GPU against the CPU, compared with ==; skipped without a GPU."""

import os

import numpy as np
import pytest
from sklearn.datasets import load_iris
from tests.backends.gpu import blobs, needs_gpu, same, to_gpu

from meanshiftpp import Grid, GridDensity, MeanShiftPP, palette, quantize, segment, sweep
from meanshiftpp.errors import InvalidInputError

pytestmark = needs_gpu


def test_weights_may_be_on_another_device_than_the_points():
    X, w = blobs(2, "float64"), np.random.default_rng(0).integers(0, 3, 3000)
    expected = MeanShiftPP(0.7).fit(X, sample_weight=w)
    for points, weight in ((to_gpu(X), w), (to_gpu(X), w.tolist()), (X, to_gpu(w))):
        found = MeanShiftPP(0.7).fit(points, sample_weight=weight)
        assert found.grid_ == expected.grid_
        assert same(found.labels_, expected.labels_)
        chosen = MeanShiftPP().fit(points, sample_weight=weight)
        assert same(chosen.labels_, MeanShiftPP().fit(X, sample_weight=w).labels_)
        assert GridDensity(0.5).fit(points, sample_weight=weight).grid_.total == w.sum()
        found, expected_sweep = (sweep(x, sample_weight=y) for x, y in ((points, weight), (X, w)))
        assert np.array_equal(found.n_clusters, expected_sweep.n_clusters)
    assert Grid.from_points(to_gpu([[1.0]]), 1.0, sample_weight=[2]).total == 2


@pytest.mark.parametrize("rows", [1500, 30_000])
def test_significant_clusters_are_those_of_the_cpu(rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 2)) + 6 * rng.integers(0, 3, (rows, 1))
    a, b = (MeanShiftPP().fit(x) for x in (X, to_gpu(X)))
    assert len(a.cluster_weights_) == 3
    assert same(b.labels_, a.labels_)
    assert same(b.probabilities_, a.probabilities_)
    assert np.array_equal(a.cluster_persistence_, b.cluster_persistence_)
    assert a.tree_.splits == b.tree_.splits
    assert same(b.cut(n_clusters=2).labels_, a.cut(n_clusters=2).labels_)
    assert a.explain(0) == b.explain(0)
    new = X * 1.7
    assert same(b.predict(to_gpu(new)), a.predict(new))
    c, d = (MeanShiftPP(cluster_all=False).fit(x) for x in (X, to_gpu(X)))
    assert same(d.labels_, c.labels_)
    parts = MeanShiftPP()
    for part in np.array_split(X, 3):
        parts.partial_fit(to_gpu(part))
    assert np.array_equal(parts.predict(X), a.labels_)
    assert np.array_equal(c.membership_vector(X[:50]), d.membership_vector(to_gpu(X[:50])))


def test_the_estimator_stays_on_the_gpu():
    import cupy

    X = blobs(3, "float32")
    w = np.random.default_rng(0).integers(0, 3, len(X))
    a = MeanShiftPP(0.7, min_cluster_size=20).fit(X, sample_weight=w)
    b = MeanShiftPP(0.7, min_cluster_size=20).fit(to_gpu(X), sample_weight=to_gpu(w))
    for name in ("labels_", "cluster_centers_", "cluster_weights_"):
        assert isinstance(getattr(b, name), cupy.ndarray), name
        assert same(getattr(b, name), getattr(a, name)), name
    assert b.n_features_in_ == 3
    many = blobs(3, "float32", n=40_000)
    assert same(MeanShiftPP().fit(to_gpu(many)).labels_, MeanShiftPP().fit(many).labels_)
    c = MeanShiftPP(0.7)
    for part in np.array_split(X, 3):
        c.partial_fit(to_gpu(part))
    assert c.grid_ == MeanShiftPP(0.7).fit(X).grid_


def test_array_api_dispatch_of_scikit_learn_does_not_change_the_labels():
    import sklearn

    X = blobs(3, "float32")
    expected = MeanShiftPP(0.7).fit_predict(X)
    if not os.environ.get("SCIPY_ARRAY_API"):
        pytest.skip("SCIPY_ARRAY_API is not set: scikit-learn cannot dispatch")
    with sklearn.config_context(array_api_dispatch=True):
        found = MeanShiftPP(0.7).fit_predict(to_gpu(X))
    assert same(found, expected)


def torch_tensor(X):
    torch = pytest.importorskip("torch", reason="no PyTorch: its arrays were not tested")
    return torch.from_numpy(X).cuda(), torch.from_dlpack


def jax_array(X):
    # By default, JAX takes most of the GPU's memory.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax", reason="no JAX: its arrays were not tested")
    gpus = [device for device in jax.devices() if device.platform == "gpu"]
    if not gpus:
        pytest.skip("this JAX has no GPU: its arrays were not tested")
    return jax.device_put(X, gpus[0]), jax.dlpack.from_dlpack


@pytest.mark.parametrize("make", [torch_tensor, jax_array])
def test_arrays_of_other_libraries_pass_through_dlpack(make):
    X = load_iris().data.astype(np.float32)
    array, from_dlpack = make(X)
    expected = MeanShiftPP(0.5).fit_predict(X)
    labels = MeanShiftPP(0.5).fit_predict(array)
    assert same(labels, expected)
    assert np.array_equal(np.from_dlpack(from_dlpack(labels), device="cpu"), expected)
    assert Grid.from_points(array, 0.5) == Grid.from_points(X, 0.5)


def test_images_in_rgb():
    image = blobs(3, "uint8", n=80 * 60).reshape(60, 80, 3)
    options = {"space": "rgb", "regions": False}
    assert same(segment(to_gpu(image), 16.0, **options), segment(image, 16.0, **options))
    assert same(segment(to_gpu(image), **options), segment(image, **options))
    assert same(quantize(to_gpu(image), 16.0), quantize(image, 16.0))
    assert same(palette(to_gpu(image), 16.0).colors, palette(image, 16.0).colors)
    with pytest.raises(InvalidInputError, match="regions=False"):
        segment(to_gpu(image))
    with pytest.raises(InvalidInputError, match=r"colours are converted to .* on the CPU"):
        segment(to_gpu(image), regions=False)


def test_density_and_sweep():
    X = blobs(2, "float64")
    a, b = (GridDensity(0.5, resolution=1).fit(x) for x in (X, to_gpu(X)))
    assert np.allclose(b.score_samples(to_gpu(X)).get(), a.score_samples(X), rtol=1e-15, atol=0)
    assert np.array_equal(b.score_samples(X), a.score_samples(X))  # points on the host
    assert GridDensity().fit(to_gpu(X)).grid_ == GridDensity().fit(X).grid_
    a, b = (sweep(x, [0.5, 1.0, 2.0]) for x in (X, to_gpu(X)))
    assert list(b.n_clusters) == list(a.n_clusters)
    assert same(b.labels(1, to_gpu(X)), a.labels(1, X))


def test_new_points_get_the_same_labels_as_on_the_cpu():
    X, new = blobs(3, "float32"), blobs(3, "float32", seed=7) * 3
    a, b = (MeanShiftPP(0.7).fit(x) for x in (X, to_gpu(X)))
    assert same(b.predict(to_gpu(new)), a.predict(new))
    a.set_params(cluster_all=False), b.set_params(cluster_all=False)
    assert same(b.predict(to_gpu(new)), a.predict(new))
