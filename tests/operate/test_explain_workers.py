"""conveyor_explain of ready jobs that wait for a worker, or for its turn."""

from __future__ import annotations

from typing import Any

import pytest

from conveyor_django.models import Worker

from ..support.factories import AttemptFactory, JobFactory
from .conftest import ROLES, Later, Stage, known_job, only_reason, seconds_ago

pytestmark = pytest.mark.django_db


def test_nothing_is_against_it(fleet: Worker) -> None:
    reason = only_reason(known_job())
    assert reason.code == "claimable"
    assert "host:17 should do so at once" in reason.text


def test_no_worker_is_alive(stage: Stage) -> None:
    reason = only_reason(known_job())
    assert reason.code == "no_worker"
    assert reason.remedy == "Start one: manage.py conveyor_worker --queues default --database default"


def test_a_worker_that_was_not_seen_for_a_lease_is_none(stage: Stage) -> None:
    stage.worker(now=seconds_ago(31))
    reason = only_reason(known_job())
    assert reason.code == "no_worker"
    assert "Not seen for longer than their lease: host:17." in reason.text


def test_no_worker_takes_from_its_queue(stage: Stage) -> None:
    stage.worker("orders", "mail")
    job = known_job()
    reason = only_reason(job)
    assert reason.code == "queue_without_worker"
    assert "1 worker serves 'mail' and 'orders'" in reason.text
    stage.worker("mail")
    assert "2 workers serve 'mail' and 'orders'" in only_reason(job).text


@pytest.mark.parametrize("drain", [{"draining": True}, {"drain_requested_at": seconds_ago(1)}])
def test_its_workers_drain(stage: Stage, drain: dict[str, Any]) -> None:
    stage.worker("orders")
    stage.worker("default", **drain)
    assert only_reason(known_job()).code == "workers_draining"


def test_all_slots_are_in_use(stage: Stage) -> None:
    worker, other = stage.worker("default", slots=2), stage.worker("orders", slots=100)
    job = known_job()
    known_job(running=True, lease_owner=worker.pk)
    known_job(running=True, lease_owner=other.pk)
    assert only_reason(job).code == "claimable"
    oldest = known_job(running=True, lease_owner=worker.pk, claimed_at=seconds_ago(600))
    reason = only_reason(job)
    assert reason.code == "slots_in_use"
    assert "all 2 slots of host:17 are in use" in reason.text
    assert f"The longest run there, job {oldest.pk}" in reason.remedy
    assert "has taken 10 min" in reason.remedy


def test_its_workers_run_nothing_beside_a_suspect(stage: Stage) -> None:
    worker = stage.worker()
    known_job(running=True, lease_owner=worker.pk, lost_count=1)
    job = known_job()
    assert only_reason(job).code == "workers_with_suspect"
    stage.worker()
    assert only_reason(job).code == "claimable"


def test_it_was_lost_before_itself(fleet: Worker) -> None:
    reason = only_reason(known_job(lost_count=2))
    assert reason.code == "suspect"
    assert "2 runs of it were lost with the worker" in reason.text


def test_others_are_ahead_of_it(fleet: Worker) -> None:
    known_job()
    job = known_job()
    known_job(priority=1)
    known_job(), known_job(priority=-1), known_job(queue="orders"), known_job(parked_by_key=True)
    reason = only_reason(job)
    assert reason.code == "ahead_in_line"
    assert reason.text.startswith("2 jobs of its queue are in line before it")


def test_its_task_is_unknown_to_a_live_worker(fleet: Worker) -> None:
    AttemptFactory(
        job=known_job(scheduled=True), owner=fleet.pk, verb="release", message="task 'x.y' is unknown to this worker",
        error_class="conveyor_django.errors.UnknownTask",
    )  # fmt: skip
    reason = only_reason(known_job())
    assert reason.code == "task_unknown"
    assert reason.text == "host:17 did not know its task: task 'x.y' is unknown to this worker"


def test_its_task_was_unknown_to_a_worker_that_is_gone(fleet: Worker) -> None:
    AttemptFactory(job=known_job(scheduled=True), verb="release", error_class="conveyor_django.errors.UnknownTask")
    assert only_reason(known_job()).code == "claimable"


def test_its_task_is_unknown_here(fleet: Worker) -> None:
    reason = only_reason(JobFactory(task="tests.support.produce.nothing"))
    assert reason.code == "task_unknown"
    assert "has no attribute 'nothing'" in reason.text


def test_its_worker_s_listener_is_gone(stage: Stage) -> None:
    stage.worker(roles=[role for role in ROLES if role != "listener"], started_at=seconds_ago(60))
    reason = only_reason(known_job())
    assert reason.code == "listener_deaf"
    assert "host:17: its listening session is gone" in reason.text


def test_a_listener_that_may_still_come_is_not_gone(stage: Stage) -> None:
    stage.worker(roles=["heartbeat"])
    assert only_reason(known_job()).code == "claimable"


def test_its_worker_s_listener_says_nothing(stage: Stage, later: Later) -> None:
    worker = stage.worker()
    job = known_job()
    assert only_reason(job).code == "claimable"
    later(40)
    assert Worker.objects.beat_worker(incarnation=worker.pk, draining=False, holds_lock=True)
    reason = only_reason(job)
    assert reason.code == "listener_deaf"
    assert "has not said a word for" in reason.text


def test_its_worker_is_behind_a_pooler(stage: Stage) -> None:
    stage.worker(roles=(), holds_lock=False)
    reason = only_reason(known_job())
    assert reason.code == "listener_deaf"
    assert "a pooler stands between" in reason.text


def test_one_worker_that_hears_is_enough(stage: Stage) -> None:
    stage.worker(roles=(), holds_lock=False)
    stage.worker()
    assert only_reason(known_job()).code == "claimable"
