"""Build the web page: the kernel in WebAssembly, with the pages of the studio and samples.

Run by `make web`, which needs emscripten. The result is a folder of static files for any file
server; a file that a user opens stays in the browser.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np

from meanshiftpp.apps.samples import gaussians
from meanshiftpp.apps.studio import samples
from meanshiftpp.apps.studio.table_tree import READABLE
from meanshiftpp.apps.studio.wire import jpeg
from meanshiftpp.core.recipe import DEFAULT_MAX_ITER, DEFAULT_TOL
from meanshiftpp.core.tree.critical import critical_values
from meanshiftpp.core.tree.growth import SECOND_LOOK
from meanshiftpp.core.tree.tree import LOOSER, STAGES
from meanshiftpp.images import picture, segmentation
from meanshiftpp.images.colours import CLUSTER_BANDWIDTH
from meanshiftpp.images.merge_table import table_text

HERE = Path(__file__).parent
SOURCES = (
    *("kernel/bin/loops.cpp", "kernel/bin/dispatch.cpp"),
    *("kernel/tree/near_loops.cpp", "kernel/tree/near_choice.cpp", "web/web.cpp"),
)
STUDIO_PAGE = HERE.parent / "meanshiftpp/apps/studio/page"
MAX_BYTES = 2_200_000
# No fused multiply-add, as in CMakeLists.txt; exceptions and vectors are those of WebAssembly.
COMPILE = [
    *("-std=c++20", "-O2", "-msimd128", "-fwasm-exceptions", "-Wall", "-Wextra"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-DMSPP_ISA=base", "-DMSPP_THREE_AXES"),
]
LINK = [
    *("-O2", "-fwasm-exceptions", "-sMODULARIZE", "-sEXPORT_ES6", "-sENVIRONMENT=worker"),
    *("-sFILESYSTEM=0", "-sALLOW_MEMORY_GROWTH", "-sMAXIMUM_MEMORY=4GB"),
    *("-sEXPORTED_FUNCTIONS=_malloc,_free", "-sEXPORTED_RUNTIME_METHODS=UTF8ToString"),
]


def compile_kernel(objects: Path, target: Path) -> None:
    """Compile changed files, and link them."""
    # Debian's emscripten does not find its own JavaScript parser without this path.
    environment = {"NODE_PATH": "/usr/share/nodejs", **os.environ}
    code = [*(HERE.parent / "kernel").rglob("*.?pp"), *HERE.glob("*.?pp")]
    newest = max(path.stat().st_mtime for path in code)
    outputs = [objects / f"{Path(source).stem}.o" for source in SOURCES]
    for source, output in zip(SOURCES, outputs, strict=True):
        if not output.exists() or output.stat().st_mtime < newest:
            shim = ["-include", "web/bit_cast.hpp", "-I."]
            command = ["em++", *COMPILE, *shim, "-c", source, "-o", str(output.absolute())]
            subprocess.run(command, cwd=HERE.parent, env=environment, check=True)
    if not target.exists() or target.stat().st_mtime < newest:
        subprocess.run(["em++", *LINK, *outputs, "-o", target], env=environment, check=True)


def copy_page(folder: Path) -> None:
    """Copy the pages of the studio; those of this folder replace files of the same name."""
    for source in (STUDIO_PAGE, HERE / "page"):
        unused = shutil.ignore_patterns("video_marks.js")
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=unused)
    index = folder / "index.html"
    link = '<link rel="stylesheet" href="style.css">'
    html = index.read_text("utf-8")
    if html.count(link) != 1:
        raise SystemExit(f"{STUDIO_PAGE / 'index.html'} must contain {link} once")
    index.write_text(html.replace(link, f"{link}\n{link.replace('style.css', 'web.css')}"), "utf-8")


def write_settings(path: Path) -> None:
    """Write the constants of the package that the page needs, and the learned table."""
    settings = {
        "tol": DEFAULT_TOL,
        "max_iter": DEFAULT_MAX_ITER,
        "piece_size": segmentation.PIECE_SIZE,
        "piece_image_size": segmentation.PIECE_IMAGE_SIZE,
        "piece_bandwidth": segmentation.PIECE_BANDWIDTH,
        "cluster_bandwidth": CLUSTER_BANDWIDTH,
        "merge_table": json.loads(table_text()),
        "critical": [critical_values(d).tolist() for d in (1, 2, 3)],
        "stages": (LOOSER ** np.arange(STAGES)).tolist(),
        "second_look": SECOND_LOOK,
        "readable": READABLE,
    }
    path.write_text(json.dumps(settings, separators=(",", ":")), "utf-8")


def write_samples(folder: Path) -> None:
    """Write a photograph and two tables."""
    folder.mkdir(exist_ok=True)
    photo = picture.read(samples.write("image", "coffee", folder).path)
    (folder / "coffee.jpg").write_bytes(jpeg(photo.values, quality=88).tobytes())
    (folder / "sample-coffee.png").unlink()
    samples.write("table", "iris", folder).path.rename(folder / "iris.csv")
    np.save(folder / "points.npy", gaussians(10_000)[0])


def main() -> None:
    """Build the page into the folder of the command line, and check its size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for the page")
    parser.add_argument("objects", type=Path, help="for compiled files")
    arguments = parser.parse_args()
    folder, objects = arguments.folder, arguments.objects
    shutil.rmtree(folder, ignore_errors=True)
    for made in (folder, objects):
        made.mkdir(parents=True, exist_ok=True)
    compile_kernel(objects, objects / "kernel_module.js")
    for suffix in ("js", "wasm"):
        shutil.copy(objects / f"kernel_module.{suffix}", folder)
    copy_page(folder)
    shutil.copy(HERE / "NOTICE.txt", folder)
    shutil.copy(HERE.parents[1] / "LICENSE", folder / "LICENSE.txt")
    write_settings(folder / "settings.json")
    write_samples(folder / "samples")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > MAX_BYTES:
        raise SystemExit(f"the page must have at most {MAX_BYTES:,} bytes, but has {size:,}")
    print(f"{folder}: {size:,} bytes; open it with: python -m http.server -d {folder}")


if __name__ == "__main__":
    main()
