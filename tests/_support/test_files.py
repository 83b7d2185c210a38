"""Temporary files of atomic writing, when the program ends early."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from meanshiftpp._support.files import _temporary_file

block = _temporary_file(sys.argv[1])
block.__enter__()  # and the program ends before the block that removes the file
sys.keep = block  # held until nothing of the package is left
"""


def test_end_of_the_program_removes_temporary_files(tmp_path: Path):
    subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / "out.csv"], check=True)
    assert list(tmp_path.iterdir()) == []
