"""The program as a whole: missing libraries, encodings, the demonstration; some start a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.apps.cli.command_line import run

from meanshiftpp import Grid, __version__


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_version_is_printed():
    assert run("--version")[:2] == (0, f"meanshiftpp {__version__}\n")


@pytest.mark.parametrize(
    ("missing", "extra"), [("typer", "cli"), ("rich", "cli"), ("pyarrow", "io")]
)
def test_a_missing_extra_is_reported_with_its_install_command(tmp_path, points, missing, extra):
    done = python(
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"sys.argv = ['meanshiftpp', 'cluster', {str(tmp_path / 'points.csv')!r}, '-b', '1']\n"
        "from meanshiftpp.__main__ import main; main()"
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert f'pip install "meanshiftpp[{extra}]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plot_without_matplotlib_fails_early(tmp_path, points):
    done = python(
        "import sys; sys.modules['matplotlib'] = None\n"
        f"sys.argv = ['meanshiftpp', 'cluster', {str(tmp_path / 'points.npy')!r}, '-b', '1',\n"
        f"            '--plot', {str(tmp_path / 'p.png')!r}]\n"
        "from meanshiftpp.__main__ import main; main()"
    )
    assert done.returncode == 1
    assert 'pip install "meanshiftpp[plot]"' in done.stderr


@pytest.mark.parametrize("command", ["cluster", "sweep"])
def test_cluster_and_sweep_do_not_need_scikit_learn(tmp_path, points, command):
    done = python(
        "import sys; sys.modules['sklearn'] = None\n"
        f"sys.argv = ['meanshiftpp', {command!r}, {str(tmp_path / 'points.npy')!r}]\n"
        "from meanshiftpp.__main__ import main; main()"
    )
    assert done.returncode == 0, done.stderr
    assert "clusters" in done.stdout


def test_a_missing_library_is_named(tmp_path):
    done = python(
        "import sys; sys.modules['sklearn'] = None\n"
        f"sys.argv = ['meanshiftpp', 'demo', '--output', {str(tmp_path)!r}]\n"
        "from meanshiftpp.__main__ import main; main()"
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: this needs sklearn")


def test_an_interrupt_during_the_start_prints_no_traceback():
    program = """
import sys
from meanshiftpp.__main__ import main

class Interrupt:
    def find_spec(self, name, *_):
        if name == "meanshiftpp.apps.cli.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
main()
"""
    done = python(program)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_python_m_runs_the_command(tmp_path, points):
    command = [sys.executable, "-m", "meanshiftpp", "cluster", str(tmp_path / "points.npy"), "-b2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "550 in x0, x1" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_command_works_with_closed_streams(tmp_path, points, closed):
    command = f'"{sys.executable}" -m meanshiftpp cluster points.npy -b 1 -o labels.npy {closed}'
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, check=False).returncode == 0
    assert len(np.load(tmp_path / "labels.npy")) == len(points)


COMMANDS = [
    "--help",
    "--version",
    "cluster --help",
    "grid build --help",
    "cluster points.npy -b 1",
    "cluster points.npy -b 1 --json",
    "sweep points.npy -b 1,2",
    "sweep points.npy -b 1,2 --json",
    "grid info points.grid",
    "grid info points.grid --json",
    "segment picture.png -o regions.png --json",
    "segment picture.png -o regions.png",
    "track clip --window 5,5,20,20 --json",
    "track clip --window 5,5,20,20 --csv track.csv",
]
OUTPUTS = [*((command, "") for command in COMMANDS), ("--version", "1"), (COMMANDS[4], "1")]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    from PIL import Image

    folder = tmp_path_factory.mktemp("inputs")
    X = np.random.default_rng(0).normal(size=(200, 2))
    np.save(folder / "points.npy", X)
    Grid.from_points(X, 1.0).save(folder / "points.grid")
    picture = np.random.default_rng(0).integers(0, 255, (40, 40, 3), np.uint8)
    Image.fromarray(picture).save(folder / "picture.png")
    (folder / "clip").mkdir()
    for k in range(3):
        Image.fromarray(picture).save(folder / "clip" / f"{k}.png")
    return folder


def shell(folder: Path, command: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    text = command.replace("meanshiftpp", f'"{sys.executable}" -m meanshiftpp')
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    return subprocess.run(["sh", "-c", text], **options, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("command", "unbuffered"), OUTPUTS)
def test_a_full_output_is_one_line(inputs, command, unbuffered):
    done = shell(inputs, f"meanshiftpp {command} > /dev/full", unbuffered)
    assert done.returncode == 1
    expected = "error: cannot write to the standard output: No space left on device"
    assert done.stderr.splitlines() == [expected]


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize(("command", "unbuffered"), OUTPUTS)
def test_a_closed_pipe_ends_quietly(inputs, command, unbuffered):
    # The reader is gone before the command starts.
    pipe = (
        f"{{ read gone; meanshiftpp {command}; echo $? > code; }} < fifo | (exec <&-; echo > fifo)"
    )
    done = shell(inputs, f"rm -f fifo code; mkfifo fifo; {pipe}", unbuffered)
    assert done.stderr == ""
    assert int((inputs / "code").read_text()) == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_messages_that_cannot_be_written_are_dropped(inputs, unbuffered):
    command = "meanshiftpp cluster points.npy --json -b 1e-4"
    done, full = (shell(inputs, command + end, unbuffered) for end in ("", " 2> /dev/full"))
    assert "use a larger bandwidth" in done.stderr
    assert full.returncode == 0
    assert full.stdout[:40] == done.stdout[:40]
    assert shell(inputs, "meanshiftpp cluster none.npy 2> /dev/full").returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("cluster", "LONG.csv"),
        ("cluster", "points.csv", "-b", 1, "-o", "LONG.csv"),
        ("cluster", "points.csv", "-b", 1, "--checkpoint", "LONG.checkpoint"),
        ("grid", "build", "points.csv", "-b", 1, "-o", "LONG.grid"),
        ("sweep", "LONG.npy"),
        ("segment", "LONG.png", "-o", "a.png"),
        ("track", "LONG.mp4", "--window", "1,1,9,9"),
        ("demo", "--output", "LONG"),
    ],
)
def test_a_name_that_is_too_long_is_an_error(tmp_path, points, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(*(str(each).replace("LONG", "x" * 300) for each in arguments))
    assert code == 1
    assert err.splitlines()[-1].startswith("error: ")
    assert "File name too long" in err.splitlines()[-1]


def test_demo_prints_tables_and_writes_pictures(tmp_path, monkeypatch):
    from meanshiftpp.apps.samples import gaussians

    small = gaussians(120_000)
    monkeypatch.setattr("meanshiftpp.apps.demo.gaussians", lambda: small)
    code, text, _ = run("demo", "--output", tmp_path / "pictures")
    assert code == 0
    assert "120,000 x 2" in text
    assert "150 x 4" in text
    pictures = {p.name for p in Path(tmp_path / "pictures").iterdir()}
    assert pictures >= {"million.png", "iris.png", "tracking.png"}
    assert all(name in text for name in ("light", "occlusion", "lookalike", "leaving"))
    pytest.importorskip("skimage", reason="the photograph of the demo comes with scikit-image")
    assert "photograph.png" in pictures
    assert all(name in text for name in ("felzenszwalb", "slic"))


def test_demo_reports_a_folder_that_it_cannot_create(tmp_path):
    (tmp_path / "file").write_text("")
    code, _, stderr = run("demo", "--output", tmp_path / "file" / "pictures")
    assert code == 1
    assert stderr.startswith("error: cannot create the folder")


def test_column_names_are_not_parsed_as_markup(tmp_path):
    source = tmp_path / "odd.csv"
    source.write_text("speed [m/s],x[/],$a_$\n1,2,3\n4,5,6\n1,2,4\n")
    code, text, errors = run(
        "cluster", source, "-b", 2, "-o", tmp_path / "o.csv", "--plot", tmp_path / "o.png"
    )
    assert (code, errors) == (0, "")
    assert "speed [m/s], x[/], $a_$" in text
    code, text, _ = run("cluster", source, "-b", 2, "--columns", "x[/], $a_$", "--json")
    assert code == 0
    assert '"columns": ["x[/]", "$a_$"]' in text


def test_a_name_that_the_terminal_cannot_encode_is_printed_with_question_marks(tmp_path, points):
    (tmp_path / "points.csv").rename(tmp_path / "ñ数据.csv")
    command = [sys.executable, "-m", "meanshiftpp", "cluster", "ñ数据.csv", "-b2", "-o", "o.npy"]
    options = {"env": {**os.environ, "PYTHONIOENCODING": "cp1252"}, "capture_output": True}
    done = subprocess.run(command, **options, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "ñ??.csv" in done.stdout.decode("cp1252")
    assert (tmp_path / "o.npy").exists()
    (tmp_path / "ñ数据.csv").unlink()
    done = subprocess.run(command, **options, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"error: cannot read")


def test_a_plot_with_names_in_any_script_prints_no_warning(tmp_path, points):
    file, picture = tmp_path / "数据 \ue123.npy", tmp_path / "p.png"
    np.save(file, points)
    assert run("cluster", file, "-b", 2, "--plot", picture)[::2] == (0, "")
    command = [sys.executable, "-m", "meanshiftpp", "cluster", file, "-b2", "--plot", picture]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_header_in_another_encoding_is_an_error(tmp_path):
    source = tmp_path / "latin.csv"
    source.write_bytes("höhe,breite\n1,2\n".encode("latin-1"))
    code, _, errors = run("cluster", source, "-b", 2)
    assert code == 1
    assert "latin.csv" in errors
    assert "Traceback" not in errors


def test_large_integers_next_to_real_columns_are_an_error(tmp_path):
    source = tmp_path / "ids.csv"
    source.write_text(f"id,x\n{2**53 + 1},0.5\n3,1.5\n")
    code, _, errors = run("cluster", source, "-b", 2)
    assert code == 1
    assert "ids.csv, row 1, column 'id' is 9007199254740993" in errors
