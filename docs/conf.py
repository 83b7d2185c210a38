"""The documentation: Markdown pages and the docstrings of the public names, built offline."""

from importlib.metadata import version as installed_version

project = "meanshiftpp"
author = "The meanshiftpp developers"
copyright = f"2026, {author}"
release = version = installed_version("meanshiftpp")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]

# Headings can be linked to, from one page to another and from the README.
myst_heading_anchors = 3

# The docstrings are NumPy style and state the types in words; the signatures stay short.
napoleon_google_docstring = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"

# Furo brings its own style sheet and uses the reader's fonts: pages ask no other host for anything.
html_theme = "furo"
html_title = "meanshiftpp"
