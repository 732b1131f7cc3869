"""`import conveyor_django` is cheap, and gives what it says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import conveyor_django

ROOT = Path(conveyor_django.__file__).parent


def test_every_public_name_is_there() -> None:
    for name in conveyor_django.__all__:
        assert getattr(conveyor_django, name) is not None
    assert set(conveyor_django.__all__) <= set(dir(conveyor_django))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tusk'"):
        _ = conveyor_django.tusk


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    assert conveyor_django.__version__ == project["version"]


def test_the_import_needs_no_settings_and_loads_no_models() -> None:
    code = "import sys, conveyor_django; print([m for m in sys.modules if m.startswith(('django', 'psycopg'))])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_type_checkers_see_the_same_names() -> None:
    source = (ROOT / "__init__.py").read_text()
    typed = set(re.findall(r"^    from \.\w+ import (\w+) as \1$", source, re.MULTILINE))
    assert typed == set(conveyor_django.__all__) - {"__version__"}


def test_the_life_of_a_job_names_files_that_exist() -> None:
    named = re.findall(r"`([\w/]+\.(?:py|sql))`", conveyor_django.__doc__ or "")
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).is_file()] == []
