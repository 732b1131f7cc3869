"""`manage.py conveyor_stuck`."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from conveyor_django import cancel, requeue
from conveyor_django.models import Job

from ..support.workflows import WorkflowFactory, child_of, member, states

pytestmark = pytest.mark.django_db


def test_nothing_is_stuck(capsys: pytest.CaptureFixture[str]) -> None:
    child_of(member(WorkflowFactory()))
    call_command("conveyor_stuck")
    assert capsys.readouterr().out == "No job is stuck: each blocked one waits for a job that has not ended.\n"


def test_each_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    workflow = WorkflowFactory()
    late, alone = child_of(member(workflow, "succeeded")), member(workflow, "blocked")
    with pytest.raises(CommandError, match="2 blocked jobs wait for nothing that will come") as caught:
        call_command("conveyor_stuck", database="default")
    assert caught.value.returncode == 1
    assert str(caught.value).endswith(
        "cancel it, and retry it if it is to run (manage.py conveyor_cancel and conveyor_retry, or the admin)."
    )
    jobs = [f"default: job {job.pk} (shop.tasks.noop) of workflow {workflow.pk}: " for job in (late, alone)]
    assert capsys.readouterr().out.splitlines() == [
        f"{jobs[0]}every job that it waits for has ended or is gone",
        f"{jobs[1]}it counts 1 jobs to wait for, and has 0 unresolved edges",
    ]


def test_what_it_says_to_do_works() -> None:
    alone = member(WorkflowFactory(), "blocked")
    assert requeue(alone.pk) == []
    assert cancel(alone.pk) == "cancelled"
    assert requeue(alone.pk) == [alone.pk]
    call_command("conveyor_stuck")
    assert states(alone) == ["ready"]


def test_what_is_only_late_is_released_first(capsys: pytest.CaptureFixture[str]) -> None:
    child = child_of(member(WorkflowFactory(), "succeeded"))
    call_command("conveyor_stuck", sweep=True)
    assert states(child) == ["ready"]
    assert capsys.readouterr().out.startswith("default: the sweep changed 1 jobs and workflows.\n")
    assert Job.objects.filter(state="blocked").count() == 0


def test_a_database_that_is_none() -> None:
    with pytest.raises(CommandError, match="'nowhere' is not in DATABASES"):
        call_command("conveyor_stuck", database="nowhere")
