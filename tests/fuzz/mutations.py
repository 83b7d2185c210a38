"""Mutations of inputs: of bytes, of texts, of JSON, and of the members of an .npz archive."""

from __future__ import annotations

import io
import json
import random
import zipfile
from typing import Any

import numpy as np

NUMBERS = [0, 1, -1, 2, 3, 255, 2**31, -(2**31), 2**32 - 1, 2**51, 2**53, 2**63 - 1, -(2**63)]
REALS = [0.0, -0.0, 0.5, 1.5, -1.0, 1e-308, 5e-324, 1e300, 2.0**1023, np.inf, -np.inf, np.nan]
ODD = [None, True, False, "", "x", "ü" * 300, [], {}, [[]], {"a": 1}, *NUMBERS, 0.5, 1e300, 1e999]
TOKENS = [",", "-", "+", ".", "e", "E9", "nan", "inf", "1e999", "0x1", "_", " ", "\t", "\x00"]
TOKENS += ["²", "\u0661", "½", "\ud7ff", "9" * 400, "1" * 5000, "k", "M", "GiB", "--", "''", "1"]


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change, insert, remove or repeat some bytes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at = rng.randint(0, len(out))
        end = min(len(out), at + rng.choice((1, 2, 8, 64)))
        kind = rng.randrange(5)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(out):
            out[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        elif kind == 2:
            del out[at:end]
        elif kind == 3:
            out[at:at] = out[at:end]
        else:
            out[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
    return bytes(out[: rng.choice((len(out), len(out), len(out), rng.randint(0, len(out))))])


def mutate_text(data: bytes, rng: random.Random) -> bytes:
    """Insert or replace a token that means something to a parser of numbers, or mutate bytes."""
    if rng.randrange(4) == 0:
        return mutate_bytes(data, rng)
    text = data.decode("utf-8", "replace")
    at = rng.randint(0, len(text))
    return (text[:at] + rng.choice(TOKENS) + text[at + rng.randrange(3) :]).encode(
        "utf-8", "replace"
    )


def mutate_json(data: bytes, rng: random.Random) -> bytes:
    """Replace, remove or add a value somewhere in a JSON document, or mutate its bytes."""
    if rng.randrange(8) == 0:
        return mutate_bytes(data, rng)
    try:
        return json.dumps(_changed_value(json.loads(data), rng)).encode()
    except (ValueError, RecursionError):
        return mutate_bytes(data, rng)


def _changed_value(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict) and value and rng.randrange(4):
        key = rng.choice(list(value))
        kind = rng.randrange(6)
        if kind == 0:
            return {name: each for name, each in value.items() if name != key}
        if kind == 1:
            return value | {rng.choice([key, "id", "x"]): rng.choice(ODD)}
        return value | {key: _changed_value(value[key], rng)}
    if isinstance(value, list) and value and rng.randrange(4):
        at = rng.randrange(len(value))
        return [*value[:at], _changed_value(value[at], rng), *value[at + rng.randrange(2) :]]
    return rng.choice(ODD)


def mutate_npz(data: bytes, rng: random.Random) -> bytes:
    """Change one member of an .npz archive, whose checksums stay valid, or mutate its bytes."""
    if rng.randrange(8) == 0:
        return mutate_bytes(data, rng)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:  # an earlier mutation damaged the archive
        return mutate_bytes(data, rng)
    if not members:
        return mutate_bytes(data, rng)
    name, other = rng.choice(list(members)), rng.choice(list(members))
    kind = rng.randrange(12)
    if kind == 0:
        del members[name]
    elif kind == 1:
        members[name] = members[other]
    elif kind == 2:
        members[rng.choice(["pickle.npy", "note.npy", "x"])] = members[name]
    elif kind == 3:
        members[name] = mutate_bytes(members[name], rng)  # the header of the array too
    else:
        members[name] = _changed_member(members[name], rng)
    return _archive(members)


def _archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _changed_member(content: bytes, rng: random.Random) -> bytes:
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:
        return mutate_bytes(content, rng)
    file = io.BytesIO()
    with np.errstate(all="ignore"):
        np.save(file, _changed_array(array, rng), allow_pickle=False)
    return file.getvalue()


def _first_text(array: np.ndarray) -> bytes:
    try:
        return str(array.reshape(-1)[0]).encode() if array.size else b""
    except ValueError:  # an earlier change made characters that are not Unicode
        return b""


def _changed_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    if array.dtype.kind == "U":
        text = mutate_json(_first_text(array), rng)
        return np.array(text.decode("utf-8", "replace")).reshape((1,) * array.ndim)
    kind = rng.randrange(4)
    if kind == 0 and array.dtype.kind != "c":
        return array.astype(
            rng.choice(["f4", "f8", "i4", "i8", "u8", "u1", "?", "c16", "U9", ">i8"])
        )
    if kind == 1 and array.ndim:
        index = rng.choice([slice(0), slice(1), slice(None, -1), slice(None, None, -1), [0] * 5])
        return array[index] if len(array) else array
    if kind == 2:
        shapes = [(-1,), (1, *array.shape), (*array.shape, 1), array.shape[::-1]]
        return array.reshape(rng.choice(shapes))
    changed = array.copy().reshape(-1)
    if changed.size:
        values = REALS if array.dtype.kind == "f" else NUMBERS
        value = np.array(rng.choice(values)).astype(array.dtype)
        changed[rng.randrange(changed.size)] = value
    return changed.reshape(array.shape)
