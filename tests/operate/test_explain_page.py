"""docs/explain.md names every reason and every finding, and no other; its examples run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from conveyor_django.operate.explain import Code

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "explain.md").read_text()
EXPLAIN, DOCTOR = PAGE.split("## `conveyor_doctor`")


def listed(text: str) -> set[str]:
    """Return the codes in the first column of the tables."""
    cells = re.findall(r"^\| ([^|]*`[^|]*) \|", text, re.MULTILINE)
    return {code for cell in cells for code in re.findall(r"`([a-z_]+)`", cell)}


def test_every_reason() -> None:
    assert listed(EXPLAIN) == {code.value for code in Code}


def test_every_reason_can_be_given() -> None:
    source = "".join(path.read_text() for path in (ROOT / "conveyor_django/operate/explain").glob("*.py"))
    assert [code.name for code in Code if f"Code.{code.name}" not in source] == []


def test_every_finding() -> None:
    sources = [*(ROOT / "conveyor_django/operate/doctor").glob("*.py"), ROOT / "conveyor_django/operate/findings.py"]
    sources += [ROOT / "conveyor_django/management/commands/conveyor_doctor.py"]
    made = {
        code for path in sources for code in re.findall(r'(?:warning|problem|\))\(\s*"([a-z_]+)",', path.read_text())
    }
    assert made >= {"no_scheduler", "wraparound", "database"}
    orphans = {f"{kind}_without_job" for kind in ("payload", "attempt", "ledger", "edge")}
    late = {"promotion_late", "rescue_late"}
    assert listed(DOCTOR) == made | orphans | late


@pytest.mark.django_db
def test_the_examples() -> None:
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        names: dict[str, Any] = {}
        exec(block, names)  # noqa: S102 - our own text
        assert {"explain", "wrong_now"} & set(names)
