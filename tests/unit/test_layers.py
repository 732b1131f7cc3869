"""Imports go down the layers only (docs/design.md §8)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDS = [
    "conf", "cronrules", "cronspec", "endings", "errors", "instants", "jsonrule", "log", "loops", "outcomes", "retry",
    "states", "tracecontext", "wallclock",
]  # fmt: skip


def test_the_contracts_are_kept() -> None:
    lint = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert lint.returncode == 0, lint.stdout + lint.stderr


@pytest.mark.parametrize("module", WORDS)
def test_the_words_are_pure(module: str) -> None:
    """Without Django's database code, psycopg or settings; import-linter cannot see below `django`."""
    code = (
        f"import sys, conveyor_django.{module}; "
        "print([m for m in sys.modules if m.startswith(('django.db', 'psycopg', 'testproject'))])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_the_package_is_cheap_to_import() -> None:
    """Names come at first use, so that settings can import it before anything is configured."""
    code = "import sys, conveyor_django; print([m for m in sys.modules if m.startswith(('django', 'psycopg'))])"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
