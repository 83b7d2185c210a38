"""The CUDA sources compile, with nvcc and with NVRTC. This needs a compiler, but no GPU."""

import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

import meanshiftpp
from meanshiftpp import _kernel

FOLDER = Path(meanshiftpp.__file__).parent / "backends" / "cuda"
TYPES = ("float", "double", "unsigned char", "long long")
KERNELS = {  # some instances of each template: all of them would take minutes to compile
    "box": [
        f"{name}<{t}, {d}>" for name in ("sample_box", "keys_of") for t in TYPES for d in (1, 10)
    ],
    "binning": [
        *(f"bin_global<{t}, {d}, {k}>" for t in TYPES for d in (1, 10) for k in range(3)),
        *(f"bin_cached<{t}, {d}>" for t in TYPES for d in (1, 3, 10)),
    ],
    "wide": [f"{name}<{t}>" for name in ("cells_of", "add_points") for t in TYPES],
    "table": ["count_rows", "list_rows", "collect", "spread", "take"],
    "cells": ["merge_rows", "locate", "move_rows", "extent_of"],
    "leaves": [
        *(
            f"{name}<{t}, {d}>"
            for name in ("codes_of", "find_leaves")
            for t in TYPES
            for d in (1, 3)
        ),
        *(f"{name}<{t}>" for name in ("find_ranges", "count_cells") for t in TYPES),
        *(
            f"{name}<{d}>"
            for name in ("mark_leaves", "sum_leaves", "coordinates_of")
            for d in (1, 2, 3)
        ),
        "count_differences",
    ],
    "search": [
        *(f"search<{d}, {way}, {r}>" for d in (1, 3, 6) for way in (0, 1) for r in (0, 1)),
        *(f"search<{d}, 2, 0>" for d in (7, 10)),
        *(f"{name}<3, {h}>" for name in ("start_search", "list_modes") for h in (0, 1)),
        *(f"write_modes<3, {h}>" for h in (0, 1)),
        "label_cells",
    ],
    "query": [
        *(
            f"{name}<{d}>"
            for name in ("index_cells", "find_cells", "window_counts")
            for d in (1, 6)
        ),
        "nearest_modes",
    ],
}


@pytest.fixture
def launch(cuda):
    return import_module(f"{cuda.__name__}.launch")


@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc: the CUDA sources were not compiled")
@pytest.mark.parametrize("part", KERNELS)
def test_nvcc_compiles_the_kernels_without_warnings(part, launch, tmp_path):
    pointers = ", ".join(f"(const void*)&{name}" for name in KERNELS[part])
    unit = tmp_path / "all.cu"
    unit.write_text(
        f'#include "{FOLDER / part}.cu"\nconst void* kernels[] = {{{pointers}}};\n', "utf-8"
    )
    flags = [*launch.OPTIONS, "-arch=sm_90", "-Werror", "all-warnings"]
    command = ["nvcc", *flags, "-ptx", str(unit), "-o", str(tmp_path / "all.ptx")]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("part", KERNELS)
def test_nvrtc_compiles_the_kernels(part):
    """NVRTC compiles the kernels of users; it comes with CuPy and needs no GPU."""
    nvrtc = pytest.importorskip("cupy", reason="no CuPy: NVRTC was not tried").cuda.nvrtc
    from meanshiftpp.backends.cuda.launch import OPTIONS, Kernels

    program = nvrtc.createProgram(Kernels(f"{part}.cu").source, f"{part}.cu", (), ())
    for name in KERNELS[part]:
        nvrtc.addNameExpression(program, name)
    try:
        nvrtc.compileProgram(program, (*OPTIONS, "-ftz=true", "-arch=compute_90"))  # as CuPy does
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    for name in KERNELS[part]:
        assert nvrtc.getLoweredName(program, name)


@pytest.mark.parametrize("part", KERNELS)
def test_each_module_launches_the_kernels_of_its_source(part):
    module = (FOLDER / f"{part}.py").read_text("utf-8")
    launched = set(re.findall(r'(?:\.launch|_name|_query)\(\s*f?"(\w+)', module))
    launched |= set(re.findall(r'name = f"(\w+)<', module))
    source = (FOLDER / f"{part}.cu").read_text("utf-8")
    kernels = re.findall(r"__global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(", source)
    assert launched == set(kernels) == {name.partition("<")[0] for name in KERNELS[part]}


def test_every_source_is_compiled():
    assert {path.stem for path in FOLDER.glob("*.cu")} == set(KERNELS)


def test_the_options_define_every_limit_that_the_sources_use(launch):
    text = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.cu*"))
    used = set(re.findall(r"\bMSPP_(\w+)", text)) - {""}
    defined = dict(re.findall(r"-DMSPP_(\w+)=(\d+)", " ".join(launch.OPTIONS)))
    assert {name: int(value) for name, value in defined.items()} == {
        name: getattr(launch if name == "MAX_AXES" else _kernel, name) for name in used
    }
