"""Draw two pictures anew: `python docs/figures.py`.

images/quality.png is how good and how fast, from the tables of images.md and tracking.md: they are
read, so that the picture says what they say. images/overview.jpg is that of examples/overview.py.
"""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt

from meanshiftpp.plot import PALETTE, STYLE

HERE = Path(__file__).parent
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
    plt.gcf().savefig(HERE / "images" / "overview.jpg", dpi=130, pil_kwargs={"quality": 90})


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
    fig.savefig(HERE / "images" / "quality.png")


if __name__ == "__main__":
    overview()
    quality()
