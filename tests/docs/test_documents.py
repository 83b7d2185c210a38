"""The code, commands and links of the README, the pages and the docstrings work."""

import contextlib
import doctest
import importlib
import inspect
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from tests.apps.cli import command_line

import meanshiftpp
from meanshiftpp.apps.cli.segment.run import Result
from meanshiftpp.apps.cli.track.run import Summary, Track

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "meanshiftpp"
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))


def code_blocks(path: Path, language: str) -> list[str]:
    """Return the code blocks of a Markdown page in one language."""
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, path.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def prose(path: Path) -> str:
    """Return the text of a Markdown page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def check_examples(test: doctest.DocTest) -> None:
    """Run a doctest and fail with its report."""
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


# The README


def run_readme() -> str:
    """Run the Python code of the README in the current folder; return its output."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec("\n".join(code_blocks(README, "python")), {"__name__": "readme"})
    return printed.getvalue()


def commands(path: Path) -> list[str]:
    """Return the shell commands of a Markdown page, without comments."""
    lines = "".join(code_blocks(path, "sh")).splitlines()
    return [line.partition(" #")[0].strip() for line in lines if line.strip()]


def assert_studio_starts(arguments: list[str], folder: Path) -> None:
    """Start the studio, wait until it prints its address, and stop it."""
    command = [sys.executable, "-m", "meanshiftpp", *arguments, "--no-open"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        printed = any("http://127.0.0.1:" in line for line in server.stdout)
        server.terminate()
    assert printed, "the studio did not print its address"


def run_process(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def run_program(*arguments: str) -> None:
    code, output, errors = command_line.run(*arguments)
    assert code == 0, f"{arguments}\n{output}{errors}"


def test_readme_code_prints_the_output_it_shows_and_its_commands_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_readme() == "".join(code_blocks(README, "text"))
    for line in commands(README):  # with the files that the code has written
        program, *arguments = shlex.split(line)
        if arguments[:1] == ["studio"]:
            assert_studio_starts(arguments, tmp_path)
        elif program == "meanshiftpp":
            run_program(*arguments)
        elif program == "make":
            # Checks only that the target exists: CI runs the targets themselves.
            run_process("make", "--dry-run", "--always-make", *arguments)
        else:
            # Checks only the requirement: `make wheel` checks that it can be installed.
            assert line.startswith("pip install ")
            options = ("--dry-run", "--no-deps", "--no-build-isolation", "--quiet")
            run_process(sys.executable, "-m", "pip", *arguments, *options)
        for output in re.findall(r"(?:-o|--plot|--csv) (\S+)", line):
            assert (tmp_path / output).stat().st_size > 0, f"{line} did not write {output}"


# Pages and docstrings


def modules_with_examples() -> Iterator[str]:
    """Yield the modules with a doctest, except for Spark's, which need a session."""
    for path in sorted(SOURCE.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        if not name.startswith("engines.spark") and re.search(
            r"^\s*>>> ", path.read_text("utf-8"), re.MULTILINE
        ):
            yield name.removesuffix(".__init__")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_examples_of_pages_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = "\n".join(code_blocks(page, "pycon"))
    check_examples(doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0))


@pytest.mark.parametrize("name", [*modules_with_examples()])
def test_examples_of_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"meanshiftpp.{name}")
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert tests, "doctest does not find the examples of this module"
    for test in tests:
        check_examples(test)


# The API reference


def public_names() -> Iterator[tuple[str, object]]:
    """Yield every public class and function of the package and of its public modules."""
    for name in [*meanshiftpp.__all__, "dask", "spark"]:
        value = getattr(meanshiftpp, name)
        if not inspect.ismodule(value):
            yield f"meanshiftpp.{name}", value
            continue
        for inner in getattr(value, "__all__", [n for n in dir(value) if n[0] != "_"]):
            member = getattr(value, inner)
            if callable(member) and getattr(member, "__module__", "").startswith("meanshiftpp"):
                yield f"{value.__name__}.{inner}", member


def is_in_api_page(name: str) -> bool:
    """Return whether docs/api.md lists a name, alone or as a member of its module."""
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    module, _, own = name.rpartition(".")
    listed = re.findall(rf"automodule:: {re.escape(module)}\n   :members:(.*)\n", page)
    members = [names.replace(",", " ").split() for names in listed]
    return f":: {name}\n" in page or any(not names or own in names for names in members)


def test_every_public_name_is_documented_with_an_example():
    names = dict(public_names())
    assert len(names) > 30
    assert [name for name in names if ">>> " not in (inspect.getdoc(names[name]) or "")] == []
    assert [name for name in names if not is_in_api_page(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_prose_is_wrapped_at_100_columns(page):
    lines = [line for line in prose(page).splitlines() if not line.startswith(("|", "![", "<"))]
    assert [line for line in lines if len(line) > 100] == []


# Links


def anchors(path: Path) -> set[str]:
    """Return the link targets of the headings of a page, of the levels that Sphinx links to."""
    headings = re.findall(r"^#{1,3} (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


def links(path: Path) -> list[tuple[str, str]]:
    """Return the file and the anchor of each link of a page to this repository."""
    found = re.findall(r"\]\(([^)#\s]*)#?([^)]*)\)", prose(path))
    return [link for link in found if not link[0].startswith(("http://", "https://"))]


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *PAGES, *ROOT.glob(".github/*.md")], ids=lambda path: path.name
)
def test_links_have_a_target(page):
    for target, anchor in links(page):
        linked = page.parent / target if target else page
        assert linked.is_file(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(linked), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages_link_only_to_pages_pictures_and_examples(page):
    """Sphinx links to no other files; the repository has no gallery, so pages name its scripts."""
    outside = [target for target, _ in links(page) if target.startswith(("../", "gallery/"))]
    allowed = re.compile(r"\.\./examples/(\w+\.py|README\.rst)")
    assert [target for target in outside if not allowed.fullmatch(target)] == []


@pytest.mark.parametrize(
    ("page", "outputs"), [("images", [Result]), ("tracking", [Summary, Track])]
)
def test_every_field_of_json_is_documented(page, outputs):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    section = text[text.index("`--json` prints") :].split("\n#")[0]
    rows = "\n".join(re.findall(r"^\|.*", section, re.MULTILINE))
    for output in outputs:
        assert [f.name for f in fields(output) if f"`{f.name}`" not in rows] == []
