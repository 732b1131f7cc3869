"""`manage.py conveyor_explain`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from conveyor_django.models import Worker

from ..support.factories import AttemptFactory
from .conftest import known_job

pytestmark = pytest.mark.django_db


def test_the_state_then_each_reason_with_what_to_do(fleet: Worker, capsys: pytest.CaptureFixture[str]) -> None:
    known_job()
    job = known_job(lost_count=1)
    call_command("conveyor_explain", str(job.pk))
    assert capsys.readouterr().out.splitlines() == [
        f"job default:{job.pk} (tests.support.produce.anything) of queue 'default' is ready.",
        (
            "1. [suspect] 1 run of it was lost with the worker, so it runs without neighbours: a process that claims "
            "it lets its other runs end first, or gives it back. At 3 lost runs it fails."
        ),
        "   What to do: Nothing; a worker with idle processes, or one with --concurrency 1, runs it sooner.",
        "2. [ahead_in_line] 1 job of its queue is in line before it, by priority and age.",
        "   What to do: Wait, or start more workers for this queue.",
    ]


@pytest.mark.parametrize("named", ["{}", "default:{}"])
def test_for_a_script(fleet: Worker, capsys: pytest.CaptureFixture[str], named: str) -> None:
    job = known_job()
    call_command("conveyor_explain", named.format(job.pk), "--json", "--database", "default")
    said = json.loads(capsys.readouterr().out)
    assert {name: said[name] for name in ("job", "id", "database", "state", "queue", "task")} == {
        "job": f"default:{job.pk}", "id": job.pk, "database": "default", "state": "ready", "queue": "default",
        "task": "tests.support.produce.anything",
    }  # fmt: skip
    assert [set(reason) for reason in said["reasons"]] == [{"code", "text", "remedy"}]
    assert said["reasons"][0]["code"] == "claimable"


def test_a_job_that_does_not_exist_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("conveyor_explain", "1000000")
    assert "[no_such_job]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["x"], "'x' names no job: give its id, such as 42, or its result's, such as default:42"),
        (["other:1"], "'other:1' names no job"),
        (["default:0"], "names no job of database 'default'"),
        (["0"], "names no job of database 'default'"),
        (["1", "--database", "nowhere"], "'nowhere' is not in DATABASES"),
        (["default:1", "--database", "other"], "lives on database 'default', but --database is 'other'"),
    ],
)
def test_what_names_no_job(arguments: list[str], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        call_command("conveyor_explain", *arguments)


TRACEBACK = (
    'Traceback (most recent call last):\n  File "shop/tasks.py", line 7, in charge\nValueError: no \x1b[2Jcard\n'
)


def failed_job() -> Any:
    """Make a job that failed by a ValueError in its second run, after it was put off."""
    job = known_job(failed=True, lease_version=3, attempt=2, max_attempts=2)
    AttemptFactory(job=job, lease_version=1, number=1, traceback="an older one")
    AttemptFactory(job=job, lease_version=2, number=2, verb="fail", traceback=TRACEBACK)
    AttemptFactory(job=job, lease_version=3, number=3, verb="snooze", error_class="Snooze", traceback="no error")
    AttemptFactory(job=job, lease_version=4, number=3, verb="release", error_class="", traceback="")
    return job


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    call_command("conveyor_explain", *map(str, arguments))
    return capsys.readouterr().out.splitlines()


def test_the_last_traceback_is_offered_and_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    job = failed_job()
    plain = told(capsys, job.pk)
    assert plain[-1] == (
        f"The traceback of its last error (run 2): manage.py conveyor_explain default:{job.pk} --errors"
    )
    shown = told(capsys, job.pk, "--errors")
    assert shown[: len(plain) - 1] == plain[:-1]
    assert shown[len(plain) - 1].startswith("Its last error, which ended run 2 at ")
    assert shown[len(plain) :] == [
        "Traceback (most recent call last):",
        '  File "shop/tasks.py", line 7, in charge',
        "ValueError: no \N{REPLACEMENT CHARACTER}[2Jcard",
    ]


def test_the_last_error_for_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    job = failed_job()
    assert "last_error" not in json.loads("\n".join(told(capsys, job.pk, "--json")))
    said = json.loads("\n".join(told(capsys, job.pk, "--json", "--errors")))["last_error"]
    assert set(said) == {"run", "verb", "error_class", "message", "traceback", "finished_at"}
    assert (said["run"], said["verb"], said["traceback"]) == (2, "fail", TRACEBACK)


def test_of_a_run_whose_process_died_there_is_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    job = known_job(failed=True, lost_count=3)
    AttemptFactory(job=job, verb="rescue", error_class="LeaseLost", message="its worker died", traceback="")
    assert "--errors" not in "\n".join(told(capsys, job.pk))
    assert told(capsys, job.pk, "--errors")[-2:] == [
        "LeaseLost: its worker died", "(no traceback: its process could not write one)",
    ]  # fmt: skip


def test_of_a_job_without_an_error_none_is_shown(fleet: Worker, capsys: pytest.CaptureFixture[str]) -> None:
    job = known_job()
    assert told(capsys, job.pk, "--errors")[-1] == "No error of it is kept."
    said = json.loads("\n".join(told(capsys, job.pk, "--errors", "--json")))
    assert said["last_error"] is None
