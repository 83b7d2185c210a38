"""The contents of the package and of the source distribution."""

import ast
import importlib
import re
import tarfile
import tomllib
from importlib import metadata, resources
from pathlib import Path

import pytest
from tests.test_architecture import THIRD_PARTY

import meanshiftpp

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "meanshiftpp"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_version_is_defined_once():
    version = meanshiftpp.__version__
    assert metadata.version("meanshiftpp") == version
    places = [*SOURCE.rglob("*.py"), ROOT / "docs" / "conf.py"]
    places += [ROOT / name for name in ("pyproject.toml", "CMakeLists.txt", "CITATION.cff")]
    holders = [path.name for path in places if version in path.read_text("utf-8")]
    assert holders == ["__init__.py"]


def test_conda_recipe_is_of_this_release():
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    version = re.search(r'^  version: "(.+)"$', recipe, re.MULTILINE)[1]
    assert version == meanshiftpp.__version__
    for floor in PROJECT["dependencies"]:
        assert f"- {floor.replace('>=', ' >=')}\n" in recipe


def test_every_package_that_is_imported_directly_is_declared():
    names = {"joblib": "joblib", "numpy": "numpy", "sklearn": "scikit-learn", "scipy": "scipy"}
    declared = {re.match(r"[\w-]+", each)[0] for each in PROJECT["dependencies"]}
    assert declared == set(names.values())
    optional = {"fastapi", "pyarrow", "pyspark", "rich", "starlette", "typer", "uvicorn"}
    assert set().union(*THIRD_PARTY.values()) - optional < set(names)


def test_every_needed_extra_is_declared():
    """`need(module, extra)` prints the command that installs the extra."""
    named = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "need":
                named.add(ast.literal_eval(node.args[1]))
    assert {"image", "io", "maps"} < named
    assert named <= PROJECT["optional-dependencies"].keys()


def test_source_folder_holds_only_the_parts_of_the_package():
    parts = {path.name for path in (ROOT / "src").iterdir()} - {"__pycache__"}
    assert parts == {"bindings", "kernel", "meanshiftpp", "web"}


def test_description_links_to_this_version():
    headers = metadata.metadata("meanshiftpp")
    description = headers["Description"] or headers.get_payload()  # the backport has no payload
    links = re.findall(r"\]\(([^)]+)\)", str(description))
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    ours = [link for link in links if "meanshiftpp/meanshiftpp/" in link]
    assert ours
    versions = {re.search(r"/(?:blob/)?(v[^/]+)/", link)[1] for link in ours}
    assert versions == {f"v{meanshiftpp.__version__}"}


def test_package_contains_type_information():
    package = resources.files("meanshiftpp")
    assert (package / "py.typed").is_file()
    assert (package / "_kernel.pyi").is_file()


def test_stub_declares_the_names_of_the_kernel():
    kernel = importlib.import_module("meanshiftpp._kernel")
    stub = ast.parse((SOURCE / "_kernel.pyi").read_text("utf-8"))
    declared = set()
    for node in stub.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            declared.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared.add(node.target.id)
    public = {name for name in declared if not name.startswith("_")}
    assert public == {name for name in dir(kernel) if not name.startswith("_")}


def build_sdist(folder: Path) -> Path:
    """Build the source distribution with one time for all its files."""
    backend = pytest.importorskip("scikit_build_core.build")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("SOURCE_DATE_EPOCH", "1794787200")
        return folder / backend.build_sdist(str(folder))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    return build_sdist(tmp_path_factory.mktemp("sdist"))


def test_sdist_is_reproducible(sdist, tmp_path):
    assert build_sdist(tmp_path).read_bytes() == sdist.read_bytes()


def test_sdist_contains_everything_that_a_build_and_the_tests_need(sdist):
    with tarfile.open(sdist) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "CMakeLists.txt", "Makefile", "LICENSE", "README.md"}
    needed |= {"packaging/cross.sh", "packaging/conda/recipe.yaml"}  # of the Makefile and the tests
    for folder in ("src", "tests"):
        needed |= {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".py", ".pyi", ".typed", ".cpp", ".hpp", ".cu", ".cuh"}
        }
    needed.add("src/meanshiftpp/py.typed")
    page = (SOURCE / "apps" / "studio" / "page").iterdir()
    needed |= {path.relative_to(ROOT).as_posix() for path in page}
    assert needed <= shipped, f"missing: {sorted(needed - shipped)}"
    unwanted = re.compile(r"(\.venv|\.git|build|demo|docs/_build)/")
    assert [name for name in shipped if unwanted.match(name)] == []


def test_package_has_no_stray_files(sdist):
    """A wheel holds the folder of the package, the kernel and the licences."""
    with tarfile.open(sdist) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    package = {name for name in shipped if name.startswith("src/meanshiftpp/") and "." in name}
    expected = {"py", "pyi", "typed", "cu", "cuh", "json", "yaml", "js", "css", "html", "svg"}
    assert {name.rpartition(".")[2] for name in package} == expected
    assert [name for name in package if "test" in name or "__pycache__" in name] == []
    assert {"LICENSES/nanobind.txt", "LICENSES/robin-map.txt"} < shipped
