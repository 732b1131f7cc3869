"""conveyor_explain of jobs whose time has not come, or has come and nobody has seen it."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.errors import UnknownTask
from conveyor_django.models import Worker
from conveyor_django.operate.explain import explain
from conveyor_django.worker.decide import not_alone, unknown_task

from ..support.connections import Connect
from ..support.factories import AttemptFactory, in_seconds
from ..support.waits import backend_pid
from .conftest import Stage, codes, known_job, only_reason, seconds_ago

pytestmark = pytest.mark.django_db


def after_a_run(verb: str, **fields):
    """Make a job that waits after a run that ended so."""
    attempt = {name: fields.pop(name) for name in ("error_class", "message", "owner") if name in fields}
    job = known_job(scheduled=True, **{"lease_version": 3, "attempt": 2} | fields)
    AttemptFactory(job=job, verb=verb, lease_version=job.lease_version, **attempt)
    return job


def test_its_time_lies_ahead(fleet: Worker) -> None:
    reason = only_reason(known_job(scheduled=True, run_at=in_seconds(7200.5)))
    assert reason.code == "scheduled"
    assert reason.text.endswith("in 2 h.")


def test_a_retry_waits_for_its_delay(fleet: Worker) -> None:
    reason = only_reason(after_a_run("retry"))
    assert reason.code == "retry_delay"
    assert reason.text.startswith("attempt 2 of 5 failed, and the next one waits")
    assert reason.text.endswith("The error: builtins.ValueError: no")


def test_its_handler_put_it_off(fleet: Worker) -> None:
    assert only_reason(after_a_run("snooze")).code == "snoozed"


def test_its_worker_could_not_finish_it(fleet: Worker) -> None:
    reason = only_reason(after_a_run("release", error_class="", message="its worker stopped", release_count=2))
    assert reason.code == "released"
    assert "(given back 2 times; after 100 it fails): its worker stopped" in reason.text


@pytest.mark.parametrize("lives", [True, False])
def test_its_task_was_unknown_to_a_worker(fleet: Worker, lives: bool) -> None:
    error = unknown_task(claimed_once(), UnknownTask("shop.gone", "there is no module 'shop.gone'")).error
    job = after_a_run(
        "release", error_class=error.error_class, message=error.message, owner=fleet.pk if lives else uuid.uuid4()
    )
    reason = only_reason(job)
    assert reason.code == "task_unknown"
    assert ("the live worker host:17" if lives else "a worker that has ended since") in reason.text
    assert "there is no module 'shop.gone'" in reason.text


def test_it_was_lost_before_and_its_neighbours_did_not_end(fleet: Worker) -> None:
    error = not_alone(claimed_once()).error
    job = after_a_run("release", error_class=error.error_class, message=error.message, lost_count=1)
    reason = only_reason(job)
    assert reason.code == "suspect"
    assert error.message in reason.text


def test_it_is_due_and_a_scheduler_is_there(fleet: Worker) -> None:
    assert only_reason(known_job(scheduled=True, run_at=seconds_ago(1))).code == "due"


def test_it_is_due_and_no_scheduler_is_there(stage: Stage) -> None:
    stage.worker()
    explanation = explain(known_job(scheduled=True, run_at=seconds_ago(90)).pk)
    assert codes(explanation) == ["due", "no_scheduler"]
    assert "(90 s)" in explanation.reasons[0].text
    assert explanation.reasons[1].remedy.startswith("Start one: manage.py conveyor_scheduler --database default")


def test_behind_a_pooler_nobody_can_say_whether_a_scheduler_is_there(connect: Connect) -> None:
    connect("conveyor")
    assert codes(explain(known_job(scheduled=True, run_at=seconds_ago(90)).pk)) == ["due"]


def test_the_scheduler_stands_still(connect: Connect, later) -> None:
    session = connect("conveyor scheduler host 18")
    job = known_job(scheduled=True)
    assert codes(explain(job.pk)) == ["scheduled"]
    later(120)
    explanation = explain(job.pk)
    assert codes(explanation) == ["scheduled", "scheduler_silent"]
    assert f"scheduler host 18 (backend {backend_pid(session)})" in explanation.reasons[1].text


def claimed_once():
    """Return a claimed job, as a worker has it."""
    from conveyor_django.models import Job

    known_job(queue="elsewhere")
    [claimed] = Job.objects.claim_jobs(owner=uuid.uuid4(), queues={"elsewhere": 30.0}, limit=1)
    return claimed
