"""Recipe: the only validation of parameters, the steps of a fit, and the warning at max_iter."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from tests.helpers import assert_same_modes

from meanshiftpp import Grid, MeanShiftPP, Tracker, quantize, seek, segment, sweep
from meanshiftpp._kernel import MAX_REACH
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.recipe import CheckedRecipe, Recipe, Search, fine_bandwidth, min_weight_for
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.video import VideoSegmenter


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (900, 2)), rng.normal(9, 1, (500, 2)), [[40, 40]]])


# -- parameters ------------------------------------------------------------------------------------

BAD = {
    "bandwidth": (None, "wide", 0, -1.0, math.nan, math.inf, [1.0, 2.0, 3.0], [1.0, 0.0]),
    "resolution": (0, -1, MAX_REACH + 1, 1.5, True, "4", None),
    "periodic": ([360], "degrees", [360, 0], [math.inf, None], [[1, 2]]),
    "tol": (-1e-9, math.nan, "a", None, True),
    "max_iter": (0, -3, 1.5, True, None),
    "min_weight": (-1, math.nan, "a", None),
}


@pytest.mark.parametrize(
    ("parameter", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_bad_parameter_raises_with_its_name_the_expectation_and_the_value(parameter, value):
    recipe = Recipe(**{"bandwidth": 1.0, parameter: value})
    with pytest.raises(InvalidInputError) as caught:
        recipe.checked(2)
    error = caught.value
    assert error.parameter == parameter
    assert str(error).startswith(f"{parameter} must be {error.expected}, got {error.got!r}")
    values = value if isinstance(value, list) else [value]
    assert error.got in (value, *values) or error.got != error.got  # NaN
    assert (error.row, error.column) == (None, None)


@pytest.mark.parametrize("name", ["resolution", "tol", "max_iter", "min_weight"])
def test_search_checks_the_parameters_that_it_uses(name):
    grid = Grid.from_points([[1.0]], 1.0)
    with pytest.raises(InvalidInputError) as caught:
        Recipe(**{name: BAD[name][0]}).search(grid)
    assert caught.value.parameter == name


def test_checked_recipe_holds_converted_parameters():
    recipe = Recipe(2, resolution=np.int64(4), periodic=[36, None], tol=0, max_iter=10**12)
    checked = recipe.checked(2)
    assert isinstance(checked, CheckedRecipe)
    assert checked.bandwidth.tolist() == [2.0, 2.0]
    assert checked.cells_per_period.tolist() == [54, 0]
    assert_array_equal(checked.cell_size, [36 / 54, fine_bandwidth(2, 4)])
    assert (type(checked.resolution), type(checked.tol)) == (int, float)
    assert checked.max_iter == 2**31 - 1  # the largest number of the kernel


def test_period_must_hold_a_window():
    with pytest.raises(
        InvalidInputError, match=r"^feature 0 .*use a bandwidth of at most 3 for it"
    ):
        Recipe(4.0, periodic=[9, None]).checked(2)


def test_search_of_an_empty_grid_raises():
    recipe = Recipe(1.0).checked(2)
    with pytest.raises(InvalidInputError, match="an empty grid has no modes"):
        recipe.search(recipe.empty())


# -- steps -----------------------------------------------------------------------------------------

OPTIONS = [
    {},
    {"resolution": 3},
    {"periodic": [12, None]},
    {"resolution": 2, "periodic": [12, 30], "min_weight": 40.0},
    {"min_weight": 5.0, "cluster_all": False},
    {"tol": 0, "max_iter": 500},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_fit_equals_bin_search_and_label(points, options, weighted):
    recipe = Recipe(1.0, **options).checked(2)
    weight = np.random.default_rng(1).integers(0, 3, len(points)) if weighted else None
    modes, labels = recipe.fit(points, weight)
    halves = [Chunk(points[part], None if weight is None else weight[part]) for part in HALVES]
    grid = sum((recipe.bin(chunk) for chunk in halves), recipe.empty())
    assert grid == modes.grid
    assert_same_modes(recipe.search(grid), modes)
    assert_array_equal(recipe.label(recipe.search(grid), points), labels)


HALVES = (slice(0, 700), slice(700, None))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_estimator_follows_the_recipe(points, options):
    modes, labels = Recipe(1.0, **options).checked(2).fit(points)
    names = {"min_weight": "min_cluster_size"}
    model = MeanShiftPP(1.0, **{names.get(name, name): value for name, value in options.items()})
    assert_array_equal(model.fit_predict(points), labels)
    assert model.grid_ == modes.grid
    assert_array_equal(model.cluster_centers_, modes.centers)


def test_seek_follows_the_recipe(points):
    grid = Grid.from_points(points, 0.5)
    modes = Recipe(resolution=2, tol=0.01, max_iter=50).search(grid)
    assert_same_modes(seek(grid, resolution=2, tol=0.01, max_iter=50), modes)


def test_min_weight_drops_light_clusters(points):
    every, labels = Recipe(2.0).checked(2).fit(points)
    modes, kept = Recipe(2.0, min_weight=100).checked(2).fit(points)
    assert every.weights[-1] < 100
    assert_array_equal(modes.weights, every.weights[every.weights >= 100])
    assert_array_equal(kept, np.where(labels < len(modes), labels, -1))


def test_min_weight_is_met_by_equal_weight(points):
    every, _ = Recipe(2.0).checked(2).fit(points)
    lightest = every.weights[-1]
    assert len(Recipe(2.0, min_weight=lightest).checked(2).fit(points)[0]) == len(every)
    assert len(Recipe(2.0, min_weight=lightest + 1e-9).checked(2).fit(points)[0]) < len(every)


@pytest.mark.parametrize(("size", "weight"), [(1, 0.0), (0.5, 0.0), (1.5, 1.5), (20, 20.0)])
def test_minimum_cluster_size_of_one_keeps_every_cluster(size, weight):
    assert min_weight_for(size) == weight


def test_bin_states_the_place_of_a_bad_value():
    recipe = Recipe(1.0).checked(1)
    bad = Chunk(np.array([[1.0], [math.nan]]), source="b.csv", first=70, columns=("height",))
    with pytest.raises(
        InvalidInputError, match=r"b\.csv, row 72, column 'height' is NaN"
    ) as caught:
        recipe.bin(bad)
    assert (caught.value.row, caught.value.column) == (71, 0)


# -- convergence -----------------------------------------------------------------------------------


@pytest.fixture
def one_step(monkeypatch):
    """Limit every search to one step; images and videos have no parameter for it."""
    checked = Search.checked
    monkeypatch.setattr(Search, "checked", lambda *given: checked(*given)._replace(max_iter=1))


def picture() -> np.ndarray:
    values = np.random.default_rng(0).normal(90, 15, (40, 40, 3))
    values[:, 20:] += 40
    return values.clip(0, 255).round().astype(np.uint8)


def track() -> None:
    Tracker(adapt="paper").init(picture(), (10, 10, 20, 20))


LIMITED = {
    "segment": lambda: segment(picture(), 8.0, regions=False),
    "segment, automatic bandwidth": lambda: segment(picture(), regions=False),
    "quantize": lambda: quantize(picture(), 8.0),
    "video": lambda: VideoSegmenter(regions=False).update(picture()),
    "tracker": track,
}
PARAMETER = {
    "seek": lambda X: seek(Grid.from_points(X, 0.4), max_iter=1),
    "estimator": lambda X: MeanShiftPP(0.4, max_iter=1).fit(X),
    "partial_fit": lambda X: MeanShiftPP(0.4, max_iter=1).partial_fit(X),
    "sweep": lambda X: sweep(X, [0.4], max_iter=1),
}


def assert_one_warning(caught, message: str) -> None:
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert warning.filename == __file__  # the line of the caller, not one of the package
    assert str(warning.message).startswith(message)


@pytest.mark.parametrize("call", PARAMETER.values(), ids=PARAMETER)
def test_reaching_max_iter_warns_once(points, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(points)
    assert_one_warning(caught, "the search still moved points after 1 step; raise max_iter")


@pytest.mark.parametrize("call", LIMITED.values(), ids=LIMITED)
def test_search_of_an_image_that_reaches_max_iter_warns_once(one_step, call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert_one_warning(caught, "the search still moved points after 1 step")


def test_sweep_counts_the_searches_that_reached_max_iter(points):
    with pytest.warns(ConvergenceWarning, match=r"^1 of 2 searches still moved points") as caught:
        result = sweep(points, [0.4, 400], max_iter=3)
    assert len(caught) == 1
    assert [modes.converged for modes in result.modes] == [False, True]


def test_warning_carries_the_problem(points):
    with pytest.warns(ConvergenceWarning) as caught:
        seek(Grid.from_points(points, 0.4), max_iter=2)
    (warning,) = caught
    assert warning.message.problem == "the search still moved points after 2 steps"


def test_quiet_search_does_not_warn(points):
    modes = Recipe(max_iter=1).search_quietly(Grid.from_points(points, 0.4))
    assert not modes.converged


def test_converged_searches_do_not_warn(points):
    assert seek(Grid.from_points(points, 0.4)).converged
    segment(picture(), 8.0, regions=False)
    VideoSegmenter(regions=False).update(picture())
    track()


def test_searching_an_array_instead_of_a_grid_raises(points):
    with pytest.raises(InvalidInputError, match=r"needs a Grid, got ndarray; use Grid"):
        seek(points)
