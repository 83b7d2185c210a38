"""Shared code of the benchmarks: the result cache, timing in turns, and lists of modules."""

import re
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest
from benchmarks.common.result_cache import ResultCache, code_version
from benchmarks.common.timing import median_times

import benchmarks
from benchmarks import bsds, clustering, common, paper, speed, tracking

ROOT = Path(__file__).parents[2]


def test_the_cache_survives_truncation(tmp_path):
    path = tmp_path / "results.jsonl"
    ResultCache(path).store("a", "b", value={"x": 1.5})
    path.write_text(path.read_text("utf-8") + '\n["a", "c', "utf-8")
    cache = ResultCache(path)
    assert cache.get_or_compute("a", "b", compute=lambda: pytest.fail("is known")) == {"x": 1.5}
    assert cache.get_or_compute("a", "c", compute=lambda: (1, 2)) == [1, 2]
    assert ResultCache(path).get("a", "c") == [1, 2]


def test_the_code_version_depends_on_the_layers():
    versions = {code_version(), code_version("core"), code_version("core", "images")}
    assert len(versions) == 3
    assert all(re.fullmatch("code [0-9a-f]{8}", version) for version in versions)
    with pytest.raises(FileNotFoundError, match="no_such_layer"):
        code_version("core", "no_such_layer")


def test_calls_take_turns_after_a_warm_up():
    order: list[str] = []
    calls = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    times = median_times(calls, rounds=2, warm_up=1)
    assert "".join(order) == "ababab"
    assert all(times[name] > 0 for name in calls)


# -- lists of modules ------------------------------------------------------------------------------


def modules(package: ModuleType) -> set[str]:
    """Return the names of the public modules of a package."""
    return {found.name for found in iter_modules(package.__path__) if found.name[0] != "_"}


@pytest.mark.parametrize("package", [benchmarks, bsds, clustering, common, paper, speed, tracking])
def test_a_package_lists_its_modules(package):
    listed = re.findall(r"(?<=^    )\w+(?=  )", package.__doc__, re.MULTILINE)
    assert set(listed) == modules(package)


def test_the_documented_commands_exist():
    pages = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    text = "".join(page.read_text("utf-8") for page in pages)
    named = set(re.findall(r"\bbenchmarks\.(\w+)", text))
    assert {"bsds", "tracking", "paper", "gpu"} <= named
    assert named - modules(benchmarks) == set()
