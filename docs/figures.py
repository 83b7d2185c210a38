"""Draw the pictures of the pages anew: `python docs/figures.py`, or some: `... quality sweep`.

Each comes from what the pages show. quality.png is how good and how fast, from the tables of
images.md and tracking.md; sweep.png and clusters.png are what the code of bandwidth.md and start.md
saves; overview.jpg is that of examples/overview.py; tracking.jpg is the strip of the demo.
"""

import contextlib
import doctest
import io
import re
import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from meanshiftpp.plot.style import PALETTE, STYLE

HERE = Path(__file__).parent
IMAGES = HERE / "images"
SHORT = {
    "quickshift on a quarter of the size": "quickshift, quarter size",
    'colour clusters, `space="rgb"`, h = 18': "`colour clusters`",
    "scikit-learn's MeanShift, half size, 38 photographs": "MeanShift, half size",
}


def table(page: str, first: str) -> list[list[str]]:
    """Read the rows of a Markdown table, found by the first words of its head."""
    text = (HERE / page).read_text("utf-8")
    body = text[text.index(f"| {first} |") :].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in body]


def seconds(words: str) -> float:
    """Read "12.5 ms" or "2.6 s"."""
    number, unit = re.fullmatch(r"([\d.]+) (ms|s)", words).groups()
    return float(number) / (1000 if unit == "ms" else 1)


def scatter(panel, rows: list[tuple[str, float, float]], below: tuple[str, ...] = ()) -> None:
    """Draw a dot for each method with its name beside it; ours are blue."""
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
    """Save what the example draws, for the README."""
    plt.switch_backend("agg")
    runpy.run_path(str(HERE.parent / "examples" / "overview.py"))
    plt.gcf().savefig(IMAGES / "overview.jpg", dpi=130, pil_kwargs={"quality": 90})


def photograph() -> None:
    """Draw the photograph of the README with its regions, as its code finds them."""
    from sklearn.datasets import load_sample_image

    from meanshiftpp import segment
    from meanshiftpp.images.draw import contact_sheet, fill, region_colors

    photo = load_sample_image("china.jpg")
    panels = [("photograph", "china.jpg, from scikit-learn", photo)]
    for detail, call in ((1.0, "segment(photo)"), (3.0, "segment(photo, detail=3)")):
        labels = segment(photo, detail=detail)
        regions = fill(labels, region_colors(photo, labels))
        panels.append((call, f"{labels.max() + 1} regions, each in its mean colour", regions))
    small = [(*words, resized(picture, 427)) for *words, picture in panels]
    jpeg(contact_sheet(small, columns=3), "photograph.jpg")


def regions() -> None:
    """Draw the photograph of images.md beside its regions."""
    from skimage.data import astronaut

    from meanshiftpp import segment
    from meanshiftpp.images.draw import contact_sheet, fill, region_colors

    labels = segment(image := astronaut())
    words = f"{labels.max() + 1} regions, each in its mean colour"
    panels = [
        ("photograph", "astronaut, from scikit-image (NASA)", image),
        ("segment(image)", words, fill(labels, region_colors(image, labels))),
    ]
    jpeg(contact_sheet(panels), "regions.jpg")


def tracking() -> None:
    """Draw the frames that `meanshiftpp demo` shows, a little smaller."""
    from meanshiftpp.apps.demo import clips

    with tempfile.TemporaryDirectory() as folder:
        strips = Path(folder) / "tracking.png"
        clips.draw([clips.track(name) for name in clips.SHOWN_FRAMES], strips)
        jpeg(resized(np.asarray(Image.open(strips)), 1120), "tracking.jpg")


def resized(picture: np.ndarray, width: int) -> np.ndarray:
    """Bring a picture to a width."""
    image = Image.fromarray(picture)
    size = width, round(image.height * width / image.width)
    return np.asarray(image.resize(size, Image.Resampling.LANCZOS))


def jpeg(picture: np.ndarray, name: str) -> None:
    """Save a picture for the pages."""
    Image.fromarray(picture).save(IMAGES / name, quality=82, subsampling=0, optimize=True)


def clusters() -> None:
    """Save the picture that start.md draws."""
    saved_by("start.md", "clusters.png", dpi=120)


def sweep() -> None:
    """Save the picture that bandwidth.md draws."""
    saved_by("bandwidth.md", "sweep.png", dpi=160)


def saved_by(page: str, name: str, dpi: int) -> None:
    """Run the code of a page until it has saved a picture of this name, and keep that."""
    blocks = re.findall(r"^```pycon\n(.*?)^```$", (HERE / page).read_text("utf-8"), re.M | re.S)
    steps = doctest.DocTestParser().get_examples("\n".join(blocks))
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
    """Draw and save the figure of quality against speed."""
    plt.rcParams.update(STYLE)
    fig, (images, films) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
    pictures = [
        (SHORT.get(name, name), 1 / seconds(time), float(ari))
        for name, ari, *_, time in table("images.md", "method")
    ]
    scatter(images, pictures)
    images.set(xlabel="photographs a second", ylabel="adjusted Rand index, BSDS500")
    images.set_title("segmentation", loc="left", fontsize=12, weight="bold")
    tracked = [
        (name.split(", ")[0], float(rate.replace(",", "")), float(overlap))
        for name, overlap, _, _, rate, _ in table("tracking.md", "tracker")
    ]
    scatter(films, tracked, below=("back-projection and CamShift",))
    films.set(xlabel="updates a second", ylabel="mean overlap, 12 films")
    films.set_title("tracking", loc="left", fontsize=12, weight="bold")
    fig.savefig(IMAGES / "quality.png")


DRAWN = {
    draw.__name__: draw
    for draw in (overview, photograph, regions, clusters, sweep, tracking, quality)
}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or DRAWN:
        DRAWN[wanted]()
