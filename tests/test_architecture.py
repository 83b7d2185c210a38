"""The direction of dependencies: a folder imports from the folders before it, not after it."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import meanshiftpp

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "meanshiftpp"
KERNEL = ROOT / "src" / "kernel"

RULE = (
    "_support < backends < core < bandwidth < estimators < images < video < tracking"
    " < io < engines < plot < apps"
)
KERNEL_RULE = "base < cells < bin < seek < query < leaves < tree < image < track"
LAYERS, KERNEL_LAYERS = RULE.split(" < "), KERNEL_RULE.split(" < ")

BELOW = {"errors", "_kernel"}  # every layer may import them
REEXPORTS = {"clips", "dask", "draw", "picture", "spark", "stream"}  # public modules of the root
EXCEPTIONS = {
    ("bandwidth.sweep", "plot.sweep"),  # Sweep.plot
    ("estimators.condensed", "plot.tree"),  # CondensedTree.plot
    ("apps.cli.app", ""),  # the version
    ("apps.studio.server", ""),
    ("apps.cli.shared.metres", "geo"),
}

# Packages that a layer imports directly, besides the standard library and NumPy; the others go
# through `need`.
THIRD_PARTY = {
    "_support": {"pyarrow"},
    "backends": {"scipy"},
    "core": {"sklearn", "scipy"},  # the class of a warning; the nearest leaves
    "estimators": {"sklearn", "joblib"},
    "video": {"scipy"},
    "io": {"scipy"},
    "engines": {"sklearn", "pyspark"},
    "apps": {"sklearn", "typer", "rich", "fastapi", "starlette", "uvicorn"},
}

# Heavy or optional packages, none of which a plain `import meanshiftpp` may load.
LAZY = ["sklearn", "scipy", "matplotlib", "pyarrow", "pandas", "polars", "typer", "rich"]
LAZY += ["PIL", "tifffile", "av", "skimage", "dask", "distributed", "pyspark", "cupy"]
LAZY += ["shapely", "pyogrio"]
LAZY += ["zarr", "rasterio", "laspy", "lazrs", "fastapi", "uvicorn", "websockets"]

MODULES = sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the dotted name of a file within the package; the package itself is ''."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_name(path) for path in MODULES} | {"_kernel"}


def imported_names(path: Path) -> Iterator[str]:
    """Yield every import of a file as an absolute dotted name, wherever in the file it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(path: Path) -> set[str]:
    """Return the modules of the package that a file imports."""
    modules = set()
    for name in imported_names(path):
        head, *parts = name.split(".")
        if head == "meanshiftpp":
            prefixes = [".".join(parts[:n]) for n in range(len(parts), -1, -1)]
            modules.add(next(prefix for prefix in prefixes if prefix in NAMES))
    return modules


def may_import(module: str, other: str) -> bool:
    """Return whether the rule lets one module of the package import another."""
    layer, other_layer = module.partition(".")[0], other.partition(".")[0]
    if layer not in LAYERS:  # a public module in the root, or the reference
        return layer != "reference" or other_layer == "reference"
    if (module, other) in EXCEPTIONS or other in BELOW:
        return True
    return other_layer in LAYERS and LAYERS.index(other_layer) <= LAYERS.index(layer)


def test_every_folder_is_a_layer():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == {*LAYERS, "reference"}
    kernel = {path.name for path in KERNEL.iterdir()}
    assert kernel == set(KERNEL_LAYERS)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_go_one_way(path):
    module = module_name(path)
    wrong = {other for other in own_imports(path) if not may_import(module, other)}
    assert not wrong, f"{module} may not import {wrong}"
    others = {name.partition(".")[0] for name in imported_names(path)}
    others -= {"meanshiftpp", "numpy", *sys.stdlib_module_names}
    allowed = THIRD_PARTY.get(module.partition(".")[0], set())
    assert others <= allowed, f"{module} may not import {others - allowed}"


@pytest.mark.parametrize("module", sorted(REEXPORTS))
def test_public_modules_only_re_export_names(module):
    docstring, *rest = ast.parse((PACKAGE / f"{module}.py").read_text("utf-8")).body
    assert isinstance(docstring, ast.Expr)
    assert {type(node) for node in rest} == {ast.ImportFrom, ast.Assign}
    assert [node.targets[0].id for node in rest if isinstance(node, ast.Assign)] == ["__all__"]


def test_every_exception_is_needed():
    used = {(module_name(path), other) for path in MODULES for other in own_imports(path)}
    assert used >= EXCEPTIONS


def test_modules_have_no_import_cycle():
    below = {
        module_name(path): own_imports(path) - {module_name(path)}
        for path in MODULES
        if module_name(path)
    }
    while below:
        free = [module for module, imports in below.items() if not imports & below.keys()]
        assert free, f"an import cycle among {sorted(below)}"
        for module in free:
            del below[module]


def test_kernel_includes_go_one_way():
    headers = sorted(path for path in KERNEL.rglob("*") if path.is_file())
    assert headers
    for path in headers:
        layer = path.relative_to(KERNEL).parts[0]
        included = re.findall(r"^\s*#\s*include\s*(\S+)", path.read_text("utf-8"), re.MULTILINE)
        python = [name for name in included if re.search("python|nanobind", name, re.IGNORECASE)]
        assert not python, f"{path.name} includes {python}"
        for other in re.findall(r'"kernel/(\w+)/', " ".join(included)):
            assert KERNEL_LAYERS.index(other) <= KERNEL_LAYERS.index(layer), f"{path}: {other}"


def test_importing_the_package_loads_no_heavy_library():
    code = "import sys, meanshiftpp; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(LAZY).isdisjoint(run.stdout.split())


def test_help_loads_no_heavy_library():
    code = (
        "import sys; sys.argv = ['meanshiftpp', '--help']\n"
        "from meanshiftpp.__main__ import main\n"
        "try: main()\n"
        "finally: print('MODULES', *sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    help_text, _, loaded = run.stdout.partition("MODULES")
    assert "cluster" in help_text
    assert {*LAZY, "numpy"}.isdisjoint(set(loaded.split()) - {"typer", "rich"})


@pytest.mark.parametrize("name", meanshiftpp.__all__)
def test_every_public_name_exists_and_is_documented(name):
    value = getattr(meanshiftpp, name)
    assert name in dir(meanshiftpp)
    if not name.startswith("__"):
        assert value.__doc__
        assert value.__doc__.strip()


def test_no_module_replaces_a_public_function():
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
    modules = {path.stem for path in PACKAGE.glob("*.py")} | {"plot", "reference", "video"}
    assert set(run.stdout.split()) == modules - {"__init__", "__main__", "dask", "spark"}


@pytest.mark.parametrize("name", sorted(REEXPORTS))
def test_public_modules_load_on_first_use(name):
    pytest.importorskip({"dask": "dask", "spark": "pyspark"}.get(name, "numpy"))
    assert meanshiftpp.__getattr__(name).__name__ == f"meanshiftpp.{name}"


def test_help_lists_the_members_without_the_extras(monkeypatch):
    for name in ("dask", "pyspark"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("dask", "spark"):
        monkeypatch.delitem(sys.modules, f"meanshiftpp.{name}", raising=False)
        monkeypatch.delitem(vars(meanshiftpp), name, raising=False)
    members = dict(inspect.getmembers(meanshiftpp))
    assert "stream" in members
    assert "spark" not in members


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = meanshiftpp.no_such_name
