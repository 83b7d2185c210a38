"""Palette files against the definitions of their formats, and merged colours."""

import json
import re
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanshiftpp.draw import label_colors, merge_colors
from meanshiftpp.errors import InvalidInputError
from meanshiftpp.images.palettes import MAX_MERGED
from meanshiftpp.picture import write_palette

COLORS = [[0, 35, 149], [255, 255, 255], [237, 41, 57]]
SHARES = [0.5, 0.3, 0.2]


def read_ase(data):
    """Read the colours of an .ase file; check every length and constant of the format."""
    signature, major, minor, n_blocks = struct.unpack_from(">4sHHI", data)
    assert (signature, major, minor) == (b"ASEF", 1, 0)
    position, colours = 12, []
    for _ in range(n_blocks):
        kind, length = struct.unpack_from(">HI", data, position)
        assert kind == 1  # a colour, not a group
        body = data[position + 6 : position + 6 + length]
        (n_units,) = struct.unpack_from(">H", body)
        name = body[2 : 2 + 2 * n_units].decode("utf-16-be")
        assert name.endswith("\0")
        model, *rgb, usage = struct.unpack(">4s3fH", body[2 + 2 * n_units :])
        assert (model, usage) == (b"RGB ", 2)  # 0 is global, 1 spot, 2 normal
        colours.append((name[:-1], [round(255 * value) for value in rgb]))
        position += 6 + length
    assert position == len(data)
    return colours


def test_an_ase_file_holds_the_colours(tmp_path):
    write_palette(tmp_path / "flag.ase", COLORS, SHARES)
    names, colours = zip(*read_ase((tmp_path / "flag.ase").read_bytes()))
    assert list(colours) == COLORS
    assert names == ("#002395", "#ffffff", "#ed2939")


def test_a_gpl_file_holds_the_colours(tmp_path):
    write_palette(tmp_path / "flag.gpl", COLORS, SHARES, "Flag\nof France")
    lines = (tmp_path / "flag.gpl").read_text().splitlines()
    assert lines[:4] == ["GIMP Palette", "Name: Flag of France", "Columns: 0", "#"]
    assert [[int(value) for value in line.split()[:3]] for line in lines[4:]] == COLORS
    assert [line.partition("\t")[2] for line in lines[4:]] == ["#002395", "#ffffff", "#ed2939"]


def test_css_and_json_files_hold_the_colours(tmp_path):
    write_palette(tmp_path / "flag.css", COLORS, SHARES)
    found = re.findall(r"--color-(\d): #(\w{6});", (tmp_path / "flag.css").read_text())
    assert found == [("1", "002395"), ("2", "ffffff"), ("3", "ed2939")]
    write_palette(tmp_path / "flag.json", COLORS, SHARES)
    entries = json.loads((tmp_path / "flag.json").read_text())
    assert [each["rgb"] for each in entries] == COLORS
    assert [each["share"] for each in entries] == SHARES


def test_an_unknown_format_is_reported(tmp_path):
    with pytest.raises(InvalidInputError, match=r"\.ase"):
        write_palette(tmp_path / "flag.aco", COLORS, SHARES)


@pytest.mark.parametrize("n_colors", [0, 1.5, True, "two"])
def test_a_bad_number_of_colours_is_reported(n_colors):
    with pytest.raises(InvalidInputError, match="n_colors must be a whole number from 1"):
        merge_colors(COLORS, SHARES, n_colors)


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 99))
def test_merged_colours_are_nested_and_as_many_as_asked_for(n, n_colors, seed):
    rng = np.random.default_rng(seed)
    colors, weights = rng.integers(0, 256, (n, 3)), rng.integers(1, 1000, n)
    groups = merge_colors(colors, weights, n_colors)
    masses = np.bincount(groups, weights)
    assert len(masses) == min(n, n_colors)
    assert (np.diff(masses) <= 0).all()
    fewer = merge_colors(colors, weights, max(1, n_colors - 1))
    assert len(set(zip(groups.tolist(), fewer.tolist()))) == len(masses)


def test_small_distinct_colours_survive_and_similar_ones_merge():
    greys = np.repeat(np.arange(100, 120)[:, None], 3, axis=1)
    groups = merge_colors(np.vstack([greys, [[255, 0, 0]]]), [50] * 20 + [20], 2)
    assert groups.tolist() == [0] * 20 + [1]


def test_more_colours_than_are_compared_join_their_nearest():
    rng = np.random.default_rng(0)
    colors = rng.integers(0, 256, (MAX_MERGED + 500, 3))
    assert len(np.unique(merge_colors(colors, np.arange(len(colors)) + 1, 7))) == 7


def test_label_colours_differ():
    colours = label_colors(65_535)
    assert len(np.unique(colours, axis=0)) == len(colours)
    distances = [np.abs(a - b).max() for a, b in pairwise(colours[:500].astype(int))]
    assert min(distances) > 30
