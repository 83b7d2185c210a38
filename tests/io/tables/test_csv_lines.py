"""Lines of CSV files that are copied byte for byte, with a label at the end of each."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meanshiftpp.io.tables import csv_lines
from meanshiftpp.stream import open_points, write_labels


def numbered(points):
    return np.arange(len(points), dtype=np.int32)


def written(tmp_path, content, missing="error", name="in.csv", columns=("x",)):
    (tmp_path / name).write_bytes(content)
    source = open_points(tmp_path / name, columns, missing=missing)
    write_labels(tmp_path / "o.csv", source, numbered)
    return (tmp_path / "o.csv").read_bytes()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"id,x\n007,1.50\n8,2e0\n", b"id,x,label\n007,1.50,0\n8,2e0,1\n"),
        (b"id,x\r\n7,1\r\n8,2", b"id,x,label\r\n7,1,0\r\n8,2,1"),
        (b"id,x\r7,1\r8,2\r", b"id,x,label\r7,1,0\r8,2,1\r"),
        (b"id,x\n7,1\r\n8,2\n", b"id,x,label\n7,1,0\r\n8,2,1\n"),
        (b'"a b",x\n"say ""hi""",1\nplain,2\n', b'"a b",x,label\n"say ""hi""",1,0\nplain,2,1\n'),
        (b'x,t\n1,"two\nlines"\n2,"a,b"\n', b'x,t,label\n1,"two\nlines",0\n2,"a,b",1\n'),
        (b'x,t\n1,5" wide\n2,"q"\n', b'x,t,label\n1,5" wide,0\n2,"q",1\n'),
        (b"x\n\n1\n\n\n2\n\n", b"x,label\n1,0\n2,1\n"),
        (b"\xef\xbb\xbfx,t\n1,h\xf6he\n", b"\xef\xbb\xbfx,t,label\n1,h\xf6he,0\n"),
        (b"x,label\n1,5\n", b"x,label,label_2\n1,5,0\n"),
    ],
)
def test_lines_are_copied_byte_for_byte(tmp_path, content, expected):
    assert written(tmp_path, content) == expected


def test_rows_with_missing_values_are_labelled_or_dropped(tmp_path):
    content = b"t,x\na,1\nb,\nc,3\n"
    assert written(tmp_path, content, "label") == b"t,x,label\na,1,0\nb,,-1\nc,3,1\n"
    assert written(tmp_path, content, "drop") == b"t,x,label\na,1,0\nc,3,1\n"


def test_compressed_and_several_files(tmp_path):
    packed = gzip.compress(b"t,x\na,1\n")
    assert written(tmp_path, packed, name="in.csv.gz") == b"t,x,label\na,1,0\n"
    (tmp_path / "a.csv").write_bytes(b"t,x\na,1.0")
    (tmp_path / "b.csv").write_bytes(b"t,x\r\nb,2.0\r\n")
    source = open_points([tmp_path / "a.csv", tmp_path / "b.csv"])
    write_labels(tmp_path / "o.csv", source, np.array([4, 5], np.int32))
    assert (tmp_path / "o.csv").read_bytes() == b"t,x,label\na,1.0,4\nb,2.0,5\r\n"


def test_files_with_other_orders_of_columns_have_one(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"t,x\na,1.5\n")
    (tmp_path / "b.csv").write_bytes(b"x,t\n2.5,b\n")
    source = open_points([tmp_path / "a.csv", tmp_path / "b.csv"])
    write_labels(tmp_path / "o.csv", source, np.array([4, 5], np.int32))
    assert (tmp_path / "o.csv").read_text().replace('"', "") == "t,x,label\na,1.5,4\nb,2.5,5\n"


FIELD = st.one_of(
    st.from_regex(r"[a-z' ]{1,4}[\"a]?", fullmatch=True),
    st.from_regex(r"\"([a-z,\n]|\"\"){0,6}\"", fullmatch=True),
)


@settings(max_examples=60)
@given(
    fields=st.lists(FIELD, max_size=12),
    size=st.integers(1, 40),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_records_are_those_of_the_reader(tmp_path_factory, fields, size, end):
    rows = [f"{k},{field}" for k, field in enumerate(fields)]
    folder = tmp_path_factory.mktemp("csv")
    block, csv_lines._BLOCK = csv_lines._BLOCK, size
    try:
        text = written(folder, end.join(["x,t", "-1,t", *rows, ""]).encode())
    finally:
        csv_lines._BLOCK = block
    expected = [f"{row},{k}" for k, row in enumerate(["-1,t", *rows])]
    assert text.decode() == end.join(["x,t,label", *expected, ""])
