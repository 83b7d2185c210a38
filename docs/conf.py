"""Sphinx configuration: Markdown pages and docstrings of the public names, built offline."""

import re
import shutil
from importlib.metadata import version as installed_version
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

project = "meanshiftpp"
author = "The meanshiftpp developers"
copyright = f"2026, {author}"
release = version = installed_version("meanshiftpp")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]

# The gallery scripts run when the pages are built, so their pictures are always up to date.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (420, 210),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "write_computation_times": False,
    "abort_on_example_error": True,
}

# Single backticks mean code in docstrings too, as they do in Markdown.
default_role = "code"

# Headings get anchors, so that pages and the README can link to them.
myst_heading_anchors = 3

# NumPy docstrings already state the types, so signatures omit them.
napoleon_google_docstring = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"

# Furo loads no fonts or scripts from other hosts.
html_theme = "furo"
html_title = "meanshiftpp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False

WEB = Path(__file__).parents[1] / "build/web"  # written by `make web`, and optional
if (WEB / "index.html").exists():
    tags.add("web")  # type: ignore[name-defined]  # noqa: F821 - Sphinx defines it


def _link_gallery(app: Sphinx, name: str, source: list[str]) -> None:
    """Turn links to the scripts, which work in the repository, into links to the gallery."""
    text = source[0].replace("](../examples/README.rst)", "](gallery/index.rst)")
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", text)


def _trim(app: Sphinx, doctree: nodes.document) -> None:
    """Remove the empty last line of sessions, which only doctest needs."""
    for block in doctree.findall(nodes.literal_block):
        block.rawsource = block.rawsource.rstrip()
        block[:] = [nodes.Text(block.astext().rstrip())]


def _unlink(app: Sphinx, doctree: nodes.document) -> None:
    """Remove links from words such as n_features in "array of shape (n_features,)"."""
    for link in list(doctree.findall(addnodes.pending_xref)):
        target = link.get("reftarget", "")
        if link.get("refdomain") == "py" and target.islower() and "." not in target:
            link.replace_self(link.children)


def _copy_web_page(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.tags.has("web"):
        shutil.copytree(WEB, Path(app.outdir) / "web", dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _copy_web_page)
    app.connect("source-read", _link_gallery)
    app.connect("doctree-read", _trim)
    app.connect("doctree-read", _unlink)
