"""Score hierarchies of regions at every scale: `python -m benchmarks.bsds.scales DATA_DIR`.

    python -m benchmarks.bsds.scales DATA_DIR --part val --gpb UCM2_DIR
    python -m benchmarks.bsds.scales DATA_DIR --copy grey          # or "noise 15"
    python -m benchmarks.bsds.scales DATA_DIR --part train --halves STEM

ODS is the best mean over the photographs at one level for all; OIS takes the best level of each
photograph. `default` is the level of `segment(image)`. Boundary F counts boundary pixels within
0.75 % of the diagonal of a drawn one, by distance, without the one-to-one matching of BSDS.

`hand-made` is `segment` without the learned cost. gPb's published maps are `.mat` files with the
array `ucm2`. `--halves` names the tables that `benchmarks.bsds.train --folds` wrote: each
photograph of train is then segmented by the table that was learned without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.bsds.photos import PARTS, Photo, load
from benchmarks.bsds.train import vary
from benchmarks.common.command_line import command_parser
from benchmarks.common.partition_metrics import Scores, mean, score_counts
from benchmarks.common.reporting import Table, markdown_table
from meanshiftpp.images import merge_table
from meanshiftpp.images.pixels import read_pixels
from meanshiftpp.images.segmentation import Hierarchy, merge_regions

DETAILS = np.geomspace(0.1, 12, 33)  # the default, 1, is added
UCM_LEVELS = np.linspace(0.02, 0.8, 34)
SCALES = np.geomspace(50, 4000, 12)  # of felzenszwalb
TOLERANCE = 0.0075  # of the diagonal, for boundaries
Labels = NDArray[np.integer]


class Level(NamedTuple):
    """The scores of a photograph at one level, and its boundary pixels: found, right, drawn."""

    scores: Scores
    found: float
    right: float
    drawn: float
    recalled: float


class Hit(NamedTuple):
    """What was measured of one photograph: a list of levels, and the number of the default one."""

    levels: list[Level]
    default: int | None


# -- hierarchies -----------------------------------------------------------------------------------


def cuts_of_ours(image: NDArray[np.uint8], table: Any) -> Iterator[Labels]:
    pixels = read_pixels(image, "lab", None, -1, 1)
    tree = Hierarchy(*merge_regions(pixels, None, None, np.inf, 1, table), pixels, 0, 1)
    for detail in [*DETAILS, 1.0]:
        yield tree.cut(float(detail))


def cuts_of_gpb(path: Path) -> Iterator[Labels]:
    from scipy.io import loadmat
    from scipy.ndimage import label

    strength = loadmat(path)["ucm2"]
    for level in UCM_LEVELS:
        yield label(strength <= level)[0][1::2, 1::2]


def cuts_of_felzenszwalb(image: NDArray[np.uint8]) -> Iterator[Labels]:
    from skimage.segmentation import felzenszwalb

    for scale in SCALES:
        yield felzenszwalb(image, scale=scale, sigma=0.8, min_size=500)


@cache
def table_at(path: str) -> Any:
    if not path:
        return merge_table.merge_table()
    return merge_table.make_table(json.loads(Path(path).read_text("utf-8")))


def cuts(method: str, photo: Photo, number: int, options: Any) -> Iterator[Labels]:
    if method == "gPb-owt-ucm":
        return cuts_of_gpb(options.gpb / f"{photo.name}.mat")
    image = vary(photo.image, options.copy, int(photo.name) if photo.name.isdigit() else 0)
    if method == "felzenszwalb":
        return cuts_of_felzenszwalb(image)
    if method == "hand-made":
        return cuts_of_ours(image, None)
    half = f"{options.halves}.half{number % 2}.json" if options.halves else options.table
    return cuts_of_ours(image, table_at(half))


# -- scores ----------------------------------------------------------------------------------------


def measure(task: tuple[int, Photo], method: str, options: Any) -> Hit:
    """Score one photograph at all levels."""
    number, photo = task
    truths = [np.unique(truth, return_inverse=True)[1] for truth in photo.truths]
    drawn = [boundary(truth) for truth in truths]
    radius = TOLERANCE * float(np.hypot(*truths[0].shape))
    near = [within(each, radius) for each in drawn]
    levels = [
        measure_level(labels, truths, drawn, near, radius)
        for labels in cuts(method, photo, number, options)
    ]
    return Hit(levels, len(levels) - 1 if method in ("segment", "hand-made") else None)


def measure_level(labels: Labels, truths: Any, drawn: Any, near: Any, radius: float) -> Level:
    codes = np.unique(labels, return_inverse=True)[1].ravel()
    scores = []
    for truth in truths:
        width = int(truth.max()) + 1
        size = (int(codes.max()) + 1) * width
        counts = np.bincount(codes * np.int64(width) + truth.ravel(), minlength=size)
        scores.append(score_counts(counts.reshape(-1, width)))
    found = boundary(labels)
    around = within(found, radius)
    return Level(
        mean(scores),
        float(found.sum()),
        float((found & np.logical_or.reduce(near)).sum()),
        float(sum(each.sum() for each in drawn)),
        float(sum((each & around).sum() for each in drawn)),
    )


def boundary(labels: Labels) -> NDArray[np.bool_]:
    """Return the pixels whose right or lower neighbour is in another region."""
    edges = np.zeros(labels.shape, bool)
    edges[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    edges[:-1] |= labels[:-1] != labels[1:]
    return edges


def within(edges: NDArray[np.bool_], radius: float) -> NDArray[np.bool_]:
    from scipy.ndimage import distance_transform_edt

    return distance_transform_edt(~edges) <= radius if edges.any() else edges


def f_measure(levels: Sequence[Level]) -> float:
    found, right, drawn, recalled = np.sum([level[1:] for level in levels], axis=0)
    precision, recall = right / max(found, 1), recalled / max(drawn, 1)
    return float(2 * precision * recall / max(precision + recall, 1e-9))


# -- report ----------------------------------------------------------------------------------------


def summarize(method: str, hits: Sequence[Hit]) -> list[list[str]]:
    """Return the rows of a method: at its default level, ODS and OIS."""
    values = np.array([[level.scores for level in hit.levels] for hit in hits])
    values[..., 4] *= -1  # VI: smaller is better
    n = values.shape[1]
    ods = values.mean(axis=0).max(axis=0)
    ois = values.max(axis=1).mean(axis=0)
    f_ods = max(f_measure([hit.levels[k] for hit in hits]) for k in range(n))
    f_ois = f_measure([max(hit.levels, key=lambda level: f_measure([level])) for hit in hits])
    rows = [("ODS", ods, f_ods), ("OIS", ois, f_ois)]
    if (k := hits[0].default) is not None:
        fixed = values[:, k].mean(axis=0)
        rows.insert(0, ("default", fixed, f_measure([hit.levels[k] for hit in hits])))
    return [
        [method, scale, *(f"{abs(v):.3f}" for v in scores), f"{boundary_f:.3f}"]
        for scale, scores, boundary_f in rows
    ]


def numbered(photos: Sequence[Any], step: int) -> list[tuple[int, Any]]:
    """Number the photographs before selecting every n-th: the number decides on the half."""
    return list(enumerate(photos))[::step]


def scales_table(
    tasks: Sequence[tuple[int, Photo]], methods: Sequence[str], jobs: int, options: Any
) -> Table:
    rows = []
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for method in methods:
            work: Callable[..., Hit] = partial(measure, method=method, options=options)
            rows += summarize(method, list(pool.map(work, tasks, chunksize=2)))
    return ["method", "scale", "ARI", "FM", "covering", "PRI", "VI", "boundary F"], rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("bsds.scales", __doc__)
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="BSDS500")
    parser.add_argument("--part", choices=PARTS, default="val")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="every N-th photograph")
    parser.add_argument("--copy", default="", help='"grey", or "noise 15"')
    parser.add_argument("--gpb", type=Path, metavar="DIR", help="gPb's maps, NAME.mat with ucm2")
    parser.add_argument("--table", default="", help="another table than the package's")
    parser.add_argument("--halves", default="", metavar="STEM", help="tables of train's halves")
    parser.add_argument("--methods", nargs="+", default=["segment", "hand-made"])
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    options = parser.parse_args(arguments)
    photos = [p for p in load(options.data) if p.path.parent.name == options.part]
    methods = [*options.methods, *(["gPb-owt-ucm"] if options.gpb else [])]
    tasks = numbered(photos, options.step)
    table = scales_table(tasks, methods, options.jobs, options)
    print("\n".join(markdown_table(table)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
