"""The wake-up, heard on a real connection: after the commit, once a queue and window, never in the way."""

from __future__ import annotations

import datetime as dt
import logging

import pytest
from django.db import connection, transaction
from pytest_django import Settings

from conveyor_django import notify, requeue, run_now
from conveyor_django.managers.jobs import JobManager
from conveyor_django.models import Job
from conveyor_django.preparing import USES_BEFORE

from ..support.connections import Connect
from ..support.factories import JobFactory
from ..support.produce import anything
from .conftest import Rung

pytestmark = pytest.mark.django_db(transaction=True)

# The longest there is: no test lasts as long.
LONG_WINDOW = {"NOTIFY_WINDOW_SECONDS": 60}
NO_WINDOW = {"NOTIFY_WINDOW_SECONDS": 0}


@pytest.fixture(autouse=True)
def any_queue(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": []}}
    settings.CONVEYOR = NO_WINDOW


def test_an_enqueue_without_a_transaction_rings_at_once(rung: Rung) -> None:
    anything.enqueue()
    assert rung() == ["default"]


def test_inside_a_transaction_nothing_rings_before_the_commit(rung: Rung) -> None:
    with transaction.atomic():
        anything.enqueue()
        assert rung() == []
    assert rung() == ["default"]


def test_a_transaction_rings_each_queue_once(rung: Rung) -> None:
    with transaction.atomic():
        for place in range(20):
            anything.using(queue_name=f"q{place % 2}").enqueue()
        assert len(connection.run_on_commit) == 2
    assert sorted(rung()) == ["q0", "q1"]


def test_each_transaction_rings_anew(rung: Rung) -> None:
    for _ in range(2):
        with transaction.atomic():
            anything.enqueue()
    assert rung() == ["default", "default"]


def test_a_rollback_rings_nothing(rung: Rung) -> None:
    with transaction.atomic():
        anything.enqueue()
        transaction.set_rollback(True)
    anything.using(queue_name="after").enqueue()
    assert rung() == ["after"]


def test_a_hook_lost_with_its_savepoint_is_replaced(rung: Rung) -> None:
    with transaction.atomic():
        with transaction.atomic():
            anything.enqueue()
            transaction.set_rollback(True)
        anything.enqueue()
    assert rung() == ["default"]


def test_a_hook_of_a_released_savepoint_is_enough(rung: Rung) -> None:
    with transaction.atomic():
        for _ in range(3):
            with transaction.atomic():
                anything.enqueue()
        assert len(connection.run_on_commit) == 1
    assert rung() == ["default"]


def test_a_job_for_later_rings_nobody(rung: Rung) -> None:
    anything.using(run_after=dt.datetime(2100, 1, 1, tzinfo=dt.UTC)).enqueue()
    anything.using(queue_name="after").enqueue()
    assert rung() == ["after"]


def test_only_the_first_of_a_window_rings(settings: Settings, rung: Rung) -> None:
    settings.CONVEYOR = LONG_WINDOW
    for _ in range(3):
        anything.enqueue()
        anything.using(queue_name="other").enqueue()
    assert rung() == ["default", "other"]


def test_the_same_key_again_rings_nobody(rung: Rung) -> None:
    keyed = anything.using(idempotency_key="k")
    keyed.enqueue()
    assert rung() == ["default"]
    keyed.enqueue()
    assert rung() == []


def test_run_now_rings_once_it_has_made_something_ready(rung: Rung) -> None:
    job = JobFactory(scheduled=True)
    assert run_now(job.pk)
    assert rung() == ["default"]
    assert not run_now(job.pk)
    assert rung() == []


def test_requeue_rings(rung: Rung) -> None:
    jobs = [JobFactory(failed=True, queue=queue) for queue in ("b", "a", "b")]
    with transaction.atomic():
        assert requeue(*[job.pk for job in jobs]) == sorted(job.pk for job in jobs)
        assert rung() == []
    assert rung() == ["a", "b"]


def test_notify_now_on_a_connection_of_ones_own(rung: Rung, connect: Connect) -> None:
    notify.notify_now(["a", "b", "a"], alias="default", on=connect())
    assert rung() == ["a", "b"]


def test_nothing_to_ring_asks_the_database_nothing(doorbell: notify.Doorbell, connect: Connect) -> None:
    dead = connect()
    dead.close()
    notify.notify_now([], on=dead)


def test_a_lost_ring_is_logged_raises_nothing_and_is_made_up_for(
    settings: Settings, rung: Rung, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    settings.CONVEYOR = LONG_WINDOW
    dead = connect()
    dead.close()
    with caplog.at_level(logging.WARNING, "conveyor.notify"):
        notify.notify_now(["default"], on=dead)
    assert [record.conveyor["event"] for record in caplog.records] == ["notify.failed"]
    assert "queues=default" in caplog.text
    assert "closed" in caplog.text
    anything.enqueue()
    assert rung() == ["default"]


class TestInOneRoundTrip:
    """Where the enqueue is prepared, its ring goes behind it, in the same round trip."""

    @pytest.fixture(autouse=True)
    def prepared_alone(self, rung: Rung, monkeypatch: pytest.MonkeyPatch) -> None:
        for _ in range(USES_BEFORE + 1):
            anything.enqueue()
        rung()
        monkeypatch.setattr(JobManager, "notify_queues", self.refuse)

    def refuse(self, *args: object, **options: object) -> None:
        raise AssertionError("a ring of its own")

    def test_the_ring_comes_with_the_job(self, rung: Rung) -> None:
        anything.enqueue()
        assert rung() == ["default"]

    def test_each_queue_rings_once_in_a_window(self, settings: Settings, rung: Rung) -> None:
        settings.CONVEYOR = LONG_WINDOW
        notify.doorbell.reset()
        anything.enqueue()
        anything.using(queue_name="other").enqueue()
        assert rung() == ["default", "other"]
        assert notify.doorbell.first_of_window("default", ["default", "other", "third"], 60.0) == ["third"]

    def test_a_job_for_later_rings_nobody(self, rung: Rung) -> None:
        anything.using(run_after=dt.datetime(2100, 1, 1, tzinfo=dt.UTC)).enqueue()
        anything.using(queue_name="after").enqueue()
        assert rung() == ["after"]

    def test_a_key_that_is_taken_rings_for_nothing_and_no_window_begins(self, settings: Settings, rung: Rung) -> None:
        settings.CONVEYOR = LONG_WINDOW
        keyed = anything.using(idempotency_key="k")
        first = keyed.enqueue()
        notify.doorbell.reset()
        assert keyed.enqueue().id == first.id
        assert notify.doorbell.due_at("default", "default", 60.0) is not None

    def test_one_that_fails_is_logged_and_the_next_rings(
        self, settings: Settings, rung: Rung, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        settings.CONVEYOR = LONG_WINDOW
        notify.doorbell.reset()
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "conveyor.notify"):
            patch.setattr(notify, "CHANNEL", "")
            anything.enqueue()
        assert [record.conveyor["event"] for record in caplog.records] == ["notify.failed"]
        assert Job.objects.count() == USES_BEFORE + 2
        anything.enqueue()
        assert rung() == ["default"]


def test_a_transaction_by_hand_is_left_to_the_poll(rung: Rung) -> None:
    transaction.set_autocommit(False)
    try:
        anything.enqueue()
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert rung() == []
    assert Job.objects.filter(state="ready").count() == 1
