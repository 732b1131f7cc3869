"""conveyor_explain of ready jobs that pauses, caps and keys keep from being claimed."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django import pause_queue, pause_task, resume_task, set_caps
from conveyor_django.models import Job, Worker
from conveyor_django.operate.explain import explain

from ..support.factories import QueueFactory
from ..support.produce import anything
from .conftest import Stage, codes, known_job, only_reason

pytestmark = pytest.mark.django_db


def claim(limit: int = 1) -> list[int]:
    """Claim as a worker does that makes the places of caps where they are missing."""
    jobs, owner = Job.objects, uuid.uuid4()
    claim = jobs.claim(owner=owner, queues={"default": 30.0}, limit=limit)
    if claim.unprovided:
        jobs.make_permits(claim.unprovided)
        claim = jobs.claim(owner=owner, queues={"default": 30.0}, limit=limit)
    return [claimed.id for claimed in claim.jobs]


def test_its_queue_is_paused(fleet: Worker) -> None:
    pause_queue("default")
    reason = only_reason(known_job())
    assert reason.code == "queue_paused"
    assert reason.remedy == "Resume it: manage.py conveyor_resume default"


def test_its_task_is_paused(fleet: Worker) -> None:
    pause_task(anything)
    job = known_job()
    reason = only_reason(job)
    assert reason.code == "task_paused"
    assert reason.remedy == f"Resume it: manage.py conveyor_resume --task {anything.module_path}"
    assert "moved out of the way" not in reason.text
    assert claim() == []
    assert "moved out of the way" in only_reason(job).text


def test_its_task_was_paused_and_it_was_not_put_back_yet(fleet: Worker) -> None:
    assert only_reason(known_job(parked_by_task=True)).code == "parked"


def test_it_was_not_put_back_and_nobody_will(stage: Stage) -> None:
    stage.worker()
    pause_task(anything)
    resume_task(anything)
    assert codes(explain(known_job(parked_by_task=True).pk)) == ["parked", "no_scheduler"]


@pytest.mark.parametrize("kind", ["soft", "exact"])
def test_its_queue_s_cap_is_held(fleet: Worker, kind: str) -> None:
    QueueFactory()
    set_caps("default", **{kind: 2})
    known_job(), known_job()
    holders = claim(limit=2)
    job = known_job()
    reason = only_reason(job)
    assert reason.code == f"{kind}_cap"
    assert f"is 2, and 2 jobs of it run: {holders[0]} and {holders[1]}." in reason.text
    assert f"set_caps('default', {kind}=3)" in reason.remedy
    set_caps("default", **{kind: 3})
    assert only_reason(job).code == "claimable"


@pytest.mark.parametrize("parked", [False, True])
def test_its_key_is_held(fleet: Worker, parked: bool) -> None:
    QueueFactory(key_cap=2)
    jobs = [known_job(concurrency_key="bank") for _ in range(4)]
    holders = claim(limit=2)
    assert holders == [jobs[0].pk, jobs[1].pk]
    if parked:
        assert claim(limit=2) == []
    reason = explain(jobs[3].pk).reasons[0]
    assert reason.code == "key_cap"
    assert f"key 'bank' at most 2 run at once in queue 'default', and {holders[0]} and {holders[1]} do" in reason.text
    assert ("1 parked job of the key come before it" in reason.text) == parked


def test_a_place_of_its_key_is_free_again(fleet: Worker) -> None:
    reason = only_reason(known_job(parked_by_key=True))
    assert reason.code == "parked"
    assert "has one now" in reason.text


def test_another_queue_s_run_of_its_key_holds_nothing(fleet: Worker) -> None:
    known_job(concurrency_key="bank")
    assert len(claim()) == 1
    assert only_reason(known_job(concurrency_key="bank", queue="orders")).code == "claimable"
