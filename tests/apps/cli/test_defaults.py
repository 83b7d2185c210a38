"""Defaults and limits that the command line copies, because their modules are slow to import."""

from __future__ import annotations

import inspect
import json
import os
from typing import get_type_hints

import pytest
from tests.apps.cli.command_line import run

from meanshiftpp import MeanShiftPP
from meanshiftpp._kernel import MAX_REACH
from meanshiftpp.apps.cli.cluster.command import cluster
from meanshiftpp.apps.cli.grid import build
from meanshiftpp.apps.cli.shared import options
from meanshiftpp.apps.cli.shared.options import MAP_FORMATS
from meanshiftpp.apps.cli.studio import studio
from meanshiftpp.apps.cli.sweep import sweep
from meanshiftpp.apps.studio.server import MAX_UPLOAD
from meanshiftpp.io.maps.vectors import FORMATS
from meanshiftpp.io.streams import CHECKPOINT_SECONDS


def defaults(command) -> dict:
    return {name: each.default for name, each in inspect.signature(command).parameters.items()}


def test_cluster_has_the_defaults_of_the_estimator():
    names = ["bandwidth", "resolution", "periodic", "tol", "max_iter", "min_cluster_size"]
    names += ["cluster_all"]
    found, expected = defaults(cluster), MeanShiftPP().get_params()
    assert [found[name] for name in names] == [expected[name] for name in names]


@pytest.mark.usefixtures("points")
def test_a_strictness_that_is_not_given_is_that_of_the_estimator(tmp_path):
    summary = json.loads(run("cluster", tmp_path / "points.npy", "--json")[1])
    assert summary["strictness"] == MeanShiftPP().strictness


def test_checkpoints_and_uploads_have_the_defaults_of_their_modules():
    assert {defaults(command)["every"] for command in (cluster, build)} == {CHECKPOINT_SECONDS}
    assert defaults(studio)["max_upload"] * 2**20 == MAX_UPLOAD


@pytest.mark.parametrize("command", [cluster, sweep], ids=["cluster", "sweep"])
def test_the_limits_of_the_resolution_are_those_of_the_kernel(command):
    (option,) = get_type_hints(command, include_extras=True)["resolution"].__metadata__
    assert (option.min, option.max) == (1, MAX_REACH)


def test_the_formats_of_maps_are_those_that_are_written():
    assert tuple(FORMATS) == MAP_FORMATS


def test_free_memory_is_the_least_that_the_system_states(monkeypatch, tmp_path):
    monkeypatch.setattr(options, "Path", lambda name: tmp_path / name.rpartition("/")[2])
    monkeypatch.setattr(options.os, "sysconf_names", {})
    assert options.free_memory() == 4 << 30
    monkeypatch.undo()
    monkeypatch.setattr(options, "Path", lambda name: tmp_path / name.rpartition("/")[2])
    installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert options.free_memory() == installed
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\n")
    assert options.free_memory() == installed
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  7 kB\n")
    assert options.free_memory() == 7 * 1024
    for limit, free in (("max", 7 * 1024), ("9999", 7 * 1024), ("5000", 5000)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        assert options.free_memory() == free
