"""The package is typed, and its names are documented."""

import pathlib
import subprocess
import sys

import pytest

import lockyard


def test_every_name_is_documented():
    for name in lockyard.__all__:
        assert getattr(lockyard, name).__doc__, name
    assert (pathlib.Path(lockyard.__file__).parent / "py.typed").exists()


def test_the_types_are_right():
    pytest.importorskip("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "-p", "lockyard"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
