"""The report on the paper: data sets, time limit, cache, sections and formats."""

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
from benchmarks.common.time_limit import CallFailedError, LimitedProcess, TimeLimitError
from benchmarks.paper import datasets, published, report, sensor_data, table2
from benchmarks.paper.__main__ import SECTIONS, main
from benchmarks.paper.datasets import Library, MissingTableError
from benchmarks.paper.run import duration, mean_shift
from sklearn.datasets import load_iris

from meanshiftpp.tracking.clips import lookalike

ROOT = Path(__file__).parents[2]
QUICK = ("--quick", "--offline", "--limit", "120")  # must also pass on a busy machine


# -- published values ------------------------------------------------------------------------------


def test_the_published_table_is_complete():
    assert [row.letter for row in published.TABLE] == list("abcdefghijklmnopqr")
    assert sum(row.ari_mean_shift.value is None for row in published.TABLE) == 5
    assert all(row.n > 0 and 2 <= row.d <= 5 and 2 <= row.classes <= 7 for row in published.TABLE)
    finished = [row for row in published.TABLE if row.ari_mean_shift.value is not None]
    lost = [row.name for row in finished if row.ari.value < row.ari_mean_shift.value]
    assert lost == ["iris", "sleepdata"]  # not bold in the paper's Table 2


# -- data sets -------------------------------------------------------------------------------------


def library(folder: Path, **options) -> Library:
    return Library(folder / "data", folder / "downloads", **options)


def test_a_local_table_is_read(tmp_path):
    (tmp_path / "data" / "tables").mkdir(parents=True)
    with gzip.open(tmp_path / "data" / "tables" / "skin.csv.gz", "wt") as file:
        file.write("B,G,R,label\n1,2,3,b\n4,5,6.5,a\n")
    found = library(tmp_path).load("skin")
    assert np.array_equal(found.X, [[1, 2, 3], [4, 5, 6.5]])
    assert found.truth.tolist() == [1, 0]


def test_iris_is_loaded_from_scikit_learn(tmp_path):
    found = library(tmp_path, offline=True).load("iris")
    assert np.array_equal(found.X, load_iris().data)


def test_nothing_is_downloaded_offline(tmp_path):
    for name in ("vinnie", "skin", "phone_gyroscope"):
        with pytest.raises(MissingTableError, match=name):
            library(tmp_path, offline=True).load(name)


@pytest.fixture
def server(tmp_path):
    """A file server in place of UCI's."""
    (tmp_path / "served").mkdir()
    handler = partial(SilentHandler, directory=str(tmp_path / "served"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(tmp_path: Path, archive: datasets.Archive, members: dict[str, str | bytes]) -> None:
    path = tmp_path / "served" / str(archive.number) / f"{archive.name}.zip"
    path.parent.mkdir()
    path.write_bytes(zipped(members))


def zipped(members: dict[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


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
def test_an_archive_of_uci_is_downloaded_once(server, tmp_path, name, members, X, truth):
    archive = datasets.ARCHIVES[name]
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


def test_sensor_data_of_uci_is_unpacked_and_read(server, tmp_path):
    inner = {
        "Activity recognition exp/Phones_accelerometer.csv": SENSOR_ROWS,
        "Activity recognition exp/readme.txt": "no",
    }
    members = {"Activity recognition exp.zip": zipped(inner), "Still exp.zip": zipped({})}
    serve(tmp_path, datasets.SENSORS, members)
    found = library(tmp_path, server=server).load("phone_accelerometer")
    assert found.X.dtype == np.float32
    assert np.array_equal(found.X, [[k + 0.5, -k, 0.25] for k in range(4)])
    assert found.truth.tolist() == [2, 1, 0, 2]  # bike, null, stand
    with pytest.raises(MissingTableError, match="Watch_gyroscope"):
        library(tmp_path, server=server).load("watch_gyroscope")


def test_a_table_that_the_server_does_not_have_is_missing(server, tmp_path):
    with pytest.raises(MissingTableError, match="404"):
        library(tmp_path, server=server).load("skin")
    archive = datasets.ARCHIVES["skin"]
    serve(tmp_path, archive, {"other.txt": "1"})
    with pytest.raises(MissingTableError, match="has no Skin_NonSkin"):
        library(tmp_path, server=server).load("skin")
    assert not list((tmp_path / "downloads").glob("*"))


def test_stand_ins_have_the_requested_size_and_follow_the_recipe():
    X, truth = sensor_data.stand_in("watch_gyroscope", 20_000, 7)
    assert X.shape == (20_000, 3)
    assert X.dtype == np.float32
    spread = [X[truth == k].std() for k in range(7)]
    assert np.allclose(spread, np.geomspace(0.05, 3, 7), rtol=0.1)
    X, truth = sensor_data.stand_in("phone_accelerometer", 20_000, 7)
    centres = np.array([X[truth == k].mean(axis=0) for k in range(7)])
    assert np.allclose(np.linalg.norm(centres, axis=1), sensor_data.GRAVITY, rtol=0.05)
    assert np.array_equal(sensor_data.stand_in("phone_accelerometer", 20_000, 7)[0], X)


# -- the time limit --------------------------------------------------------------------------------


def test_a_slow_call_is_stopped_and_the_next_one_works():
    X = np.random.default_rng(0).normal(size=(200_000, 2))
    with LimitedProcess() as peer:
        labels, seconds = peer.call(mean_shift, X[:50], 1.0, limit=60)
        assert len(labels) == 50
        assert seconds > 0
        process = peer.process
        begin = time.monotonic()
        with pytest.raises(TimeLimitError):
            peer.call(mean_shift, X, 0.5, limit=0.5)
        assert time.monotonic() - begin < 120  # the call would take hours
        assert not process.is_alive()
        assert peer.call(mean_shift, X[:50], 1.0, limit=60)[0].tolist() == labels.tolist()


def test_errors_and_crashes_differ_from_the_time_limit():
    with LimitedProcess() as peer:
        with pytest.raises(CallFailedError, match="ValueError"):
            peer.call(int, "x", limit=30)
        with pytest.raises(CallFailedError, match="status 3"):
            peer.call(os._exit, 3, limit=30)
        assert peer.call(int, "7", limit=30) == 7


def test_every_prefix_of_the_bandwidths_covers_the_range():
    values = np.arange(40.0)
    order = table2.refining_order(values)
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
    labels = iris.target.astype(str).tolist()
    datasets.write_csv(folder / "tables" / "iris.csv.gz", iris.data, labels)
    pixels = np.zeros((32, 48, 3), np.uint8)
    pixels[:, 32:] = 200, 40, 40
    regions = (pixels[..., 0] > 0).astype(np.uint16) + 1
    cells = np.empty((1, 1), object)
    cells[0, 0] = {"Segmentation": regions}
    for part in ("images", "groundTruth"):
        (folder / "bsds500" / part / "val").mkdir(parents=True)
    for name in ("1", "2"):
        image.fromarray(pixels).save(folder / "bsds500" / "images" / "val" / f"{name}.jpg")
        truth = folder / "bsds500" / "groundTruth" / "val" / f"{name}.mat"
        scipy.savemat(truth, {"groundTruth": cells})
    sequence = folder / "tracking" / "vot_ball"
    (sequence / "img").mkdir(parents=True)
    clip = [pair for pair, _ in zip(lookalike(), range(6))]
    for number, (frame, _) in enumerate(clip, 1):
        image.fromarray(frame).save(sequence / "img" / f"{number:04}.jpg")
    lines = (",".join(map(str, window)) for _, window in clip)
    (sequence / "groundtruth_rect.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    """A folder with the report of a quick run."""
    pytest.importorskip("skimage")
    out = tmp_path_factory.mktemp("report")
    assert main([str(data), *QUICK, "--out", str(out)]) == 0
    return out


def test_the_report_has_every_section(folder):
    facts = json.loads((folder / "paper.json").read_text("utf-8"))
    assert [section["name"] for section in facts["sections"]] == list(SECTIONS)
    assert not [section["missing"] for section in facts["sections"] if section["missing"]]
    assert facts["machine"]["cores"]
    for section in facts["sections"]:
        assert section["figures"] or section["tables"]
        for figure in section["figures"]:
            assert (folder / figure["file"]).stat().st_size > 1000


def test_the_page_embeds_pictures_and_separates_measured_from_published_values(folder):
    text = (folder / "paper.html").read_text("utf-8")
    sources = re.findall(r'(?:src|href)="([^"]{4})', text)
    assert {"data"} <= set(sources)
    assert "http" not in "".join(sources)
    assert "measured here" in text
    assert "from the paper" in text
    assert "Quick mode" in text


def test_table_2_has_a_row_for_every_data_set(folder):
    section = json.loads((folder / "paper.json").read_text("utf-8"))["sections"][2]
    ari, ami, stand_ins = (report.Table(**table) for table in section["tables"])
    for table in (ari, ami):
        assert [row[0] for row in table.rows] == list("abcdefghijklmnopqr")
    iris = next(row for row in ari.rows if row[1] == "Iris")
    assert float(iris[3].strip("*")) > 0
    assert [iris[column] for column in ari.paper] == ["0.5681", "<0.01s", "0.6832", "6.35s"]
    assert all(row[3] == "no data" for row in ari.rows if row[1] != "Iris")
    assert len(stand_ins.rows) == 5
    assert not stand_ins.paper
    assert all("synthetic" in row[0] for row in stand_ins.rows)


def test_a_second_run_measures_nothing_again(folder, data):
    before = (folder / "results.jsonl").read_bytes()
    sections = json.loads((folder / "paper.json").read_text("utf-8"))["sections"]
    assert main([str(data), *QUICK, "--out", str(folder)]) == 0
    assert (folder / "results.jsonl").read_bytes() == before
    assert json.loads((folder / "paper.json").read_text("utf-8"))["sections"] == sections


def test_a_killed_run_continues_where_it_was(data, tmp_path):
    command = [sys.executable, "-m", "benchmarks.paper", str(data), *QUICK]
    command += ["--out", str(tmp_path), "--only", "figure2"]
    results = tmp_path / "results.jsonl"
    run = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (results.exists() and results.read_text("utf-8").count("\n") >= 3):
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert not (tmp_path / "paper.html").exists()
    known = set(filter(None, results.read_text("utf-8").split("\n")[:-1]))
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    lines = results.read_text("utf-8").split("\n")
    assert known <= set(lines)
    keys = [tuple(json.loads(line)[:-1]) for line in lines if line.endswith("]")]
    assert len(keys) == len(set(keys))  # nothing was computed twice
    assert (tmp_path / "paper.html").exists()


def test_missing_data_is_reported_and_does_not_end_the_run(tmp_path):
    (tmp_path / "data").mkdir()
    arguments = [str(tmp_path / "data"), *QUICK, "--out", str(tmp_path / "out")]
    assert main([*arguments, "--only", "figure1", "bsds", "tracking"]) == 0
    text = (tmp_path / "out" / "paper.md").read_text("utf-8")
    assert text.count("**Not run:**") == 2
    assert "found none" in text


def test_bad_arguments_are_errors(tmp_path, capsys):
    for arguments, message in (
        ([str(tmp_path / "none")], "expected a folder"),
        ([str(tmp_path), "--limit", "0"], "above 0"),
        ([str(tmp_path), "--only", "figure9"], "invalid choice"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert message in capsys.readouterr().err


def test_html_is_escaped(tmp_path):
    section = report.Section(
        "a", "1 < 2", "**bold** & `code`", tables=[report.Table("t", ["x"], [["<b>"]])]
    )
    text = report.html(report.Report([section], {}, []), tmp_path)
    assert "1 &lt; 2" in text
    assert "<b>bold</b> &amp; <code>code</code>" in text
    assert '<td class="text">&lt;b&gt;</td>' in text


def test_long_durations_are_in_minutes_or_hours():
    texts = [duration(seconds) for seconds in (7200, 150, 1.5, 0.012, 2e-7)]
    assert texts == ["2 h", "2m 30s", "1.5 s", "12 ms", "0.2 µs"]
