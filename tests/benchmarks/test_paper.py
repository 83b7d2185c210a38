"""The report on the paper: what it reads, what it stops, what it keeps, what it says."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from benchmarks.common.notes import Notes
from benchmarks.paper import clustering, page, printed, sensors, tables
from benchmarks.paper.__main__ import SECTIONS, main
from benchmarks.paper.bounded import Bounded, FailedError, LateError
from benchmarks.paper.setting import duration, mean_shift
from benchmarks.paper.tables import Library, MissingError
from sklearn.datasets import load_iris

from meanshiftpp.tracking.clips import lookalike

ROOT = Path(__file__).parents[2]
QUICK = ("--quick", "--offline", "--limit", "120")  # a busy machine is no reason to fail


# -- what the paper prints -------------------------------------------------------------------------


def test_the_papers_tables_are_whole():
    assert [row.letter for row in printed.TABLE] == list("abcdefghijklmnopqr")
    assert sum(row.ari_mean_shift.value is None for row in printed.TABLE) == 5
    assert all(row.n > 0 and 2 <= row.d <= 5 and 2 <= row.classes <= 7 for row in printed.TABLE)
    better = [row for row in printed.TABLE if row.ari_mean_shift.value is not None]
    lost = [row.name for row in better if row.ari.value < row.ari_mean_shift.value]
    assert lost == ["iris", "sleepdata"]  # what is not bold in its Table 2


# -- loaders ---------------------------------------------------------------------------------------


def library(folder: Path, **given) -> Library:
    return Library(folder / "data", folder / "fetched", **given)


def test_a_local_table_is_read(tmp_path):
    (tmp_path / "data" / "tables").mkdir(parents=True)
    with gzip.open(tmp_path / "data" / "tables" / "skin.csv.gz", "wt") as file:
        file.write("B,G,R,label\n1,2,3,b\n4,5,6.5,a\n")
    found = library(tmp_path).load("skin")
    assert np.array_equal(found.X, [[1, 2, 3], [4, 5, 6.5]])
    assert found.truth.tolist() == [1, 0]


def test_iris_comes_with_scikit_learn(tmp_path):
    found = library(tmp_path, offline=True).load("iris")
    assert np.array_equal(found.X, load_iris().data)


def test_nothing_is_fetched_offline(tmp_path):
    for name in ("vinnie", "skin", "phone_gyroscope"):
        with pytest.raises(MissingError, match=name):
            library(tmp_path, offline=True).load(name)


@pytest.fixture
def server(tmp_path):
    """A server of files, in the place of UCI's."""
    (tmp_path / "served").mkdir()
    handler = partial(Quiet, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(tmp_path: Path, archive: tables.Archive, members: dict[str, str | bytes]) -> None:
    path = tmp_path / "served" / str(archive.number) / f"{archive.name}.zip"
    path.parent.mkdir()
    path.write_bytes(zipped(members))


def zipped(members: dict[str, str | bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as pack:
        for name, content in members.items():
            pack.writestr(name, content)
    return held.getvalue()


SKIN = {"Skin_NonSkin.txt": "1\t2\t3\t1\r\n4\t5\t6\t2\r\n"}
SCALE = {"balance-scale.data": "B,1,1,1,1\nR,1,1,1,2\n"}
CHEST = {
    "Activity/1.csv": "0,10,11,12,1\n1,9,9,9,0\n",
    "Activity/2.csv": "0,20,21,22,7\n",
    "Activity/README": "no",
}
ROBOT = {
    "sensor_readings_4.data": "1.5,2,3,4,Move\n5,6,7,8,Move\n",
    "sensor_readings_2.data": "9",
}


@pytest.mark.parametrize(
    ("name", "members", "X", "truth"),
    [
        ("skin", SKIN, [[1, 2, 3], [4, 5, 6]], [0, 1]),
        ("balance_scale", SCALE, [[1, 1, 1, 1], [1, 1, 1, 2]], [0, 1]),
        ("wall_robot", ROBOT, [[1.5, 2, 3, 4], [5, 6, 7, 8]], [0, 0]),
        ("chest_accelerometer", CHEST, [[10, 11, 12], [20, 21, 22]], [0, 1]),
    ],
)
def test_an_archive_of_uci_is_fetched_once(server, tmp_path, name, members, X, truth):
    archive = tables.ARCHIVES[name]
    serve(tmp_path, archive, members)
    found = library(tmp_path, server=server).load(name)
    assert np.array_equal(found.X, X)
    assert found.truth.tolist() == truth
    (tmp_path / "served" / str(archive.number) / f"{archive.name}.zip").unlink()
    again = library(tmp_path, server=server).load(name)
    assert np.array_equal(again.X, X)


SENSOR_ROWS = "Index,Arrival_Time,Creation_Time,x,y,z,User,Model,Device,gt\n" + "".join(
    f"{k},1424,1424,{k}.5,-{k},0.25,a,nexus4,nexus4_1,{activity}\n"
    for k, activity in enumerate(("stand", "null", "bike", "stand"))
)


def test_the_sensors_of_uci_are_unpacked_and_read(server, tmp_path):
    inner = {
        "Activity recognition exp/Phones_accelerometer.csv": SENSOR_ROWS,
        "Activity recognition exp/readme.txt": "no",
    }
    members = {"Activity recognition exp.zip": zipped(inner), "Still exp.zip": zipped({})}
    serve(tmp_path, tables.SENSORS, members)
    found = library(tmp_path, server=server).load("phone_accelerometer")
    assert found.X.dtype == np.float32
    assert np.array_equal(found.X, [[k + 0.5, -k, 0.25] for k in range(4)])
    assert found.truth.tolist() == [2, 1, 0, 2]  # bike, null, stand: a class like the others
    with pytest.raises(MissingError, match="Watch_gyroscope"):
        library(tmp_path, server=server).load("watch_gyroscope")


def test_what_the_server_does_not_have_is_missing(server, tmp_path):
    with pytest.raises(MissingError, match="404"):
        library(tmp_path, server=server).load("skin")
    archive = tables.ARCHIVES["skin"]
    serve(tmp_path, archive, {"other.txt": "1"})
    with pytest.raises(MissingError, match="has no Skin_NonSkin"):
        library(tmp_path, server=server).load("skin")
    assert not list((tmp_path / "fetched").glob("*"))


def test_stand_ins_have_the_size_and_follow_the_recipe():
    X, truth = sensors.stand_in("watch_gyroscope", 20_000, 7)
    assert X.shape == (20_000, 3)
    assert X.dtype == np.float32
    spread = [X[truth == k].std() for k in range(7)]
    assert np.allclose(spread, np.geomspace(0.05, 3, 7), rtol=0.1)
    X, truth = sensors.stand_in("phone_accelerometer", 20_000, 7)
    middle = np.array([X[truth == k].mean(axis=0) for k in range(7)])
    assert np.allclose(np.linalg.norm(middle, axis=1), sensors.GRAVITY, rtol=0.05)
    assert np.array_equal(sensors.stand_in("phone_accelerometer", 20_000, 7)[0], X)


# -- the limit -------------------------------------------------------------------------------------


def test_a_slow_call_is_ended_and_the_next_one_works():
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    with Bounded() as peer:
        labels, seconds = peer.call(mean_shift, X[:50], 1.0, limit=60)
        assert len(labels) == 50
        assert seconds > 0
        process = peer.process
        begin = time.monotonic()
        with pytest.raises(LateError):
            peer.call(mean_shift, X, 0.5, limit=0.5)
        assert time.monotonic() - begin < 120  # it would be hours
        assert not process.is_alive()
        assert peer.call(mean_shift, X[:50], 1.0, limit=60)[0].tolist() == labels.tolist()


def test_an_error_and_a_death_are_told_apart_from_lateness():
    with Bounded() as peer:
        with pytest.raises(FailedError, match="ValueError"):
            peer.call(int, "x", limit=30)
        with pytest.raises(FailedError, match="status 3"):
            peer.call(os._exit, 3, limit=30)
        assert peer.call(int, "7", limit=30) == 7


# -- what is kept ----------------------------------------------------------------------------------


def test_notes_survive_being_cut_short(tmp_path):
    path = tmp_path / "notes.jsonl"
    Notes(path).keep("a", "b", value={"x": 1.5})
    path.write_text(path.read_text("utf-8") + '\n["a", "c', "utf-8")
    notes = Notes(path)
    assert notes.once("a", "b", make=lambda: pytest.fail("it is known")) == {"x": 1.5}
    assert notes.once("a", "c", make=lambda: (1, 2)) == [1, 2]
    assert Notes(path).get("a", "c") == [1, 2]


def test_bandwidths_are_tried_from_all_over_the_range():
    values = np.arange(40.0)
    order = clustering.refining(values)
    assert sorted(order) == values.tolist()
    assert max(np.diff(sorted(order[:8]))) <= 8


# -- the report ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with one small table, two photographs and one sequence."""
    image, scipy = pytest.importorskip("PIL.Image"), pytest.importorskip("scipy.io")
    folder = tmp_path_factory.mktemp("data")
    iris = load_iris()
    (folder / "tables").mkdir()
    tables.write_csv(folder / "tables" / "iris.csv.gz", iris.data, iris.target.astype(str).tolist())
    pixels = np.zeros((32, 48, 3), np.uint8)
    pixels[:, 32:] = 200, 40, 40
    drawn = (pixels[..., 0] > 0).astype(np.uint16) + 1
    cells = np.empty((1, 1), object)
    cells[0, 0] = {"Segmentation": drawn}
    for part in ("images", "groundTruth"):
        (folder / "bsds500" / part / "val").mkdir(parents=True)
    for name in ("1", "2"):
        image.fromarray(pixels).save(folder / "bsds500" / "images" / "val" / f"{name}.jpg")
        truth = folder / "bsds500" / "groundTruth" / "val" / f"{name}.mat"
        scipy.savemat(truth, {"groundTruth": cells})
    film = folder / "tracking" / "vot_ball"
    (film / "img").mkdir(parents=True)
    clip = [pair for pair, _ in zip(lookalike(), range(6))]
    for number, (frame, _) in enumerate(clip, 1):
        image.fromarray(frame).save(film / "img" / f"{number:04}.jpg")
    lines = (",".join(map(str, window)) for _, window in clip)
    (film / "groundtruth_rect.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def report(data, tmp_path_factory):
    pytest.importorskip("skimage")
    out = tmp_path_factory.mktemp("report")
    assert main([str(data), *QUICK, "--out", str(out)]) == 0
    return out


def test_every_section_is_there(report):
    facts = json.loads((report / "paper.json").read_text("utf-8"))
    assert [section["name"] for section in facts["sections"]] == list(SECTIONS)
    assert not [section["missing"] for section in facts["sections"] if section["missing"]]
    assert facts["machine"]["cores"]
    for section in facts["sections"]:
        assert section["figures"] or section["tables"]
        for figure in section["figures"]:
            assert (report / figure["file"]).stat().st_size > 1000


def test_the_page_holds_its_pictures_and_says_whose_figures_are_whose(report):
    text = (report / "paper.html").read_text("utf-8")
    sources = re.findall(r'(?:src|href)="([^"]{4})', text)
    assert {"data"} <= set(sources)
    assert "http" not in "".join(sources)
    assert "measured here" in text
    assert "the paper says" in text
    assert "Quick mode" in text


def test_table_2_has_a_row_for_every_data_set(report):
    section = json.loads((report / "paper.json").read_text("utf-8"))["sections"][2]
    ari, ami, stand_ins = (page.Table(**table) for table in section["tables"])
    for table in (ari, ami):
        assert [row[0] for row in table.rows] == list("abcdefghijklmnopqr")
    iris = next(row for row in ari.rows if row[1] == "Iris")
    assert float(iris[3].strip("*")) > 0
    assert [iris[column] for column in ari.paper] == ["0.5681", "<0.01s", "0.6832", "6.35s"]
    assert all(row[3] == "no data" for row in ari.rows if row[1] != "Iris")
    assert len(stand_ins.rows) == 5
    assert not stand_ins.paper
    assert all("made-up" in row[0] for row in stand_ins.rows)


def test_a_second_run_measures_nothing_again(report, data):
    before = (report / "notes.jsonl").read_bytes()
    told = json.loads((report / "paper.json").read_text("utf-8"))["sections"]
    assert main([str(data), *QUICK, "--out", str(report)]) == 0
    assert (report / "notes.jsonl").read_bytes() == before
    assert json.loads((report / "paper.json").read_text("utf-8"))["sections"] == told


def test_a_killed_run_goes_on_where_it_was(data, tmp_path):
    command = [sys.executable, "-m", "benchmarks.paper", str(data), *QUICK]
    command += ["--out", str(tmp_path), "--only", "figure2"]
    notes = tmp_path / "notes.jsonl"
    run = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    patience = time.monotonic() + 120
    while not (notes.exists() and notes.read_text("utf-8").count("\n") >= 3):
        assert run.poll() is None
        assert time.monotonic() < patience
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert not (tmp_path / "paper.html").exists()
    known = set(filter(None, notes.read_text("utf-8").split("\n")[:-1]))
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    lines = notes.read_text("utf-8").split("\n")
    assert known <= set(lines)
    keys = [tuple(json.loads(line)[:-1]) for line in lines if line.endswith("]")]
    assert len(keys) == len(set(keys))  # nothing was done twice
    assert (tmp_path / "paper.html").exists()


def test_a_missing_part_is_said_and_does_not_end_the_run(tmp_path):
    (tmp_path / "data").mkdir()
    arguments = [str(tmp_path / "data"), *QUICK, "--out", str(tmp_path / "out")]
    assert main([*arguments, "--only", "figure1", "bsds", "tracking"]) == 0
    text = (tmp_path / "out" / "paper.md").read_text("utf-8")
    assert text.count("**Not run:**") == 2
    assert "found none" in text


def test_bad_arguments_are_refused(tmp_path, capsys):
    for arguments, words in (
        ([str(tmp_path / "none")], "no folder"),
        ([str(tmp_path), "--limit", "0"], "above 0"),
        ([str(tmp_path), "--only", "figure9"], "invalid choice"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert words in capsys.readouterr().err


def test_html_is_escaped_and_times_are_readable(tmp_path):
    section = page.Section(
        "a", "1 < 2", "**bold** & `code`", tables=[page.Table("t", ["x"], [["<b>"]])]
    )
    text = page.html(page.Report([section], {}, []), tmp_path)
    assert "1 &lt; 2" in text
    assert "<b>bold</b> &amp; <code>code</code>" in text
    assert '<td class="text">&lt;b&gt;</td>' in text
    assert [duration(s) for s in (7200, 150, 1.5, 0.012, 2e-7)] == [
        *("2 h", "2m 30s", "1.5 s", "12 ms", "0.2 µs"),
    ]  # fmt: skip
