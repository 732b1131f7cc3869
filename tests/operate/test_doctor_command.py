"""`manage.py conveyor_doctor`: what it prints, and what it exits with."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from conveyor_django.models import Worker
from conveyor_django.operate import findings

from ..support.databases import process_environment
from .conftest import Stage

pytestmark = pytest.mark.django_db

EVERY = findings.ALL

Doctor = Callable[..., tuple[int, str]]


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Return the command's exit code and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        try:
            call_command("conveyor_doctor", *arguments)
        except SystemExit as end:
            return int(end.code or 0), capsys.readouterr().out
        return 0, capsys.readouterr().out

    return run


@pytest.fixture(autouse=True)
def _own_database_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what depends on what else goes on at the server."""
    monkeypatch.setattr(findings, "ALL", findings.NOW)


def test_all_is_well(fleet: Worker, doctor: Doctor) -> None:
    assert doctor() == (0, "problems: 0, warnings: 0; checks that found all well: 8. Those are shown by --verbose.\n")


def test_what_is_well_with_verbose(fleet: Worker, doctor: Doctor) -> None:
    code, said = doctor("--verbose")
    assert code == 0
    assert "default: ok       A scheduler is at work.\n" in said


def test_a_warning(stage: Stage, doctor: Doctor) -> None:
    stage.scheduler()
    code, said = doctor("--database", "default")
    assert code == 1
    assert said.splitlines()[:2] == [
        "default: warning  [no_worker] no worker is alive: what is enqueued will wait.",
        "         What to do: Start one: manage.py conveyor_worker --database default",
    ]


def test_a_problem(stage: Stage, doctor: Doctor) -> None:
    code, said = doctor()
    assert code == 2
    assert said.startswith("default: problem  [no_scheduler]")


def test_for_a_script(stage: Stage, doctor: Doctor) -> None:
    stage.scheduler()
    code, said = doctor("--json")
    found = json.loads(said)
    assert (code, found["level"]) == (1, "warning")
    assert found["findings"][0] | {"problem": "", "remedy": ""} == {
        "place": "default", "code": "no_worker", "level": "warning", "problem": "", "remedy": "",
    }  # fmt: skip
    assert {each["level"] for each in found["findings"][1:]} == {"ok"}


@pytest.mark.parametrize("conveyor", [{"DATABSE": "default"}, {"DATABASE": "nowhere"}])
def test_settings_that_nothing_can_be_done_with(settings: Settings, doctor: Doctor, conveyor: dict[str, str]) -> None:
    settings.CONVEYOR = conveyor
    code, said = doctor()
    assert code == 2
    assert said.startswith("project: problem  [conveyor.E00")
    assert said.endswith("problems: 1, warnings: 0; checks that found all well: 0. Those are shown by --verbose.\n")


def test_a_database_that_is_away_in_a_real_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "testproject", "conveyor_doctor"],
        env=process_environment(NAME="no_such_database"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 2, ended.stderr
    assert "default: problem  [database] database 'default' cannot be used: " in ended.stdout
    assert "no_such_database" in ended.stdout


def test_a_database_that_is_none() -> None:
    with pytest.raises(CommandError, match="'nowhere' is not in DATABASES"):
        call_command("conveyor_doctor", "--database", "nowhere")


def test_the_checks_can_be_told_apart() -> None:
    assert len({check.good for check in EVERY}) == len({check.look for check in EVERY}) == len(EVERY)
