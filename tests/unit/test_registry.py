"""From a path to its task, or to the reason why there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conveyor_django.errors import UnknownTask
from conveyor_django.registry import resolve_task

from ..support import produce

TASKS = produce.__name__
A_TASK = "from conveyor_django import task\n\n@task\ndef f():\n    pass\n"


def test_a_task_at_the_top_of_its_module() -> None:
    assert resolve_task(f"{TASKS}.with_options") is produce.with_options


def test_a_task_inside_a_class() -> None:
    assert resolve_task(f"{TASKS}.Holder.nested") is produce.Holder.nested


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "not a dotted path"),
        ("task", "not a dotted path"),
        ("a..b", "not a dotted path"),
        (".a", "not a dotted path"),
        ("no_such_module.task", "there is no module 'no_such_module'"),
        ("tests.support.no_such_module.task", "tests.support has no attribute 'no_such_module'"),
        (f"{TASKS}.no_such_task", f"{TASKS} has no attribute 'no_such_task'"),
        (f"{TASKS}.undecorated", "it is a function, not a task"),
        (f"{TASKS}.Holder", "it is a type, not a task"),
        (f"{TASKS}.Holder.not_a_task", "it is a function, not a task"),
        (f"{TASKS}.Holder.missing", "Holder has no attribute 'missing'"),
    ],
)
def test_the_reason_is_told(path: str, reason: str) -> None:
    with pytest.raises(UnknownTask) as caught:
        resolve_task(path)
    assert repr(path) in str(caught.value)
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("1 / 0", "ZeroDivisionError('division by zero')"),
        ("import no_such_dependency", "No module named 'no_such_dependency'"),
        ("from os import no_such_name", "cannot import name 'no_such_name'"),
        ("def f(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit(3)"),
    ],
)
def test_an_error_inside_the_module_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, reason: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_jobs.py").write_text(source)
    with pytest.raises(UnknownTask) as caught:
        resolve_task("broken_jobs.f")
    assert "importing broken_jobs raised" in caught.value.reason
    assert reason in caught.value.reason


def test_code_that_arrives_later_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UnknownTask):
        resolve_task("late_jobs.f")
    (tmp_path / "late_jobs.py").write_text(A_TASK)
    monkeypatch.syspath_prepend(tmp_path)  # Makes Python look into the folder again.
    try:
        assert resolve_task("late_jobs.f").name == "f"
    finally:
        sys.modules.pop("late_jobs", None)
