"""The gallery: six segmentations of a photograph, side by side, with their times.

The photographs are those of scikit-image, with fewer than the paper's 187,500 pixels. MeanShift
with every pixel a seed does not finish within any practical limit and is reported as DNF; the
picture shows scikit-learn's MeanShift with seeds on a grid, at a third of the size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from benchmarks.bsds import segmenters
from benchmarks.bsds.plots import draw_picture, paint
from benchmarks.bsds.segmenters import Image, Labels
from benchmarks.common.partition_metrics import compare
from benchmarks.common.plots import INK, STYLE
from benchmarks.common.result_cache import code_version
from benchmarks.paper import report
from benchmarks.paper.run import Run, duration, duration_or_reason, mean_shift

RADIUS = 30.0  # of MeanShift's ball, in RGB values from 0 to 255
CELL_SIZE = RADIUS * (4 / 3 * np.pi) ** (1 / 3) / 3  # 27 cells have the volume of the ball
MAX_PIXELS = 187_500  # as in the paper
SHRINK = 3  # MeanShift works at this fraction of the size
REPEATS, SHORT = 5, 1.0  # calls; seconds: the fastest of several short calls counts
CLUSTER_SHARE = 0.01  # k-means has as many clusters as MeanShift++ has above this share
OURS, PEER = "MeanShift++", "MeanShift"
FULL_SIZE = "as in the paper"

Row = dict[str, Any]  # seconds, regions and file, or why there are none
Rows = dict[str, dict[str, Row]]  # by photograph and method


def photographs(quick: bool) -> dict[str, Image]:
    """Return the photographs, the larger ones at half their size."""
    from skimage import data

    images = {}
    for name in ("chelsea",) if quick else ("chelsea", "coffee", "astronaut"):
        image = getattr(data, name)()
        factor = 16 if quick else 1 if image.shape[0] * image.shape[1] <= MAX_PIXELS else 2
        images[name] = np.ascontiguousarray(segmenters.shrink_image(image, factor))
    return images


CALLS: dict[str, Callable[[Image, int], Labels]] = {
    OURS: lambda image, _: segmenters.paper(image, CELL_SIZE),
    PEER: lambda image, _: segmenters.mean_shift(image, SHRINK, RADIUS),
    "QuickShift": lambda image, _: segmenters.quickshift(
        image, 1, kernel_size=5, max_dist=40, ratio=0.5
    ),
    "felzenszwalb": lambda image, _: segmenters.felzenszwalb(
        image, scale=400, sigma=0.8, min_size=500
    ),
    "k-means": lambda image, clusters: k_means(image, clusters),
    "slic": lambda image, _: segmenters.slic(image, n_segments=12, compactness=10),
}
METHODS = tuple(CALLS)


def segmented(method: str, image: Image, clusters: int) -> tuple[Labels, float]:
    """Segment with one method; return the labels and the CPU seconds."""
    CALLS[method](image[:32, :32], clusters)  # imports are not timed
    times: list[float] = []
    while not times or (len(times) < REPEATS and sum(times) < SHORT):
        begin = process_time()
        labels = CALLS[method](image, clusters)
        times.append(process_time() - begin)
    return np.asarray(labels, np.int32), min(times)


def k_means(image: Image, clusters: int) -> Labels:
    from sklearn.cluster import KMeans

    pixels = image.reshape(-1, 3).astype(np.float64)
    labels = KMeans(clusters, n_init=1, random_state=0).fit_predict(pixels)
    return labels.reshape(image.shape[:2])


def section(run: Run) -> report.Section:
    """Segment all photographs with all methods."""
    images = photographs(run.quick)
    rows: Rows = {}
    for name, image in images.items():
        rows[name] = {}
        clusters = 2
        for method in METHODS:
            rows[name][method] = row = cached_row(run, name, image, method, clusters)
            if method == OURS:
                sizes = np.bincount(load_labels(run, row).ravel())
                clusters = max(2, int((sizes >= CLUSTER_SHARE * sizes.sum()).sum()))
        rows[name][FULL_SIZE] = full_size_row(run, name, image)
    draw(run, images, rows, run.out / "gallery.png")
    return report.Section(
        "gallery",
        "Segmentation, side by side",
        "MeanShift++ returns segmentations nearly identical to MeanShift's, up to 10,000 times "
        "faster, on images of at most 187,500 pixels; beside it Quickshift++, QuickShift, "
        "Felzenszwalb and k-means.",
        [
            f"Pixels are RGB. MeanShift has a ball of radius {RADIUS:g}; MeanShift++ has cells of "
            f"size {CELL_SIZE:.1f}, so that the window of 27 cells has the ball's volume. k-means "
            f"has as many clusters as MeanShift++ found with at least {CLUSTER_SHARE:.0%} of the "
            "pixels. Regions are shown in their mean colour. Times are CPU times of one call, for "
            f"short calls the fastest of up to {REPEATS}.",
            f"MeanShift is shown with seeds on a grid and at 1/{SHRINK} of the size, so that it "
            f"finishes; at full size with every pixel a seed, as in the paper, it had "
            f"{run.limit:g} s. Quickshift++ is left out because no package contains it; slic, from "
            "the paper's other comparison, is included.",
        ],
        [times_table(images, rows), similarity_table(run, images, rows)],
        [report.Figure("gallery.png", "Below each: number of regions, time of one call.")],
    )


def cached_row(run: Run, name: str, image: Image, method: str, clusters: int) -> Row:
    """Return the result of a method, from the cache if it and its label file are there."""
    version = code_version() if method == OURS else ""
    key = ("gallery", name, str(image.shape), method, str(clusters), version)
    compute = partial(segment_and_save, run, name, image, method, clusters)
    row = run.cached_attempt(*key, compute=compute)
    if not (run.out / row.get("file", ".")).exists():
        row = run.cache.store(*key, value=compute())
    run.log(f"gallery: {name}, {method}: {duration_or_reason(row)}")
    return row


def segment_and_save(run: Run, name: str, image: Image, method: str, clusters: int) -> Row:
    answer, failure = run.call_peer(segmented, method, image, clusters)
    if failure:
        return failure
    labels, seconds = answer
    file = Path("labels") / f"{name} {image.shape[1]}x{image.shape[0]} {method}.npz"
    (run.out / file).parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(run.out / file, labels=labels)
    return {"seconds": seconds, "regions": len(np.unique(labels)), "file": str(file)}


def load_labels(run: Run, row: Row) -> Labels:
    with np.load(run.out / row["file"]) as file:
        return file["labels"]


def full_size_row(run: Run, name: str, image: Image) -> Row:
    """Run MeanShift as in the paper, with every pixel a seed."""

    def compute() -> Row:
        pixels = image.reshape(-1, 3).astype(np.float64)
        answer, failure = run.call_peer(mean_shift, pixels, RADIUS)
        return failure or {"seconds": answer[1]}

    key = ("gallery", name, str(image.shape), "every pixel a seed")
    return run.cached_attempt(*key, compute=compute)


def times_table(images: dict[str, Image], rows: Rows) -> report.Table:
    body = []
    for name, image in images.items():
        times = (duration_or_reason(rows[name][method]) for method in (*METHODS, FULL_SIZE))
        body.append([name, f"{image.shape[1]} x {image.shape[0]}", *times])
    titles = [f"MeanShift, 1/{SHRINK} size" if n == PEER else n for n in METHODS]
    header = ["photograph", "pixels", *titles, "MeanShift, full size"]
    return report.Table("Times", header, body, text_columns=2)


def similarity_table(run: Run, images: dict[str, Image], rows: Rows) -> report.Table:
    """Compare every segmentation with MeanShift's."""
    body = []
    for name in images:
        base = rows[name][PEER]
        cells = [name]
        for method in METHODS:
            row = rows[name][method]
            if "file" in row and "file" in base and method != PEER:
                ari = compare(load_labels(run, row), load_labels(run, base)).ari
                cells.append(f"{round(ari, 2) + 0:.2f}")  # + 0 turns -0.0 into 0.0
            else:
                cells.append("")
        body.append(cells)
    return report.Table("Similarity to MeanShift: ARI", ["photograph", *METHODS], body)


def draw(run: Run, images: dict[str, Image], rows: Rows, path: Path) -> None:
    with mpl.rc_context(STYLE):
        ratios = [image.shape[0] / image.shape[1] for image in images.values()]
        height = sum(ratio * 2.1 + 0.28 for ratio in ratios) + 0.4
        figure = Figure(figsize=(2.1 * (len(METHODS) + 1) + 0.3, height))
        panels = figure.subplots(len(images), len(METHODS) + 1, squeeze=False, height_ratios=ratios)
        for line, (name, image) in zip(panels, images.items(), strict=True):
            draw_picture(line[0], image, f"{image.shape[1]} x {image.shape[0]}", 9)
            for panel, method in zip(line[1:], METHODS, strict=True):
                row = rows[name][method]
                if "file" not in row:
                    draw_picture(panel, np.full_like(image, 240), duration_or_reason(row), 9)
                    continue
                caption = f"{row['regions']:,} · {duration(row['seconds'])}"
                draw_picture(panel, paint(image, load_labels(run, row)), caption, 9)
        for panel, title in zip(panels[0], ("photograph", *METHODS), strict=True):
            colour = "#0072B2" if title == OURS else INK
            panel.set_title(title, size=11, color=colour)
        figure.tight_layout(pad=0.5, w_pad=0.4, h_pad=0.6)
        figure.savefig(path)
