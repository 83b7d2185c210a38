"""Build the mutants, run the tests against each, and report the survivors: see the package."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

from tests.mutation.modules import AREA, Importer
from tests.mutation.sources import AREAS, Mutant, copy_kernel
from tests.mutation.switch import Switch
from tests.mutation.trials import Trials, load_kernel

ROOT = Path(__file__).parents[2]
EXPLAINED = Path(__file__).parent / "explained.toml"


def main() -> str | None:
    """Run the program; return a message if a survivor is not explained."""
    names = [*AREAS, AREA]
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("folder", type=Path, help="of the build")
    parser.add_argument("areas", nargs="*", metavar="area", help=f"of {', '.join(names)}; all")
    parser.add_argument("--every", type=int, default=1, help="run one mutant of so many")
    parser.add_argument("--only", default="", help="run mutants whose name matches this")
    parser.add_argument("--seconds", type=float, default=60, help="of tests for each mutant")
    parser.add_argument("--explained", action="store_true", help="run the explained ones too")
    parser.add_argument("-j", type=int, default=2, dest="processes", help="tests at a time")
    options = parser.parse_args()
    areas = options.areas or names
    mutants, trials = prepare(options.folder.absolute(), areas, options.seconds)
    chosen = [m for m in mutants if m.area in areas and re.search(options.only, m.key)]
    chosen = chosen[:: options.every]
    patterns = [re.compile(p) for p in explained_patterns()]
    explained = {m for m in chosen if any(p.search(m.key) for p in patterns)}
    if not options.explained:
        chosen = [m for m in chosen if m not in explained]
    survivors: list[Mutant] = []
    trials.run(lambda runner: survivors.extend(run(runner, chosen, options.processes)))
    open_ones = [m for m in survivors if m not in explained]
    for mutant in open_ones:
        print(f"survived: {mutant.file}:{mutant.line}: {mutant.text}")
    print(f"{len(open_ones)} survivors to explain or kill, {len(explained)} mutants explained")
    return f"a test should fail for each of {len(open_ones)} mutants" if open_ones else None


def prepare(folder: Path, areas: list[str], budget: float) -> tuple[list[Mutant], Trials]:
    """Rewrite the package, and the kernel if one of its areas is chosen."""
    importer = Importer(ROOT)
    mutants, module, program = importer.mutants, None, None
    trace_file = folder / "python-trace.json"
    if areas != [AREA]:
        kernel_mutants, module, program = build(folder, len(mutants))
        mutants = mutants + kernel_mutants
        trace_file = folder / "trace.json"
        load_kernel(module)
    switch = Switch(module)
    importer.install(switch)
    folder.mkdir(parents=True, exist_ok=True)
    return mutants, Trials(switch, trace_file, program, budget)


def build(folder: Path, first_id: int) -> tuple[list[Mutant], Path, Path]:
    """Build the kernel with all mutants; return them, the native module and the test program."""
    tree = folder / "tree"
    mutants = copy_kernel(ROOT, tree, first_id)
    bin_folder = Path(sys.executable).parent
    common = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={bin_folder / 'ninja'}"]
    common += ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    cmake = bin_folder / "cmake"
    for name, tests, target in (("module", "OFF", "_kernel"), ("tests", "ON", "test_kernel")):
        configure = [cmake, "-S", tree, "-B", folder / name, *common, f"-DMSPP_TESTS={tests}"]
        subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([cmake, "--build", folder / name, "--target", target], check=True)
    (module,) = (folder / "module").glob("_kernel*.so")
    return mutants, module, folder / "tests" / "test_kernel"


def run(trials: Trials, mutants: list[Mutant], processes: int) -> list[Mutant]:
    """Run the mutants, print the fates, and return the survivors."""
    survivors, fates = [], Counter[str]()
    for mutant, fate in trials.fates(mutants, processes):
        fates[fate] += 1
        print(f"{mutant.area} {fate}: {mutant.file}:{mutant.line}: {mutant.text}", flush=True)
        if fate in ("survived", "no test"):
            survivors.append(mutant)
    print(", ".join(f"{fate}: {n}" for fate, n in fates.most_common()))
    return survivors


def explained_patterns() -> list[str]:
    """Return the patterns of mutants that change no result, from `explained.toml`."""
    reasons = tomllib.loads(EXPLAINED.read_text("utf-8"))["reason"]
    return [pattern for reason in reasons for pattern in reason["mutants"]]


if __name__ == "__main__":
    sys.exit(main())
