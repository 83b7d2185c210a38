"""The parsers of this package as targets of a fuzzer: seeds, mutations and a run.

A run ends without an error or with one of this package; everything else is a finding. An input that
is accepted must also be usable.
"""

from __future__ import annotations

import asyncio
import atexit
import io
import json
import math
import random
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple
from unittest.mock import patch

import numpy as np
import typer
from PIL import Image
from tests.fuzz.mutations import mutate_bytes, mutate_json, mutate_npz, mutate_text

from meanshiftpp import Grid, seek
from meanshiftpp.apps.cli.shared import options
from meanshiftpp.apps.cli.track.command import _parse_window
from meanshiftpp.apps.studio.image_view import ImageView
from meanshiftpp.apps.studio.server import Studio
from meanshiftpp.apps.studio.session import Job, Session, Source
from meanshiftpp.apps.studio.table_view import TableView
from meanshiftpp.core.chunk import Chunk
from meanshiftpp.core.gridfile import columns_of
from meanshiftpp.core.tree import Clusters, treefile
from meanshiftpp.core.tree import tally as tally_module
from meanshiftpp.core.tree.significant import Significant
from meanshiftpp.errors import MeanShiftPPError
from meanshiftpp.io.checkpoint import Checkpoint
from meanshiftpp.io.identity import Identity


class Target(NamedTuple):
    """A parser: its first inputs, their mutations, and a run with one input in a folder."""

    seeds: Callable[[], list[bytes]]
    mutate: Callable[[bytes, random.Random], bytes]
    run: Callable[[bytes, Path], None]


def _points() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 3.0] + [[0, 0], [9, 9]] * 30


# -- files -------------------------------------------------------------------------------------


def _saved(save: Callable[[Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "file")
        return (Path(folder) / "file").read_bytes()


def _grid_files() -> list[bytes]:
    points = _points()
    grids = [
        Grid.empty(0.5, 1),
        Grid.from_points(points[:6], [1.0, 2.0]),
        Grid.from_points(points[:6], 1.5, sample_weight=np.arange(6) / 3),
        Grid.from_points(points[:6], 1.0, periodic=[None, 12]),
    ]
    named = _saved(lambda path: grids[1].save(path, columns=["a", "ü"]))
    return [named, *(_saved(grid.save) for grid in grids)]


def _run_grid(data: bytes, folder: Path) -> None:
    path = folder / "a.grid"
    path.write_bytes(data)
    columns_of(path)
    grid = Grid.load(path)
    grid.save(folder / "b.grid")
    assert Grid.load(folder / "b.grid") == grid
    repr(grid)
    _use_grid(grid)


def _use_grid(grid: Grid) -> None:
    for use in (lambda: grid + grid, lambda: grid.coarsen(2), lambda: seek(grid, max_iter=9)):
        with suppress(MeanShiftPPError), np.errstate(all="ignore"):
            use()


class _Source:
    """The part of a source of points that a checkpoint reads."""

    columns, unit = ("a", "b"), "rows"
    weight, where, missing = None, None, "error"

    identities: ClassVar = [Identity("points.csv", 100, 15, 7, "c0ffee")]

    def check_unchanged(self) -> None:
        """There is no file."""


_START = Grid.empty([1.0, 2.0])


def _checkpoints() -> list[bytes]:
    grid = Grid.from_points(_points()[:6], [1.0, 2.0])
    return [_saved(lambda path: Checkpoint(grid, 4, 6).save(path, _Source()))]


def _run_checkpoint(data: bytes, folder: Path) -> None:
    path = folder / "checkpoint"
    path.write_bytes(data)
    _use_grid(Checkpoint.resume(path, _Source(), _START).total + _START)


_RECIPE = Significant([None, 40.0]).checked(2)


def _tallies() -> list[bytes]:
    points, weights = _points(), np.arange(len(_points())) / 7
    rows = [Chunk(points), Chunk(points, np.ones(len(points), np.int64)), Chunk(points, weights)]
    tallies = [*map(_RECIPE.bin, rows), _RECIPE.empty()]
    with patch.object(tally_module, "MAX_ROWS", 20):  # so that rows become cells
        tallies += map(_RECIPE.bin, rows)
    return [
        _saved(lambda path, tally=tally: Checkpoint(tally, 4, 6).save(path, _Source()))
        for tally in tallies
    ]


def _run_tally(data: bytes, folder: Path) -> None:
    path = folder / "checkpoint"
    path.write_bytes(data)
    tally = Checkpoint.resume(path, _Source(), _RECIPE.empty()).total
    with suppress(MeanShiftPPError, UserWarning), np.errstate(all="ignore"):
        _RECIPE.search(tally + _RECIPE.bin(Chunk(_points())), n_threads=1)


def _trees() -> list[bytes]:
    points = _points()
    tree = _RECIPE.fit(points, n_threads=1).clusters.tree
    clipped = Significant().checked(2).fit(np.clip(points, -1, 2), n_threads=1).clusters.tree
    return [treefile.to_bytes(each) for each in (tree, clipped, tree.cut(4, n_threads=1))]


def _run_tree(data: bytes, folder: Path) -> None:
    tree = treefile.from_bytes(data)
    treefile.from_bytes(treefile.to_bytes(tree))
    repr(tree)
    n_features = len(tree.leaves.lattice.units)
    with suppress(MeanShiftPPError), np.errstate(all="ignore"):
        for each in (tree, tree.cut(2, n_threads=1), tree.cut(min_size=9, n_threads=1)):
            for cluster_all in (True, False):
                clusters = Clusters.of_tree(each, cluster_all=cluster_all)
                clusters.label(np.ones((3, n_features)) * [[0.0], [1.0], [1e9]], n_threads=1)
                clusters.strengths()
                assert clusters.centers.shape == (len(clusters), n_features)


# -- options -----------------------------------------------------------------------------------

OPTIONS: list[Callable[[str], Any]] = [
    options.parse_bandwidth,
    lambda text: options.parse_bandwidth(text, 2),
    options.parse_periods,
    lambda text: options.parse_positive_numbers(text, "--bandwidths"),
    options.parse_size,
    options._parse_columns,
    _parse_window,
]


def _option_texts() -> list[bytes]:
    texts = ["0.5", "0.5,1", "360,-", "0.7", "2G", "a,b", "130,90,48,54"]
    return [bytes([k]) + text.encode() for k, text in enumerate(texts)]


def _run_option(data: bytes, folder: Path) -> None:
    """Parse a text; the first byte selects the option."""
    if not data:
        return
    with suppress(typer.BadParameter):
        value = OPTIONS[data[0] % len(OPTIONS)](data[1:].decode("utf-8", "replace"))
        numbers = np.ravel([value]).tolist()
        assert all(math.isfinite(x) for x in numbers if isinstance(x, int | float))


# -- the studio --------------------------------------------------------------------------------


def _tables() -> list[bytes]:
    array = io.BytesIO()
    np.save(array, _points()[:5])
    text = b"a,b,c\n1,2,x\n3,4.5,y\n-1e9,0,\n"
    return [b"0" + text, b'0"a b",b\n1,2\n', b"1" + array.getvalue()]


def _run_table(data: bytes, folder: Path) -> None:
    """Open an uploaded table; the first byte selects its format."""
    name = "0.csv" if data[:1] != b"1" else "0.npy"
    (folder / name).write_bytes(data[1:])
    list(TableView().open(Source(folder / name, name, folder), Job()))


def _pictures() -> list[bytes]:
    values = np.random.default_rng(0).integers(0, 256, (6, 7, 3)).astype(np.uint8)
    files = []
    for k, kind in enumerate(("PNG", "TIFF", "JPEG")):
        file = io.BytesIO()
        Image.fromarray(values).save(file, kind)
        files.append(str(k).encode() + file.getvalue())
    return files


def _run_picture(data: bytes, folder: Path) -> None:
    """Open an uploaded picture; the first byte selects its format."""
    name = {b"1": "0.tif", b"2": "0.jpg"}.get(data[:1], "0.png")
    (folder / name).write_bytes(data[1:])
    list(ImageView().open(Source(folder / name, name, folder), Job()))


class _Tab:
    """A tab of a studio without a network, in which a small table and a small picture are open."""

    def __init__(self) -> None:
        self.studio = Studio(max_upload=1000)

        async def send_json(fields: dict[str, Any]) -> None:
            json.dumps(fields)

        async def send_bytes(message: bytes) -> None:
            pass

        self.session = Session("tab", send_json, send_bytes, self.studio.pool)
        self.studio.sessions["tab"] = self.session
        self.session.views = {"table": TableView(), "image": ImageView()}
        table, picture = self.session.new_upload("t.csv"), self.session.new_upload("p.png")
        table.path.write_bytes(b"a,b\n" + b"".join(b"%g,%g\n" % tuple(row) for row in _points()))
        picture.path.write_bytes(_pictures()[0][1:])
        list(self.session.views["table"].open(table, Job()))
        list(self.session.views["image"].open(picture, Job()))

    def close(self) -> None:
        """Delete the files and the views."""
        self.session.close()
        self.studio.pool.shutdown()

    async def handle(self, text: str) -> None:
        """Handle a message and then the requests that wait, as the workers do."""
        await self.studio._handle_message(self.session, text)
        for worker in (self.session.preview_worker, self.session.full_worker):
            while worker._waiting:
                request, handler = worker._waiting.popitem()[1]
                await self.session.run_job(request, Job(request.get("description", "")), handler)
                self.session.note_painted()
                self.session.note_painted()


@cache
def _tab() -> _Tab:
    tab = _Tab()
    atexit.register(tab.close)
    return tab


def _messages() -> list[bytes]:
    image = {
        "action": "show",
        "view": "image",
        "id": 1,
        "final": True,
        "bandwidth": 8,
        "cached": [0],
    }
    regions = {"mode": "regions", "detail": 1, "min_size": 5, "space": "lab", "spatial": None}
    table = {"action": "show", "view": "table", "id": 1, "columns": ["a", "b"], "bandwidth": 2.0}
    messages: list[Any] = [
        {"action": "painted"},
        {"action": "cancel"},
        {"action": "open", "view": "table", "sample": "?", "upload": "none", "startup": True},
        image | regions,
        image | {"mode": "clusters"},
        table | {"strictness": 1.0},
        table | {"bandwidth": [1, 2]},
    ]
    return [json.dumps(message).encode() for message in messages]


def _run_message(data: bytes, folder: Path) -> None:
    """Send a message; the tab reports what it cannot handle, and stays open."""
    asyncio.run(_tab().handle(data.decode("utf-8", "replace")))


def _uploads() -> list[bytes]:
    return [b"a.csv\na,b\n1,2\n", b"%C3%BC.png\n\x89PNG", b"../../x.mp4\n" + bytes(99), b"\n"]


def _run_upload(data: bytes, folder: Path) -> None:
    """Upload a file: the first line is the header with its name."""
    name, _, body = data.partition(b"\n")

    async def stream() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 100):
            yield body[start : start + 100]

    session = _tab().session
    request = SimpleNamespace(headers={"x-file-name": name.decode("latin-1")}, stream=stream)
    response = asyncio.run(_tab().studio.upload(request, "tab"))  # type: ignore[arg-type]
    reply = json.loads(response.body)
    assert response.status_code in (200, 413, 415), reply
    if response.status_code == 200:
        source = session.uploads.pop(reply["upload"])
        assert source.path.parent == session.folder
        assert source.path.read_bytes() == body
        session.remove(source)


TARGETS = {
    "grid_file": Target(_grid_files, mutate_npz, _run_grid),
    "checkpoint_file": Target(_checkpoints, mutate_npz, _run_checkpoint),
    "tally_file": Target(_tallies, mutate_npz, _run_tally),
    "tree_file": Target(_trees, mutate_npz, _run_tree),
    "option": Target(_option_texts, mutate_text, _run_option),
    "message": Target(_messages, mutate_json, _run_message),
    "upload": Target(_uploads, mutate_bytes, _run_upload),
    "table_file": Target(_tables, mutate_text, _run_table),
    "picture_file": Target(_pictures, mutate_bytes, _run_picture),
}
