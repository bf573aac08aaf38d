"""Fixtures: a small plan, and the command for comparisons."""

import os
import pathlib
import subprocess

import pytest

SCENARIO = """
name = "s"
[[objects]]
name = "m"
kind = "lock"
lock = "queued"
[[steps]]
do = "lock"
object = "m"
[[steps]]
do = "work"
name = "held"
ns = 100
[[steps]]
do = "unlock"
object = "m"
[[variants]]
name = "queued"
[[variants]]
name = "ticket"
set = [{ object = "m", lock = "ticket" }]
[[variants]]
name = "stalls"
set = [{ object = "m", lock = "stalls" }]
"""

PLAN = """
title = "small"
scenarios = "s.toml"
variants = ["queued", "ticket"]
machines = "zen4-7840u"
threads = [1, 2, 4]
seeds = "1-4"
runs = "quick"
[parameters]
steps.held.ns = [50, 100]
"""


@pytest.fixture
def plan_file(tmp_path: pathlib.Path) -> pathlib.Path:
    """A plan of 48 cells."""
    (tmp_path / "s.toml").write_text(SCENARIO)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture
def command():
    """The command of the same sources. ``LOCKYARD`` is its path."""
    path = os.environ.get("LOCKYARD")
    if not path:
        pytest.skip("LOCKYARD does not name the command")
    return lambda *arguments: subprocess.run([path, *map(str, arguments)], check=True)


def bytes_of(directory: pathlib.Path) -> dict:
    """The bytes of each row of a directory."""
    return {path.name: path.read_bytes() for path in (directory / "cells").iterdir()}
