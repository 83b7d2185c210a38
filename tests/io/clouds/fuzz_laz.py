"""Read LAZ files with random damage; every one must be read or be an error, and none may abort.

    python -m tests.io.clouds.fuzz_laz 500

A child process reads the files, because native code that aborts ends its process. Its address space
is limited, so that an allocation of gigabytes fails on every machine.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import laspy
import numpy as np

from meanshiftpp.errors import InvalidInputError
from meanshiftpp.stream import open_points

POINTS = 3000
FORMATS = (3, 7)  # of the points
ADDRESS_SPACE = 3 << 30  # bytes
SECONDS = 60  # for one file


def write_cloud(path: Path, point_format: int) -> None:
    """Write a cloud of random points; from format 6 on, a chunk consists of layers."""
    rng = np.random.default_rng(point_format)
    cloud = laspy.create(point_format=point_format)
    cloud.header.scales = [0.01] * 3
    cloud.xyz = rng.normal(size=(POINTS, 3)).cumsum(axis=0)
    cloud.intensity = rng.integers(0, 1000, POINTS)
    cloud.write(path)


def damaged(data: bytes, seed: int) -> bytes:
    """Return the data with flipped bits or large numbers: anywhere, or in the places of sizes."""
    rng = np.random.default_rng(seed)
    content = bytearray(data)
    start = int.from_bytes(content[96:100], "little")  # of the points
    table = int.from_bytes(content[start : start + 8], "little")
    record = content.index(b"laszip encoded")
    places = [
        (0, len(content)),
        (0, start),
        (record, start),
        (start, start + 100),
        (table, len(content)),
    ]
    first, end = places[seed % len(places)]
    for _ in range(int(rng.integers(1, 4))):
        content[rng.integers(first, end)] ^= 1 << rng.integers(8)
    if seed % 3 == 0:
        place = int(rng.integers(first, end))
        content[place : place + 4] = int(rng.integers(1 << 24, 1 << 32)).to_bytes(4, "little")
    if seed % 16 == 15:
        del content[rng.integers(start, len(content)) :]
    return bytes(content)


def read(path: Path) -> str:
    """Read a damaged file; return how that ended."""
    try:
        list(open_points(path))
    except (InvalidInputError, MemoryError) as error:
        return type(error).__name__
    return "read"


def limit_memory() -> None:
    """Limit the address space of this process."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, hard))


def child(folder: Path, first: int, end: int) -> None:
    """Read the files of some seeds, and print each seed with its outcome."""
    limit_memory()
    originals = [(folder / f"{kind}.laz").read_bytes() for kind in FORMATS]
    for seed in range(first, end):
        path = folder / "damaged.laz"
        path.write_bytes(damaged(originals[seed % len(originals)], seed))
        print(seed, end=" ", flush=True)
        signal.alarm(SECONDS)  # ends the process
        print(read(path), flush=True)


def fuzz(count: int) -> tuple[dict[str, int], list[str]]:
    """Return how often each outcome came, and the failures: aborts and foreign exceptions."""
    outcomes: dict[str, int] = {}
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        for kind in FORMATS:
            write_cloud(Path(name) / f"{kind}.laz", kind)
        first = 0
        while first < count:
            command = [
                sys.executable,
                "-m",
                "tests.io.clouds.fuzz_laz",
                name,
                str(first),
                str(count),
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            lines = done.stdout.splitlines()
            for line in lines:
                outcome = line.partition(" ")[2]
                outcomes[outcome] = outcomes.get(outcome, 0) + 1
            if done.returncode:
                seed = lines[-1].split()[0] if lines else "start"
                failures.append(f"seed {seed}: exit {done.returncode}: {done.stderr[-400:]}")
            first += max(len(lines), 1)
    return outcomes, failures


if __name__ == "__main__":
    if len(sys.argv) == 4:
        child(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    else:
        counts, failed = fuzz(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
        print(counts)
        sys.exit("\n".join(failed) or None)
