"""What the wake-up passes on of what it hears."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from conveyor_django.models import Job
from conveyor_django.notify import CANCEL_CHANNEL, CHANNEL
from conveyor_django.worker.wakeup import Wakeup

pytestmark = pytest.mark.django_db(transaction=True)


class Ear:
    """A wake-up, and what it has passed on."""

    def __init__(self) -> None:
        self.heard: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.errors: list[BaseException] = []
        self.hearing: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.wakeup = Wakeup(
            owner=uuid.uuid4(), on_queue=self.heard.put, on_cancel=self.heard.put,
            on_doubt=lambda: self.heard.put("doubt"), on_hearing=self.hearing.put,
            alias="default", application_name="conveyor test listener",
            lease_seconds=30.0, on_error=lambda _loop, error: self.errors.append(error),
        )  # fmt: skip


@pytest.fixture
def ear() -> Iterator[Ear]:
    made = Ear()
    made.wakeup.start()
    assert made.heard.get(timeout=10) == "doubt"
    yield made
    made.wakeup.stop()
    assert made.wakeup.join(10)
    assert made.errors == []


def test_queues_by_name_and_cancelled_jobs_by_id(ear):
    Job.objects.notify_queues(["42"], channel=CHANNEL)
    Job.objects.notify_cancel(42, channel=CANCEL_CHANNEL)
    assert [ear.heard.get(timeout=10) for _ in range(2)] == ["42", 42]


def test_nonsense_is_no_job(ear, watcher):
    for payload in ("", "x", "-1", "²", "1 2"):
        watcher.execute("SELECT pg_notify(%s, %s)", (CANCEL_CHANNEL, payload))
    Job.objects.notify_cancel(7, channel=CANCEL_CHANNEL)
    assert ear.heard.get(timeout=10) == 7


def test_it_says_whether_it_hears(ear, watcher):
    """Others see by that whether a process polls only."""
    assert ear.hearing.get(timeout=10) is True
    watcher.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'conveyor test listener' AND datname = current_database()"
    )
    assert ear.hearing.get(timeout=10) is False
    assert ear.hearing.get(timeout=10) is True
