"""`make` on a machine that lacks something says what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")


def make(target: str, folder: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run make with another Python and an environment that does not exist yet."""
    return subprocess.run(
        ["make", target, f"PYTHON={python}", f"VENV={folder / 'venv'}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def stand_in(folder: Path, refused: str, version: str) -> str:
    """Make a Python that fails where `refused` is asked of it, and says that it is `version`."""
    path = folder / "python"
    path.write_text(
        f'#!/bin/sh\ncase "$*" in\n*{refused}*) exit 1;;\n-V) echo "Python {version}";;\n'
        f'*) exec {sys.executable} "$@";;\nesac\n'
    )
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("target", ["demo", "test"])
def test_a_python_that_is_too_old_is_named(tmp_path: Path, target: str) -> None:
    run = make(target, tmp_path, stand_in(tmp_path, "version_info", "3.9.2"))
    assert run.returncode != 0
    assert (
        "python is Python 3.9.2, but Conveyor needs Python 3.11 or newer. "
        f"Install one and name it: make {target} PYTHON=" in run.stderr
    )


@pytest.mark.parametrize("target", ["demo", "test"])
def test_a_python_without_venv_is_told_which_package_to_install(tmp_path: Path, target: str) -> None:
    run = make(target, tmp_path, stand_in(tmp_path, "ensurepip", "3.11.2"))
    assert run.returncode != 0
    assert "cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" in run.stderr


def test_no_python_at_all_is_said(tmp_path: Path) -> None:
    run = make("demo", tmp_path, "python-that-is-not-there")
    assert run.returncode != 0
    assert "There is no python-that-is-not-there here. Install Python 3.11 or newer" in run.stderr


def test_help_lists_every_target() -> None:
    run = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in (
        "demo",
        "test",
        "lint",
        "format",
        "types",
        "layers",
        "run",
        "worker",
        "soak",
        "ci",
        "clean",
        "help",
    ):
        assert f"  make {target} " in run.stdout
