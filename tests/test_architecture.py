"""The direction of dependencies, as data: lower parts know nothing of higher ones.

A new module fails here until it has a line in the table, and so a place.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import meanshiftpp

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "meanshiftpp"

# What a module may import of the package: names that stand above it, and of these only its own.
MAY_IMPORT = {
    "errors": set(),
    "_kernel": set(),
    "reference": set(),
    "windows": set(),
    "clips": {"windows"},
    "_arrays": {"errors"},
    "_input": {"errors", "_arrays"},
    "backends.host": {"_kernel"},
    "backends.cuda.launch": {"errors"},
    "backends.cuda.box": {"backends.cuda.launch"},
    "backends.cuda.cells": {"backends.cuda.launch"},
    "backends.cuda.table": {"backends.cuda.launch", "backends.cuda.box", "backends.cuda.cells"},
    "backends.cuda.wide": {
        *("errors", "_kernel"),
        *("backends.cuda.launch", "backends.cuda.cells", "backends.cuda.table"),
    },
    "backends.cuda.binning": {
        *("errors", "_input", "backends.cuda.launch", "backends.cuda.box"),
        *("backends.cuda.cells", "backends.cuda.table", "backends.cuda.wide"),
    },
    "backends.cuda.search": {"_kernel", "_arrays", "backends.cuda.launch", "backends.cuda.cells"},
    "backends.cuda.near": {"_kernel", "_arrays", "backends.cuda.launch", "backends.cuda.cells"},
    "backends.cuda.transfer": {"errors", "backends.cuda.launch"},
    "backends.cuda": {
        *("backends.cuda.binning", "backends.cuda.cells", "backends.cuda.near"),
        *("backends.cuda.search", "backends.cuda.transfer"),
    },
    "backends": {"errors", "_arrays"},  # and its host or cuda, when it is known which
    "_estimator": {"errors", "_arrays", "_input"},
    "geo": {"errors"},
    "plot": {"errors", "_input"},
    "files": {"errors"},
    "draw": {"errors", "_input"},
    "marks": {"errors", "windows"},
    "picture": {"errors", "files"},
    "frames": {"errors", "files", "draw", "picture"},
    "chunks": {"errors", "_arrays"},
    "gridfile": {"errors", "_input", "files"},
    "grid": {"errors", "_kernel", "_arrays", "_input", "backends", "chunks", "gridfile"},
    "modes": {"errors", "_arrays", "_input", "backends", "chunks", "grid"},
    "bandwidth": set(),
    "bandwidth.plot": {"errors", "plot"},
    "bandwidth.spread": {"_arrays", "grid"},
    "bandwidth.agreement": {"grid", "modes"},
    "bandwidth.multiples": {"errors", "_arrays", "_input", "grid", "bandwidth.spread"},
    "bandwidth.sweeps": {
        *("errors", "_arrays", "_input", "grid", "modes", "bandwidth.spread"),
        *("bandwidth.multiples", "bandwidth.agreement", "bandwidth.plot"),
    },
    "bandwidth.choice": {
        *("errors", "_arrays", "_input", "grid", "modes", "bandwidth.spread"),
        *("bandwidth.multiples", "bandwidth.agreement", "bandwidth.sweeps"),
    },
    "cluster": {"_arrays", "_input", "_estimator", "grid", "modes", "bandwidth.choice"},
    "density": {
        *("errors", "_arrays", "_input", "backends", "_estimator", "grid", "bandwidth.spread"),
    },
    "_pixels": {"errors", "_kernel", "_arrays", "_input"},
    "image": {"errors", "_kernel", "_arrays", "_input", "_pixels", "modes", "bandwidth.choice"},
    "video": {"errors", "_kernel", "_input", "_pixels", "grid", "modes", "image", "draw", "frames"},
    "track": {"errors", "_kernel", "_arrays", "_input", "modes", "windows"},
    "formats": set(),
    "formats.sources": {"errors", "chunks"},
    "formats.tablefiles": {"errors", "files", "chunks", "formats.sources"},
    "formats.tables": {"errors", "files", "chunks", "formats.sources", "formats.tablefiles"},
    "formats.arrays": {"errors", "files", "chunks", "formats.sources"},
    "formats.rasters": {"errors", "files", "chunks", "formats.sources"},
    "formats.clouds": {"errors", "files", "chunks", "formats.sources"},
    "checkpoint": {"errors", "gridfile", "grid", "formats.sources"},
    "stream": {
        *("errors", "files", "chunks", "grid", "checkpoint"),
        *("formats.sources", "formats.tables", "formats.arrays", "formats.rasters"),
        "formats.clouds",
    },
    "_spark": {"errors", "chunks", "grid", "modes"},
    "spark": {
        *("errors", "_input", "_spark", "grid", "modes", "bandwidth.spread", "bandwidth.choice"),
    },
    "dask": {
        *("errors", "_arrays", "_input", "_estimator", "chunks", "grid", "modes"),
        *("bandwidth.spread", "bandwidth.choice", "cluster"),
    },
    "demo": {
        *("errors", "files", "cluster", "plot", "image", "draw", "picture"),
        *("clips", "track", "marks"),
    },
    "studio": set(),
    "studio.guard": set(),
    "studio.wire": set(),
    "studio.session": {"errors"},
    "studio.samples": {"clips", "demo", "frames", "picture", "studio.session"},
    "studio.image_view": {
        *("errors", "_pixels", "modes", "image", "draw", "picture"),
        *("studio.session", "studio.wire"),
    },
    "studio.table_view": {
        *("errors", "chunks", "modes", "bandwidth.sweeps", "bandwidth.choice"),
        *("stream", "formats.tables"),
        *("studio.session", "studio.wire"),
    },
    "studio.video_view": {
        *("errors", "windows", "frames", "track", "marks"),
        *("studio.session", "studio.wire"),
    },
    "studio.server": {
        *("errors", "__init__", "frames", "picture"),
        *("studio.guard", "studio.session", "studio.samples"),
        *("studio.image_view", "studio.table_view", "studio.video_view"),
    },
    "cli": set(),
    "cli.console": {"errors"},
    "cli.studio": {"errors", "cli.console", "files", "studio.server"},
    "cli.options": {"errors", "cli.console", "files", "grid", "formats.sources", "stream"},
    "cli.image": {
        *("errors", "cli.console", "cli.options", "files", "draw", "picture", "frames"),
        *("image", "video"),
    },
    "cli.track": {
        *("errors", "cli.console", "cli.options", "windows"),
        *("files", "marks", "picture", "frames", "track"),
    },
    "cli.sweep": {"cli.console", "cli.options", "files", "formats.sources", "bandwidth.sweeps"},
    "cli.cluster": {
        *("errors", "cli.console", "cli.options", "files", "grid", "modes", "bandwidth.choice"),
        *("plot", "formats.sources", "stream", "gridfile"),
    },
    "cli.grid": {"cli.console", "cli.options", "files", "grid", "gridfile"},
    "cli.app": {
        *("cli.console", "demo", "__init__"),
        *("cli.cluster", "cli.grid", "cli.image", "cli.studio", "cli.sweep", "cli.track"),
    },
    "__main__": {"errors", "cli.app"},
    # The public names come from here, lazily; for the type checker they are imported too.
    "__init__": {
        *("errors", "reference", "grid", "modes", "cluster", "density", "image", "video", "plot"),
        *("bandwidth.choice", "bandwidth.sweeps", "geo", "track"),
    },
}

# What a module may import of others, besides the standard library and NumPy.
MAY_USE = {
    "chunks": {"pyarrow"},
    "backends.host": {"scipy"},
    "_estimator": {"sklearn", "joblib"},
    "cluster": {"sklearn"},
    "density": {"sklearn"},
    "dask": {"sklearn"},  # and dask, through errors.need
    "spark": {"sklearn", "pyspark"},
    "demo": {"sklearn"},
    "video": {"scipy"},
    "cli.console": {"typer", "rich"},
    "cli.app": {"typer"},
    "cli.options": {"typer"},
    "cli.cluster": {"typer"},
    "cli.grid": {"typer"},
    "cli.image": {"typer", "rich"},
    "cli.sweep": {"typer", "rich"},
    "cli.track": {"typer"},
    "cli.studio": {"typer"},
    "studio.server": {"fastapi", "uvicorn"},
}

# Heavy or optional: none of these comes with a plain `import meanshiftpp`.
LAZY = ["sklearn", "scipy", "matplotlib", "pyarrow", "pandas", "polars", "typer", "rich"]
LAZY += ["PIL", "tifffile", "av", "skimage", "dask", "distributed", "pyspark", "cupy"]
LAZY += ["zarr", "rasterio", "laspy", "lazrs", "fastapi", "uvicorn", "websockets"]

MODULES = sorted(path for path in PACKAGE.rglob("*.py*") if path.suffix in {".py", ".pyi"})


def imported_names(path: Path) -> Iterator[str]:
    """Every import of a file as an absolute dotted name, wherever in the file it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, ["meanshiftpp" if node.level else "", node.module]))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def named(path: Path) -> str:
    """What a file is called in the table; a subpackage's `__init__` has the subpackage's name."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


PLACED = {named(path) for path in MODULES}


def module_of(name: str) -> str:
    """The module of the package that a dotted name is in; names of the package are __init__'s."""
    parts = name.split(".")[1:]
    within = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
    return next((each for each in within if each in MAY_IMPORT or each in PLACED), "__init__")


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_go_one_way(path):
    module = named(path)
    assert module in MAY_IMPORT, f"{module} is new: add it to the table in {Path(__file__).name}"
    names = set(imported_names(path))
    own = {module_of(name) for name in names if name.split(".")[0] == "meanshiftpp"}
    others = {name.split(".")[0] for name in names} - {"meanshiftpp", "numpy"}
    assert own <= MAY_IMPORT[module], f"{module} may not import {own - MAY_IMPORT[module]}"
    others -= sys.stdlib_module_names
    allowed = MAY_USE.get(module, set())
    assert others <= allowed, f"{module} may not import {others - allowed}"
    unused = (MAY_IMPORT[module] - own) | (allowed - others)
    assert not unused, f"{module} imports no {unused}: take it out of the table"


def test_modules_import_only_what_stands_above_them():
    above = {"__init__"}  # for the version
    for module, imports in MAY_IMPORT.items():
        assert imports <= above, f"{module} stands above {imports - above}"
        above.add(module)


def test_importing_the_package_is_light():
    code = "import sys, meanshiftpp; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(LAZY).isdisjoint(run.stdout.split())


def test_help_needs_no_heavy_library():
    code = (
        "import sys; sys.argv = ['meanshiftpp', '--help']\n"
        "from meanshiftpp.__main__ import main\n"
        "try: main()\n"
        "finally: print('MODULES', *sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    shown, _, loaded = run.stdout.partition("MODULES")
    assert "cluster" in shown
    assert {*LAZY, "numpy"}.isdisjoint(set(loaded.split()) - {"typer", "rich"})


@pytest.mark.parametrize("name", meanshiftpp.__all__)
def test_every_public_name_exists_and_is_documented(name):
    value = getattr(meanshiftpp, name)
    assert name in dir(meanshiftpp)
    if not name.startswith("__"):
        assert value.__doc__
        assert value.__doc__.strip()


def test_no_module_takes_the_place_of_a_public_name():
    """Python binds an imported module in its package, also over a function of the same name."""
    code = (
        "import importlib, pkgutil, types, meanshiftpp\n"
        "for module in pkgutil.iter_modules(meanshiftpp.__path__):\n"
        "    if module.name != '__main__':\n"
        "        importlib.import_module('meanshiftpp.' + module.name)\n"
        "for name in meanshiftpp.__all__:\n"
        "    if isinstance(getattr(meanshiftpp, name), types.ModuleType): print(name)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) == {"errors", "geo", "plot", "reference", "video"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = meanshiftpp.no_such_name


def test_the_kernel_knows_nothing_of_python():
    headers = sorted((ROOT / "src" / "kernel").iterdir())
    assert headers
    for path in headers:
        included = re.findall(r"^\s*#\s*include\s*(\S+)", path.read_text("utf-8"), re.MULTILINE)
        python = [name for name in included if re.search("python|nanobind", name, re.IGNORECASE)]
        assert not python, f"{path.name} includes {python}"
