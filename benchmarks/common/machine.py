"""Facts about the machine: enough to judge the measurements, nothing that identifies it."""

from __future__ import annotations

import os
import platform
import resource
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    *("meanshiftpp", "numpy", "scipy", "scikit-learn", "numba"),
    *("fast-hdbscan", "fast-plscan", "genieclust", "lumbermark"),
)
MEMORY_SHARE = 0.75  # of the machine: a peer that needs more fails without affecting the others


def describe() -> dict[str, str]:
    """Return processor, cores, memory, load, system and package versions."""
    facts = {
        "processor": processor(),
        "cores": str(cores()),
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB",
        "load before the run": f"{os.getloadavg()[0]:.2f}",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }
    return facts | {name: _version(name) for name in PACKAGES}


def cores() -> int:
    """Return the number of cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    """Return the processor's model name, with family, model number and cache size if known."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (x.partition(":") for x in lines)}
    name = facts.get("model name") or platform.processor() or platform.machine()
    family, model = facts.get("cpu family"), facts.get("model")
    cache = facts.get("cache size")
    more = [f"family {family} model {model}" if family else "", f"cache {cache}" if cache else ""]
    return ", ".join(filter(None, [name, *more]))


def limit_memory() -> None:
    """Limit the memory of this process to a share of the machine's."""
    with suppress(ValueError, OSError):  # not supported by all systems
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        limit = int(total * MEMORY_SHARE)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
