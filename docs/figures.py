"""Draw the pictures of the pages: `python docs/figures.py`, or `python docs/figures.py quality`.

The pictures come from the pages themselves, so that they cannot contradict them: quality.png from
the tables of images.md and tracking.md, sweep.png, clusters.png, tree.png and significant.png from
the code of bandwidth.md, start.md and significant.md, overview.jpg from examples/overview.py, and
tracking.jpg from `meanshiftpp demo`.
"""

import contextlib
import doctest
import io
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from meanshiftpp._support.text import pluralize
from meanshiftpp.plot.style import PALETTE, STYLE

HERE = Path(__file__).parent
IMAGES = HERE / "images"
SHORT = {
    "quickshift on a quarter of the size": "quickshift, quarter size",
    'colour clusters, `space="rgb"`, h = 18': "`colour clusters`",
    "scikit-learn's MeanShift, half size, 38 photographs": "MeanShift, half size",
}


def table(page: str, first: str) -> list[list[str]]:
    """Read the rows of the Markdown table whose first header cell is `first`."""
    text = (HERE / page).read_text("utf-8")
    body = text[text.index(f"| {first} |") :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in body]


def seconds(text: str) -> float:
    """Convert "12.5 ms" or "2.6 s" to seconds."""
    number, unit = re.fullmatch(r"([\d.]+) (ms|s)", text).groups()
    return float(number) / (1000 if unit == "ms" else 1)


def scatter(panel, rows: list[tuple[str, float, float]], below: tuple[str, ...] = ()) -> None:
    """Draw a labelled dot for each method; ours are blue."""
    for name, speed, quality in rows:
        ours = "`" in name
        colour = PALETTE[0] if ours else PALETTE[4]
        panel.scatter(speed, quality, s=60, color=colour, zorder=3)
        panel.annotate(
            name.replace("`", ""),
            (speed, quality),
            (0, -14 if name in below else 8),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
            color=colour,
            weight="bold" if ours else "normal",
        )
    panel.set_xscale("log")
    panel.grid(color="#E4E4DF", linewidth=0.6)
    panel.margins(0.18, 0.12)


def overview() -> None:
    """Save the picture of examples/overview.py, for the README."""
    plt.switch_backend("agg")
    runpy.run_path(str(HERE.parent / "examples" / "overview.py"))
    plt.gcf().savefig(IMAGES / "overview.jpg", dpi=130, pil_kwargs={"quality": 90})


def photograph() -> None:
    """Draw the photograph of the README with the regions that its code finds."""
    from sklearn.datasets import load_sample_image

    from meanshiftpp import segment
    from meanshiftpp.draw import contact_sheet, fill, region_colors

    photo = load_sample_image("china.jpg")
    panels = [("photograph", "china.jpg, from scikit-learn", photo)]
    for detail, call in ((1.0, "segment(photo)"), (3.0, "segment(photo, detail=3)")):
        labels = segment(photo, detail=detail)
        regions = fill(labels, region_colors(photo, labels))
        panels.append((call, f"{labels.max() + 1} regions, each in its mean colour", regions))
    small = [(*texts, resize(picture, 427)) for *texts, picture in panels]
    save_jpeg(contact_sheet(small, columns=3), "photograph.jpg")


def regions() -> None:
    """Draw the photograph of images.md next to its regions."""
    from skimage.data import astronaut

    from meanshiftpp import segment
    from meanshiftpp.draw import contact_sheet, fill, region_colors

    labels = segment(image := astronaut())
    caption = f"{labels.max() + 1} regions, each in its mean colour"
    panels = [
        ("photograph", "astronaut, from scikit-image (NASA)", image),
        ("segment(image)", caption, fill(labels, region_colors(image, labels))),
    ]
    save_jpeg(contact_sheet(panels), "regions.jpg")


def comparison() -> None:
    """Draw six photographs, their regions, and those of felzenszwalb."""
    from skimage import data
    from skimage.segmentation import felzenszwalb
    from sklearn.datasets import load_sample_image

    from meanshiftpp import segment
    from meanshiftpp.draw import contact_sheet, fill, region_colors

    names = {"astronaut": "NASA", "coffee": "R. Michetti", "chelsea": "S. van der Walt"}
    photos = [(f"{name} ({owner})", getattr(data, name)()) for name, owner in names.items()]
    photos.append(("rocket (SpaceX)", data.rocket()))
    photos += [(f"{name}.jpg", load_sample_image(f"{name}.jpg")) for name in ("china", "flower")]
    rows: list[list] = [[], [], []]
    for name, photo in photos:
        image = np.asarray(crop(Image.fromarray(photo)))
        rows[0].append((name.partition(" ")[0], name.partition(" ")[2], image))
        peer = felzenszwalb(image, scale=200, sigma=0.8, min_size=500)
        for row, title, labels in ((1, "segment", segment(image)), (2, "felzenszwalb", peer)):
            caption = f"{labels.max() + 1} regions"
            rows[row].append((title, caption, fill(labels, region_colors(image, labels))))
    panels = [(*texts, resize(picture, 260)) for row in rows for *texts, picture in row]
    save_jpeg(contact_sheet(panels, columns=6), "comparison.jpg")


def crop(picture: Image.Image) -> Image.Image:
    """Cut the middle of a picture to the shape of the photographs of BSDS500, and reduce it."""
    width, height = picture.size
    wide, high = min(width, height * 481 // 321), min(height, width * 321 // 481)
    left, top = (width - wide) // 2, (height - high) // 2
    return picture.crop((left, top, left + wide, top + high)).resize((481, 321), Image.LANCZOS)


def tracking() -> None:
    """Save the frames that `meanshiftpp demo` draws, a little smaller."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "meanshiftpp", "demo", "--output", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        frames = np.asarray(Image.open(Path(folder) / "tracking.png"))
    save_jpeg(resize(frames, 1120), "tracking.jpg")


def resize(picture: np.ndarray, width: int) -> np.ndarray:
    """Resize a picture to a width and keep its proportions."""
    image = Image.fromarray(picture)
    size = width, round(image.height * width / image.width)
    return np.asarray(image.resize(size, Image.Resampling.LANCZOS))


def save_jpeg(picture: np.ndarray, name: str) -> None:
    """Save a picture to docs/images."""
    Image.fromarray(picture).save(IMAGES / name, quality=82, subsampling=0, optimize=True)


def clusters() -> None:
    """Save the picture that start.md draws."""
    save_from_page("start.md", "clusters.png", dpi=120)


def sweep() -> None:
    """Save the picture that bandwidth.md draws."""
    save_from_page("bandwidth.md", "sweep.png", dpi=160)


def tree() -> None:
    """Save the tree that significant.md draws."""
    save_from_page("significant.md", "tree.png", dpi=120)


def significant() -> None:
    """Draw the data sets of significant.md with the clusters that the default finds."""
    from meanshiftpp import MeanShiftPP

    data: dict[str, np.ndarray] = {}
    exec("".join(step.source for step in code_blocks("significant.md")[0]), data)
    plt.rcParams.update(STYLE)
    fig, panels = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
    titles = {"one": "one blob", "moons": "two moons", "blobs": "four blobs"}
    for panel, (name, title) in zip(panels, titles.items(), strict=True):
        labels = MeanShiftPP().fit_predict(data[name])
        panel.scatter(*data[name].T, c=np.array(PALETTE)[labels], s=5, linewidths=0)
        found = pluralize(int(labels.max()) + 1, "cluster")
        panel.set_title(f"{title}: {found}", loc="left", fontsize=11, weight="bold")
        panel.set_aspect("equal", "datalim")
    fig.savefig(IMAGES / "significant.png", dpi=120)


def why() -> None:
    """Draw the data sets of why.md with the clusters of each method."""
    page: dict[str, dict] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec("".join(step.source for step in code_blocks("why.md")[0]), page)
    plt.rcParams.update(STYLE)
    fig, panels = plt.subplots(4, 4, figsize=(10.5, 9.4), layout="constrained")
    for row, (name, (X, truth)) in zip(panels, page["data"].items(), strict=True):
        for panel, (method, labels) in zip(row, page["results"][name].items(), strict=True):
            cycled = np.where(labels < 0, -1, labels % len(PALETTE))
            colours = np.array([*PALETTE, "#B9B9B4"])[cycled]
            panel.scatter(*X.T, c=colours, s=3, linewidths=0)
            score = page["adjusted_rand_score"](truth, labels)
            panel.set_title(f"{method}: {score:.2f}", loc="left", fontsize=10, weight="bold")
            panel.set(xticks=[], yticks=[])
            panel.set_aspect("equal", "datalim")
        row[0].set_ylabel(name)
    fig.savefig(IMAGES / "why.jpg", dpi=100, pil_kwargs={"quality": 85})


def code_blocks(page: str) -> list[list[doctest.Example]]:
    """Return the steps of each session of a page."""
    blocks = re.findall(r"^```pycon\n(.*?)^```$", (HERE / page).read_text("utf-8"), re.M | re.S)
    return [doctest.DocTestParser().get_examples(block) for block in blocks]


def save_from_page(page: str, name: str, dpi: int) -> None:
    """Run the code of a page until it has saved the picture `name`, and copy the picture."""
    steps = [step for block in code_blocks(page) for step in block]
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        plt.rc_context({"savefig.dpi": dpi}),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        names: dict[str, object] = {}
        while not Path(name).exists():
            exec(compile(steps.pop(0).source, page, "single"), names)
        (IMAGES / name).write_bytes(Path(name).read_bytes())


def quality() -> None:
    """Draw quality against speed, from the tables of the pages."""
    plt.rcParams.update(STYLE)
    fig, (images, films) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
    pictures = [
        (SHORT.get(name, name), 1 / seconds(time), float(ari))
        for name, ari, *_, time in table("images.md", "method")
    ]
    scatter(images, pictures, below=("`segment`, hand-made cost alone",))
    images.set(xlabel="photographs a second", ylabel="adjusted Rand index, BSDS500")
    images.set_title("segmentation", loc="left", fontsize=12, weight="bold")
    tracked = [
        (name.split(", ")[0], float(rate.replace(",", "")), float(overlap))
        for name, overlap, *_, rate in table("tracking.md", "tracker")
    ]
    scatter(films, tracked, below=("back-projection and CamShift",))
    films.set(xlabel="updates a second", ylabel="mean overlap, 12 films")
    films.set_title("tracking", loc="left", fontsize=12, weight="bold")
    fig.savefig(IMAGES / "quality.png")


FIGURES = {
    draw.__name__: draw
    for draw in (
        *(overview, photograph, regions, comparison, clusters, sweep, tree, significant, why),
        tracking,
        quality,
    )
}

if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        FIGURES[name]()
