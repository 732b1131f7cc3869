"""What a user installs: the wheel, built here without a network."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# What a package of Django may ship beside its modules.
DATA = {".sql", ".html", ".css", ".js", ".svg", ".typed"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_it_has_every_file_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    package = ROOT / "conveyor_django"
    expected = {
        str(path.relative_to(ROOT)) for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert shipped == expected
    assert {Path(name).suffix for name in shipped} <= DATA | {".py"}


def test_the_statements_and_the_mark_of_typed_packages_are_in_it(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert "conveyor_django/py.typed" in names
    assert "conveyor_django/sql/claim_jobs.sql" in names


def test_its_metadata_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = wheel.read(name).decode()
    for line in ("Name: conveyor-django", "License-Expression: MIT", "Requires-Python: >=3.11"):
        assert line in metadata.splitlines()
    assert any(name.endswith("/licenses/LICENSE") for name in wheel.namelist())
