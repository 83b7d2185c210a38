"""What `meanshiftpp demo` does: points, Iris, a photograph and clips; tables and pictures.

The million points are drawn from a known mixture, so the table can say how well the clusters agree
with where each point came from. Each data set has one bandwidth, chosen by hand, and the time of
one plain `fit`. The photograph comes with scikit-image and is segmented by its methods as well. The
clips are drawn by code: in each, something happens that a tracker has to cope with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from meanshiftpp._support.extras import need
from meanshiftpp.errors import FileAccessError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from meanshiftpp.estimators.cluster import MeanShiftPP

SEED = 7
SHOWN_FRAMES = {  # of each clip, those where something happens
    "light": (0, 45, 75, 119),
    "occlusion": (20, 30, 38, 70),
    "lookalike": (30, 55, 65, 90),
    "leaving": (20, 60, 90, 110),
}


@dataclass(frozen=True)
class Shown:
    """A data set that was clustered: what goes into the table and the picture."""

    name: str
    columns: Sequence[str]
    X: NDArray[Any]
    model: MeanShiftPP
    seconds: float
    agreement: float  # adjusted Rand index of the labels and the truth
    picture: Path


def gaussians(
    n: int = 1_000_000, k: int = 18, noise: float = 0.03, seed: int = SEED
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Draw points in the plane from a mixture of varied Gaussians over uniform noise.

    Parameters
    ----------
    n : int, default=1_000_000
        Number of points.
    k : int, default=18
        Number of Gaussians. Each has its own weight, width, shape and direction.
    noise : float, default=0.03
        Part of the points that are uniform noise.
    seed : int
        The same seed draws the same points.

    Returns
    -------
    X : ndarray of shape (n, 2), float32
        The points.
    source : ndarray of shape (n,)
        The Gaussian each came from; k is noise.

    Examples
    --------
    >>> from meanshiftpp.apps.demo import gaussians
    >>> X, source = gaussians(1000)
    >>> X.shape, int(source.max())
    ((1000, 2), 18)
    """
    rng = np.random.default_rng(seed)
    centers = _apart(rng, k)
    angle, width, ratio = rng.uniform(0, np.pi, k), rng.uniform(0.35, 1.0, k), rng.uniform(1, 3, k)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shape = np.moveaxis(turn * np.array([width, width / ratio]), 2, 0)  # (k, 2, 2)
    weight = rng.dirichlet(np.full(k, 3.0)) * (1 - noise)
    source = rng.choice(k + 1, n, p=[*weight, noise])
    X = rng.uniform(-12, 12, (n, 2))
    drawn = source < k
    of = source[drawn]
    spread = np.einsum("nij,nj->ni", shape[of], rng.normal(size=(len(of), 2)))
    X[drawn] = centers[of] + spread
    return X.astype(np.float32), source


def _apart(rng: np.random.Generator, k: int) -> NDArray[np.float64]:
    """Draw places one by one, each the farthest from the others of some that were tried."""
    places = [rng.uniform(-9, 9, 2)]
    while len(places) < k:
        tried = rng.uniform(-9, 9, (6, 2))
        nearest = np.linalg.norm(tried[:, None] - np.array(places), axis=2).min(axis=1)
        places.append(tried[nearest.argmax()])
    return np.array(places)


def run(out: Path) -> None:
    """Cluster, segment and track; print tables, write pictures to `out`."""
    need("matplotlib", "plot")
    rich = need("rich.console", "cli")
    console, progress = rich.Console(highlight=False), rich.Console(stderr=True)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileAccessError(f"cannot make the folder {str(out)!r}: {error.strerror}") from error
    with progress.status("making a million points ..."):
        X, source = gaussians()
    with progress.status("clustering ..."):
        shown = [
            _cluster("a million points", ("x", "y"), X, source, 0.4, out / "million.png"),
            _iris(out / "iris.png"),
        ]
    with progress.status("drawing ..."):
        for each in shown:
            _draw(each)
    pictures = [each.picture for each in shown]
    console.print(_table(shown))
    try:
        with progress.status("segmenting a photograph ..."):
            segmented = _photograph(out / "photograph.png")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("skimage"):
            raise
        console.print("  no photograph: that part needs scikit-image: pip install scikit-image")
    else:
        console.print(_photograph_table(segmented))
        pictures.append(out / "photograph.png")
    with progress.status("tracking a ball ..."):
        tracked = [_track(name) for name in SHOWN_FRAMES]
        _strips(tracked, out / "tracking.png")
    console.print(_tracking_table(tracked))
    pictures.append(out / "tracking.png")
    for picture in pictures:
        console.print(f"  picture: [bold]{picture}[/]")


def _iris(picture: Path) -> Shown:
    from sklearn.datasets import load_iris

    iris = load_iris()
    columns = [name.removesuffix(" (cm)") for name in iris.feature_names]
    return _cluster("Iris", columns, iris.data, iris.target, 0.7, picture)


def _cluster(
    name: str,
    columns: Sequence[str],
    X: NDArray[Any],
    truth: NDArray[Any],
    bandwidth: float,
    picture: Path,
) -> Shown:
    from sklearn.metrics import adjusted_rand_score

    from meanshiftpp.estimators.cluster import MeanShiftPP

    start = perf_counter()
    model = MeanShiftPP(bandwidth).fit(X)
    seconds = perf_counter() - start
    agreement = float(adjusted_rand_score(truth, model.labels_))
    return Shown(name, columns, X, model, seconds, agreement, picture)


def _draw(shown: Shown) -> None:
    from meanshiftpp._support.files import atomic_path
    from meanshiftpp.plot import clusters

    model = shown.model
    figure = clusters(
        shown.X,
        model.labels_,
        centers=model.cluster_centers_,
        columns=shown.columns,
        title=f"MeanShift++ on {shown.name}",
        subtitle=f"{len(shown.X):,} points, {len(model.cluster_centers_):,} modes found "
        f"in {shown.seconds * 1e3:.3g} ms",
    )
    with atomic_path(shown.picture) as target:
        figure.savefig(target)


def _table(shown: Sequence[Shown]) -> Any:
    """Make a table with a column for each data set."""
    table = need("rich.table", "cli").Table(box=need("rich.box", "cli").SIMPLE_HEAD)
    table.add_column()
    for each in shown:
        table.add_column(each.name, justify="right")
    columns = [list(_facts(each)) for each in shown]
    for row in zip(*columns, strict=True):
        table.add_row(row[0][0], *(value for _, value in row))
    return table


def _facts(shown: Shown) -> Iterator[tuple[str, str]]:
    model = shown.model
    yield "points x features", f"{len(shown.X):,} x {shown.X.shape[1]}"
    yield "bandwidth", f"{model.bandwidth_[0]:g}"
    yield "occupied cells", f"{len(model.grid_):,}"
    yield "iterations", f"{model.n_iter_}"
    yield "clusters", f"{len(model.cluster_weights_):,}"
    yield "of 0.5% and more", f"{np.sum(model.cluster_weights_ >= 0.005 * len(shown.X)):,}"
    yield "largest", "  ".join(f"{size:,.0f}" for size in model.cluster_weights_[:3])
    yield "adjusted Rand index", f"{shown.agreement:.3f}"
    yield "[bold]time of fit[/]", f"[bold green]{shown.seconds * 1e3:.3g} ms[/]"


# -- the photograph -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Segmented:
    """A photograph as one method cuts it."""

    method: str
    setting: str
    labels: NDArray[Any]
    seconds: float


def _photograph(picture: Path) -> list[Segmented]:
    """Segment a photograph that comes with scikit-image, with our method and two of its own."""
    data, peers = import_module("skimage.data"), import_module("skimage.segmentation")

    from meanshiftpp.images.draw import contact_sheet, fill, region_colors
    from meanshiftpp.images.picture import write
    from meanshiftpp.images.segmentation import segment

    image = data.astronaut()
    ours = _timed("meanshiftpp.segment", "as it comes", lambda: segment(image))
    k = int(ours.labels.max()) + 1
    methods = [
        ours,
        # What suits photographs of this size, and as many segments as ours: the defaults of both
        # are made for superpixels, hundreds of small pieces.
        _timed(
            "skimage felzenszwalb",
            "scale=400, min_size=1000",
            lambda: peers.felzenszwalb(image, scale=400, min_size=1000),
        ),
        _timed(
            "skimage slic",
            f"n_segments={k}",
            lambda: peers.slic(image, n_segments=k, start_label=0),
        ),
    ]
    panels = [("photograph", "astronaut, from scikit-image (NASA)", image)]
    for each in methods:
        words = f"{each.labels.max() + 1} regions in {each.seconds * 1e3:.3g} ms, {each.setting}"
        panels.append((each.method, words, fill(each.labels, region_colors(image, each.labels))))
    write(picture, contact_sheet(panels))
    return methods


def _timed(method: str, setting: str, work: Callable[[], NDArray[Any]]) -> Segmented:
    """Segment three times and keep the best time: the first call of a library is often slow."""
    seconds = []
    for _ in range(3):
        start = perf_counter()
        labels = work()
        seconds.append(perf_counter() - start)
    return Segmented(method, setting, labels, min(seconds))


def _photograph_table(methods: Sequence[Segmented]) -> Any:
    table = need("rich.table", "cli").Table(box=need("rich.box", "cli").SIMPLE_HEAD)
    for name in ("photograph, 512 x 512", "regions", "time", "setting"):
        table.add_column(name, justify="right" if name in ("regions", "time") else "left")
    for i, each in enumerate(methods):
        time = f"{each.seconds * 1e3:.3g} ms"
        style = ("[bold green]", "[/]") if i == 0 else ("", "")
        table.add_row(each.method, str(each.labels.max() + 1), time.join(style), each.setting)
    return table


# -- the clips ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tracked:
    """A clip and what the tracker said in each of its frames."""

    name: str
    frames: list[NDArray[np.uint8]]
    truth: list[Any]  # windows, or None
    windows: list[Any]
    oks: list[bool]
    seconds: float

    @property
    def overlap(self) -> float:
        """How well the windows lie on the ball, on average, where it is to be seen."""
        from meanshiftpp.tracking.clips import overlap

        pairs = zip(self.windows, self.truth, strict=True)
        return float(np.mean([overlap(here, there) for here, there in pairs if there]))


def _track(name: str) -> Tracked:
    from meanshiftpp.tracking.clips import CLIPS
    from meanshiftpp.tracking.tracker import Tracker

    frames, truth = zip(*CLIPS[name](), strict=True)
    tracker = Tracker()
    tracker.init(frames[0], truth[0])
    start = perf_counter()
    found = [tracker.update(frame) for frame in frames[1:]]
    seconds = perf_counter() - start
    oks, windows = zip(*[(True, truth[0]), *found], strict=True)
    return Tracked(name, list(frames), list(truth), list(windows), list(oks), seconds)


def _strips(tracked: Sequence[Tracked], picture: Path) -> None:
    """Draw some frames of each clip, a row each."""
    from meanshiftpp.images.draw import contact_sheet
    from meanshiftpp.images.picture import write
    from meanshiftpp.tracking import marks

    panels = []
    for each in tracked:
        for at in SHOWN_FRAMES[each.name]:
            frame, window, ok = each.frames[at], each.windows[at], each.oks[at]
            words = "followed" if ok else "lost"
            if each.truth[at] is None:
                words += " (hidden)"
            panels.append((f"{each.name}, frame {at}", words, marks.tracked(frame, window, ok)))
    write(picture, contact_sheet(panels, columns=len(panels) // len(tracked)))


def _tracking_table(tracked: Sequence[Tracked]) -> Any:
    table = need("rich.table", "cli").Table(box=need("rich.box", "cli").SIMPLE_HEAD)
    for name in ("clip, 320 x 240", "frames", "hidden", "said lost", "overlap", "updates a second"):
        table.add_column(name, justify="left" if name.startswith("clip") else "right")
    for each in tracked:
        hidden = sum(window is None for window in each.truth)
        speed = f"{(len(each.frames) - 1) / each.seconds:,.0f}"
        counts = (len(each.frames), hidden, each.oks.count(False))
        cells = [*map(str, counts), f"{each.overlap:.2f}", f"[bold green]{speed}[/]"]
        table.add_row(each.name, *cells)
    return table
