"""The scripts of the gallery run, and each draws a picture that is not empty."""

import runpy
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.fixture
def pyplot(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    with pyplot.rc_context():
        yield pyplot
    pyplot.close("all")


def test_gallery_has_scripts():
    assert len(SCRIPTS) >= 8


# Without a display, plt.show() only warns; the figures exist all the same.
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_ends_in_a_picture(script, pyplot):
    pytest.importorskip("skimage")
    runpy.run_path(str(script), run_name="__main__")
    assert script.read_text("utf-8").rstrip().endswith("plt.show()")
    numbers = pyplot.get_fignums()
    assert numbers
    for number in numbers:
        figure = pyplot.figure(number)
        figure.canvas.draw()
        drawn = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 50


def test_figures_script_reads_the_tables_of_the_pages(pyplot):
    figures = runpy.run_path(str(SCRIPTS[0].parents[1] / "docs" / "figures.py"))
    pictures = {row[0]: row for row in figures["table"]("images.md", "method")}
    films = {row[0]: row for row in figures["table"]("tracking.md", "tracker")}
    assert 0 < figures["seconds"](pictures["`segment(image)`"][-1]) < 1
    assert set(figures["SHORT"]) <= set(pictures)
    assert 0 < float(films["`Tracker()`"][1]) < 1
