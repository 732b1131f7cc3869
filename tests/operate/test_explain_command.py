"""`manage.py conveyor_explain`."""

from __future__ import annotations

import json

import pytest
from django.core.management import CommandError, call_command

from conveyor_django.models import Worker

from .conftest import known_job

pytestmark = pytest.mark.django_db


def test_the_state_then_each_reason_with_what_to_do(fleet: Worker, capsys: pytest.CaptureFixture[str]) -> None:
    known_job()
    job = known_job(lost_count=1)
    call_command("conveyor_explain", str(job.pk))
    assert capsys.readouterr().out.splitlines() == [
        f"job default:{job.pk} (tests.support.produce.anything) of queue 'default' is ready.",
        (
            "1. [suspect] 1 run of it was lost with the worker, so it runs without neighbours: a process that claims it "
            "lets its other runs end first, or gives it back. At 3 lost runs it fails."
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
