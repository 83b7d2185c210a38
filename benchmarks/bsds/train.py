"""Learn the cost of merging two regions from the training photographs of BSDS500.

    python -m benchmarks.bsds.train DATA_DIR              # writes the table that `segment` uses
    python -m benchmarks.bsds.train DATA_DIR --out FILE --folds

Rows are the borders that merging meets. Their label is the probability, over the people who drew
regions, that a pixel of one side and a pixel of the other are in one region. The first visit merges
by the hand-made cost; each later one by the tables learned so far, because a cost is asked about
the regions that it makes itself. The table that visits a photograph was learned without it. Grey
and noisy copies keep the table from relying on colour and on smooth areas; drawn pictures show it
textures that photographs hardly have.

With `--folds`, two more tables are written, each learned from one half of the photographs only.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.bsds.drawings import draw
from benchmarks.bsds.photos import Photo, load
from benchmarks.common.command_line import command_parser
from meanshiftpp import _kernel
from meanshiftpp.images import merge_table
from meanshiftpp.images.pixels import read_pixels
from meanshiftpp.images.segmentation import merge_regions

SEED = 0
ROUNDS = 3  # of visits with learned tables
ROWS_PER_VISIT = 320
N_DRAWINGS = 40
PLAIN_COST = 25  # the number of the feature that is the hand-made cost
Table = dict[str, Any]


class Rows(NamedTuple):
    """The features of borders, and the probability that both sides are one region."""

    features: NDArray[np.float32]
    same: NDArray[np.float64]


@dataclass(frozen=True)
class Picture:
    """A photograph, a copy of one, or a drawing, with its truths."""

    photo: Photo | None
    copy: str  # "", "grey", "noise 8", "noise 15" or the number of a drawing
    half: int

    @property
    def is_photograph(self) -> bool:
        return self.copy == ""

    def read(self) -> tuple[NDArray[np.uint8], list[NDArray[Any]]]:
        if self.photo is None:
            return draw(int(self.copy))
        return vary(self.photo.image, self.copy, int(self.photo.name)), self.photo.truths


def vary(image: NDArray[np.uint8], copy: str, seed: int = 0) -> NDArray[np.uint8]:
    """Return the image in grey, or with Gaussian noise of a standard deviation."""
    if copy == "grey":
        grey = np.rint(image @ [0.299, 0.587, 0.114]).astype(np.uint8)
        return np.repeat(grey[..., None], 3, axis=2)
    if copy.startswith("noise"):
        rng = np.random.default_rng([SEED, seed])
        noisy = image + rng.normal(0, float(copy.split()[1]), image.shape)
        return np.rint(noisy).clip(0, 255).astype(np.uint8)
    return image


# -- rows ------------------------------------------------------------------------------------------


def visit(picture: Picture, tables: Sequence[Table], number: int) -> Rows:
    """Merge a picture by the table of its half, and draw some of the borders that were met."""
    image, truths = picture.read()
    trace = _kernel.MergeTrace()
    pixels = read_pixels(image, "lab", None, -1, 1)
    table = merge_table.make_table(tables[picture.half])
    merge_regions(pixels, None, None, np.inf, 1, table, trace)
    features, sides = trace.features(), trace.sides()
    if not len(sides):
        return Rows(features, np.empty(0))
    sizes, same = label_borders(trace.region_of_pixels(), trace.merged(), sides, truths)
    weight = np.sqrt(np.minimum(*sizes[sides].T))
    rng = np.random.default_rng([SEED, number, abs(hash_of(picture))])
    count = min(ROWS_PER_VISIT, len(sides))
    drawn = rng.choice(len(sides), count, replace=False, p=weight / weight.sum())
    return Rows(features[drawn], same[drawn])


def hash_of(picture: Picture) -> int:
    name = picture.photo.name if picture.photo else "drawing"
    return sum((i + 1) * byte for i, byte in enumerate(f"{name} {picture.copy}".encode()))


def label_borders(
    regions: NDArray[np.uint32],
    merged: NDArray[np.uint32],
    sides: NDArray[np.uint32],
    truths: Iterable[NDArray[Any]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the size of every node, and for each border the probability of being one region."""
    n = int(regions.max()) + 1
    total = np.zeros(len(sides))
    truths = list(truths)
    for truth in truths:
        codes = np.unique(truth, return_inverse=True)[1].ravel()
        width = int(codes.max()) + 1
        counts = np.zeros((n + len(merged), width))
        counts[:n] = np.bincount(regions * np.int64(width) + codes, minlength=n * width).reshape(
            n, width
        )
        for k, (a, b) in enumerate(merged.tolist()):
            counts[n + k] = counts[a] + counts[b]
        sizes = counts.sum(axis=1)
        shares = counts / sizes[:, None]
        total += (shares[sides[:, 0]] * shares[sides[:, 1]]).sum(axis=1)
    return sizes, total / len(truths)


# -- tables ----------------------------------------------------------------------------------------


def plain_table() -> Table:
    """Return a table that merges by the hand-made cost: every step of it lowers the score."""
    steps = np.geomspace(1e-3, 1e3, 125) ** 2.5
    leaves = -np.array([bin(leaf).count("1") for leaf in range(32)]) * 3000
    return {
        "features": [[PLAIN_COST] * 5] * 25,
        "thresholds": steps.reshape(25, 5).tolist(),
        "values": [leaves.tolist()] * 25,
        "bias": 0,
    }


def fit(rows: Rows, trees: int, rate: float) -> Table:
    """Learn a table by cross entropy."""
    from catboost import CatBoostClassifier, Pool

    model = CatBoostClassifier(
        loss_function="CrossEntropy",
        iterations=trees,
        learning_rate=rate,
        depth=5,
        l2_leaf_reg=10,
        rsm=0.5,
        bootstrap_type="Bernoulli",
        subsample=0.7,
        border_count=64,
        random_seed=SEED,
        thread_count=4,  # the same model for every machine
        verbose=False,
        allow_writing_files=False,
    )
    model.fit(Pool(rows.features, rows.same))
    return table_of(model)


def table_of(model: Any) -> Table:
    """Convert a model to integers; trees of fewer levels get levels that never hold."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        stored = json.loads(path.read_text())
    scale, (bias,) = stored["scale_and_bias"]
    table: Table = {"features": [], "thresholds": [], "values": [], "bias": round(bias * 65536)}
    for tree in stored["oblivious_trees"]:
        splits = tree.get("splits") or []
        missing = 5 - len(splits)
        values = np.rint(np.array(tree["leaf_values"]) * scale * 65536).astype(int)
        features = [split["float_feature_index"] for split in splits]
        borders = [float(np.float32(split["border"])) for split in splits]
        table["features"].append(features + [0] * missing)
        table["thresholds"].append(borders + [float(np.finfo(np.float32).max)] * missing)
        table["values"].append([int(v) for v in np.tile(values, 2**missing)])
    return table


def write(table: Table, about: dict[str, Any], path: Path) -> None:
    """Write a table with one tree on each line."""
    lines = [f'"about": {json.dumps(about, indent=1)}', f'"bias": {table["bias"]}']
    for name, form in (("features", "%d"), ("thresholds", "%.9g"), ("values", "%d")):
        rows = ["[" + ",".join(form % v for v in row) + "]" for row in table[name]]
        lines.append(f'"{name}": [\n' + ",\n".join(rows) + "]")
    path.write_text("{\n" + ",\n".join(lines) + "}\n", "utf-8")


# -- training --------------------------------------------------------------------------------------


def pictures_of(photos: Sequence[Photo]) -> list[Picture]:
    """List the photographs, their copies and the drawings, in two halves."""
    pictures = []
    for number, photo in enumerate(photos):
        noise = f"noise {(8, 15)[number // 2 % 2]}"
        pictures += [Picture(photo, copy, number % 2) for copy in ("", "grey", noise)]
    return pictures + [Picture(None, str(number), number % 2) for number in range(N_DRAWINGS)]


def collect(pictures: Sequence[Picture], tables: Sequence[Table], number: int, pool: Any) -> list:
    return list(pool.map(partial(visit, tables=tables, number=number), pictures, chunksize=8))


def join(rows: Iterable[Rows]) -> Rows:
    features, same = zip(*rows, strict=True)
    return Rows(np.concatenate(features), np.concatenate(same))


def collect_all(photos: Sequence[Photo], jobs: int) -> list[tuple[Picture, Rows]]:
    """Visit all pictures, photographs in every round."""
    pictures = pictures_of(photos)
    kept: list[tuple[Picture, Rows]] = []
    tables = [plain_table()] * 2
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for number in range(ROUNDS + 1):
            # Copies and drawings are visited once: the rows of photographs should outweigh theirs.
            visited = [p for p in pictures if number == ROUNDS or p.is_photograph]
            kept += zip(visited, collect(visited, tables, number, pool), strict=True)
            print(f"visit {number}: {sum(len(rows.same) for _, rows in kept):,} rows", flush=True)
            if number < ROUNDS:  # the table of a half is learned from the other one
                tables = [fit(rows_of(kept, 1 - half), 250, 0.08) for half in (0, 1)]
    return kept


def rows_of(kept: Iterable[tuple[Picture, Rows]], half: int) -> Rows:
    return join(rows for picture, rows in kept if picture.half == half)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line and return the exit status."""
    parser = command_parser("bsds.train", __doc__)
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="BSDS500; only train is used")
    default = Path(merge_table.__file__).with_name("merge_table.json")
    parser.add_argument("--out", type=Path, default=default, help="the table (of the package)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--folds", action="store_true", help="also write the tables of the halves")
    options = parser.parse_args(arguments)
    photos = [photo for photo in load(options.data) if photo.path.parent.name == "train"]
    start = time.perf_counter()
    kept = collect_all(photos, options.jobs)
    rows = join(rows for _, rows in kept)
    table = fit(rows, 500, 0.05)
    about = {
        "what": "the learned cost of merging two regions; see src/kernel/image/merge_table.hpp",
        "command": "python -m benchmarks.bsds.train DATA_DIR",
        "data": f"BSDS500 train, {len(photos)} photographs; {N_DRAWINGS} drawings",
        "rows": len(rows.same),
        "seed": SEED,
        "versions": {name: version(name) for name in ("catboost", "numpy")},
        "python": platform.python_version(),
    }
    write(table, about, options.out)
    print(f"{options.out}: {len(table['values'])} trees, {time.perf_counter() - start:.0f} s")
    if options.folds:
        for half in (0, 1):
            path = options.out.with_suffix(f".half{half}.json")
            part = about | {"data": f"half {1 - half} of the above"}
            write(fit(rows_of(kept, 1 - half), 500, 0.05), part, path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
