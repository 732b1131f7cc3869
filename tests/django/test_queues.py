"""Pausing queues and tasks and setting caps, as a project does it while workers run."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.db import transaction
from django.test import override_settings

from conveyor_django import pause_queue, pause_task, resume_queue, resume_task, set_caps
from conveyor_django.models import Job, PausedTask, Queue
from conveyor_django.testing import immediate

from ..support.factories import JobFactory, PermitFactory, QueueFactory
from ..support.produce import anything, plain_add
from .conftest import Rung

pytestmark = pytest.mark.django_db

PATH = "tests.support.produce.anything"
GONE = "tests.support.produce.gone"


def claim() -> list[str]:
    """Claim all that may be; return the tasks."""
    return [job.task for job in Job.objects.claim_jobs(owner=uuid.uuid4(), queues={"default": 30.0}, limit=10)]


def test_a_paused_queue_gives_nothing_until_it_is_resumed() -> None:
    anything.enqueue()
    pause_queue("default")
    pause_queue("default")
    assert claim() == []
    resume_queue("default")
    assert claim() == [PATH]
    assert Job.objects.filter(parked=None).count() == 1


def test_other_settings_of_a_queue_stay() -> None:
    QueueFactory(lease_seconds=7.0, exact_cap=3, paused=True)
    set_caps("default", soft=9)
    resume_queue("default")
    pause_queue("default")
    queue = Queue.objects.get()
    assert (queue.paused, queue.lease_seconds, queue.exact_cap, queue.soft_cap) == (True, 7.0, 3, 9)


def test_resuming_a_queue_without_settings_does_nothing() -> None:
    resume_queue("default")
    assert not Queue.objects.exists()


@pytest.mark.parametrize("task", [anything, PATH])
def test_a_paused_task_gives_nothing_until_it_is_resumed(task: Any) -> None:
    anything.enqueue()
    plain_add.enqueue(1)
    pause_task(task)
    pause_task(task)
    assert claim() == ["tests.support.produce.plain_add"]
    resume_task(task)
    # At once, without the sweep.
    assert claim() == [PATH]
    assert not PausedTask.objects.exists()


def test_resuming_a_task_that_is_not_paused_does_nothing() -> None:
    resume_task(PATH)


def test_caps_are_set_changed_and_taken_away() -> None:
    set_caps("default", soft=5, exact=3, per_key=2)
    queue = Queue.objects.get()
    assert (queue.soft_cap, queue.exact_cap, queue.key_cap, queue.paused) == (5, 3, 2, False)
    set_caps("default", soft=None, per_key=1)
    queue.refresh_from_db()
    assert (queue.soft_cap, queue.exact_cap, queue.key_cap) == (None, 3, 1)
    set_caps("default")


def test_all_of_it_is_part_of_the_callers_transaction() -> None:
    with transaction.atomic():
        pause_queue("default")
        pause_task(PATH)
        set_caps("orders", exact=1)
        transaction.set_rollback(True)
    assert not Queue.objects.exists()
    assert not PausedTask.objects.exists()


@pytest.mark.parametrize("queue", ["", None, "x" * 129, "a\x00"])
@pytest.mark.parametrize("act", [pause_queue, resume_queue, lambda queue: set_caps(queue, soft=1)])
def test_what_is_no_queue_is_refused(act: Any, queue: Any) -> None:
    with pytest.raises(ValueError, match="is no queue's name: pass text of 1 to 128 characters"):
        act(queue)


@pytest.mark.parametrize("act", [pause_queue, resume_queue, set_caps, lambda queue: set_caps(queue, soft=1)])
@pytest.mark.parametrize(
    ("queue", "hint"), [("ordrs", "Did you mean 'orders'"), ("mail", "Declared are 'default', 'orders'.")]
)
def test_a_queue_that_no_backend_declares_is_refused(act: Any, queue: str, hint: str) -> None:
    with pytest.raises(ValueError, match=f"no Conveyor backend in TASKS declares the queue '{queue}' .*{hint}"):
        act(queue)
    assert not Queue.objects.exists()


OPEN = {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": []}


@pytest.mark.parametrize("backends", [immediate, lambda: override_settings(TASKS={"default": OPEN})])
def test_any_queue_where_none_is_declared(backends: Any) -> None:
    with backends():
        pause_queue("mail")
    assert Queue.objects.get().name == "mail"


def test_a_queue_that_has_settings_may_be_resumed_though_it_is_declared_no_more() -> None:
    QueueFactory(name="mail", paused=True)
    resume_queue("mail")
    assert not Queue.objects.get().paused


@pytest.mark.parametrize("act", [pause_task, resume_task])
def test_a_path_where_there_is_no_task_is_refused(act: Any) -> None:
    with pytest.raises(ValueError, match=r"'tests.support.produce.gone' is no task: tests.support.produce has no attr"):
        act(GONE)
    assert not PausedTask.objects.exists()


def test_a_task_whose_code_is_gone_is_paused_where_it_has_jobs_and_resumed_in_any_case() -> None:
    job = JobFactory(task=GONE)
    pause_task(GONE)
    assert claim() == []
    job.delete()
    resume_task(GONE)
    assert not PausedTask.objects.exists()


@pytest.mark.parametrize("act", [pause_task, resume_task])
def test_what_is_no_task_is_refused(act: Any) -> None:
    with pytest.raises(TypeError, match="7 is no task: pass the task or its path,"):
        act(7)
    with pytest.raises(ValueError, match=r"'charge' is no task's path: pass one such as 'shop.tasks.charge'"):
        act("charge")


@pytest.mark.parametrize(
    ("caps", "error", "message"),
    [
        ({"soft": 0}, ValueError, "soft_cap must be from 1 to 2,147,483,647, not 0; pass None for no cap, pause_queue"),
        ({"exact": 1001}, ValueError, "exact_cap must be from 1 to 1,000, not 1001"),
        ({"per_key": -1}, ValueError, "key_cap must be from 1 to 1,000, not -1"),
        ({"exact": 2.0}, TypeError, "exact_cap must be a whole number or None, not 2.0"),
        ({"per_key": True}, TypeError, "key_cap must be a whole number or None, not True"),
    ],
)
def test_what_is_no_cap_is_refused(caps: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        set_caps("default", **caps)
    assert not Queue.objects.exists()


def test_the_bounds_themselves_are_caps() -> None:
    set_caps("default", soft=2**31 - 1, exact=1000, per_key=1000)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "act",
    [
        lambda: resume_queue("default"),
        lambda: resume_task("tests.support.produce.anything"),
        lambda: set_caps("default", exact=5),
    ],
)
def test_workers_hear_of_what_may_run_now(act: Any, rung: Rung) -> None:
    QueueFactory(paused=True)
    JobFactory(parked_by_task=True, task=PATH)
    with transaction.atomic():
        act()
        assert rung() == []
    assert rung() == ["default"]


def test_keys_with_free_permits_are_left_to_the_workers() -> None:
    """A raised cap is noticed when the next run of the key ends, or by the sweep."""
    PermitFactory(run=JobFactory(running=True))
    job = JobFactory(parked_by_key=True)
    set_caps("default", per_key=2)
    assert Job.objects.unpark_jobs([("default", "k")]) == {job.pk: "default"}
