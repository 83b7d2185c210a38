"""What is shipped, and that everything the documents show is true."""

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import re
import shlex
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from importlib import metadata, resources
from pathlib import Path

import pytest

import meanshiftpp

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "meanshiftpp"
PAGES = sorted((ROOT / "docs").glob("*.md"))


def with_examples() -> Iterator[str]:
    """The modules that show a session in a docstring; those of Spark are run by its own tests."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        if not name.startswith("engines.spark") and re.search(
            r"^\s*>>> ", path.read_text("utf-8"), re.MULTILINE
        ):
            yield name.removesuffix(".__init__")


def fenced(path: Path, language: str) -> list[str]:
    """The code blocks of a Markdown page in one language."""
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, path.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def check_examples(test: doctest.DocTest) -> None:
    """Run a doctest; fail with its own report."""
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


# The package


def test_the_version_is_in_one_place():
    version = meanshiftpp.__version__
    assert metadata.version("meanshiftpp") == version
    places = [*SOURCE.rglob("*.py"), ROOT / "docs" / "conf.py"]
    places += [ROOT / name for name in ("pyproject.toml", "CMakeLists.txt", "CITATION.cff")]
    holders = [path.name for path in places if version in path.read_text("utf-8")]
    assert holders == ["__init__.py"]


def test_types_are_shipped():
    package = resources.files("meanshiftpp")
    assert (package / "py.typed").is_file()
    assert (package / "_kernel.pyi").is_file()


def test_the_stub_names_what_the_kernel_has():
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


def test_the_sdist_has_what_a_build_needs(tmp_path, monkeypatch):
    backend = pytest.importorskip("scikit_build_core.build")
    monkeypatch.chdir(ROOT)
    with tarfile.open(tmp_path / backend.build_sdist(str(tmp_path))) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"pyproject.toml", "CMakeLists.txt", "Makefile", "LICENSE", "README.md"}
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


# What the documents show


def test_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = "".join(fenced(ROOT / "README.md", "text"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("\n".join(fenced(ROOT / "README.md", "python")), {"__name__": "readme"})
    assert printed.getvalue() == shown


def lines(path: Path) -> list[str]:
    """The commands that a Markdown page shows, without their comments."""
    shown = "".join(fenced(path, "sh")).splitlines()
    return [line.partition(" #")[0].strip() for line in shown if line.strip()]


def assert_serves(arguments: list[str], where: Path) -> None:
    """Start the studio, wait until it says where it is, and end it."""
    command = [sys.executable, "-m", "meanshiftpp", *arguments, "--no-open"]
    with subprocess.Popen(
        command, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert any("http://127.0.0.1:" in said for said in server.stdout), "it never said where"
        server.terminate()


def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):  # which writes the files they are given
        exec("\n".join(fenced(ROOT / "README.md", "python")), {"__name__": "readme"})
    for line in lines(ROOT / "README.md"):
        program, *arguments = shlex.split(line)
        if arguments[:1] == ["studio"]:
            assert_serves(arguments, tmp_path)
            continue
        if program == "meanshiftpp":
            command, where = [sys.executable, "-m", "meanshiftpp", *arguments], tmp_path
        elif program == "make":  # that there is such a target: CI runs test and docs, and
            # test_cli.py what demo runs
            command, where = ["make", "--dry-run", "--always-make", *arguments], ROOT
        else:  # what would be installed; that it can be is for `make wheel`
            assert line.startswith("pip install ")
            options = ["--dry-run", "--no-deps", "--no-build-isolation", "--quiet"]
            command, where = [sys.executable, "-m", "pip", *arguments, *options], ROOT
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        for output in re.findall(r"(?:-o|--plot|--csv) (\S+)", line):
            assert (tmp_path / output).stat().st_size > 0, f"{line} did not write {output}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = "\n".join(fenced(page, "pycon"))
    check_examples(doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0))


@pytest.mark.parametrize("name", [*with_examples()])
def test_the_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"meanshiftpp.{name}")
    found = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert found, "the examples are where doctest does not look"
    for test in found:
        check_examples(test)


def public() -> Iterator[tuple[str, object]]:
    """Every public class and function: those of the package, and those of its public modules."""
    for name in meanshiftpp.__all__:
        value = getattr(meanshiftpp, name)
        if not inspect.ismodule(value):
            yield f"meanshiftpp.{name}", value
            continue
        for inner in getattr(value, "__all__", [n for n in dir(value) if n[0] != "_"]):
            member = getattr(value, inner)
            if callable(member) and getattr(member, "__module__", "").startswith("meanshiftpp"):
                yield f"{value.__name__}.{inner}", member


def in_the_reference(name: str) -> bool:
    """Say whether docs/api.md shows a name, by itself or as a member of its module."""
    shown = (ROOT / "docs" / "api.md").read_text("utf-8")
    module, _, own = name.rpartition(".")
    listed = re.findall(rf"automodule:: {re.escape(module)}\n   :members:(.*)\n", shown)
    members = [names.replace(",", " ").split() for names in listed]
    return f":: {name}\n" in shown or any(not names or own in names for names in members)


def test_every_public_name_is_documented_with_an_example():
    names = dict(public())
    assert len(names) > 30
    assert [name for name in names if ">>> " not in (inspect.getdoc(names[name]) or "")] == []
    assert [name for name in names if not in_the_reference(name)] == []


def anchors(path: Path) -> set[str]:
    """What the headings of a Markdown page are linked to as."""
    headings = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *PAGES], ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)]*)\)", page.read_text("utf-8")):
        if not target.startswith(("http://", "https://")):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(there), f"{page.name} links to {target}#{anchor}"
