"""The signal `task_enqueued`, and the framework's log line: sent once the job is stored, whatever a receiver does."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from conveyor_django.compat import FRAMEWORK, has_listeners, task_backends, task_enqueued
from conveyor_django.models import Job

from ..support.produce import anything, plain_add

pytestmark = pytest.mark.django_db


class Heard:
    """A receiver that remembers."""

    def __init__(self, error: Exception | None = None) -> None:
        self.results: list[Any] = []
        self.senders: list[Any] = []
        self.error = error

    def __call__(self, sender: Any, task_result: Any, **_: Any) -> None:
        self.senders.append(sender)
        self.results.append(task_result)
        if self.error is not None:
            raise self.error


@pytest.fixture
def heard(request: pytest.FixtureRequest) -> Any:
    receiver = Heard(getattr(request, "param", None))
    task_enqueued.connect(receiver)
    yield receiver
    task_enqueued.disconnect(receiver)


def test_task_enqueued_is_sent_once_the_job_is_stored(heard: Heard) -> None:
    result = plain_add.enqueue(1)
    assert heard.results == [result]
    assert heard.senders == [type(task_backends["default"])]


def test_the_same_key_again_enqueues_nothing_to_tell_of(heard: Heard) -> None:
    for _ in range(2):
        anything.using(idempotency_key="k").enqueue()
    assert len(heard.results) == 1


def test_a_receivers_error_is_logged_and_the_job_stays(caplog: pytest.LogCaptureFixture) -> None:
    def receiver(**_: Any) -> None:
        raise RuntimeError("the receiver's")

    task_enqueued.connect(receiver)
    try:
        result = plain_add.enqueue(1)
    finally:
        task_enqueued.disconnect(receiver)
    assert result.id == f"default:{Job.objects.get().pk}"
    assert "the receiver's" in caplog.text


@pytest.mark.parametrize("heard", [RuntimeError("the object's")], indirect=True)
def test_the_error_of_a_receiver_without_a_name_is_logged_too(heard: Heard, caplog: pytest.LogCaptureFixture) -> None:
    result = plain_add.enqueue(1)
    assert result.id == f"default:{Job.objects.get().pk}"
    assert heard.results == [result]
    assert "signal.failed" in caplog.text


def test_the_frameworks_log_line_is_written_when_somebody_reads_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, FRAMEWORK):
        result = plain_add.enqueue(1)
    assert f"Task id={result.id} path=tests.support.produce.plain_add enqueued" in caplog.text


def test_nobody_listens_unless_somebody_does(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, FRAMEWORK)
    assert not has_listeners(task_enqueued, logging.DEBUG)
    assert has_listeners(task_enqueued, logging.INFO)
    receiver = Heard()
    task_enqueued.connect(receiver)
    try:
        assert has_listeners(task_enqueued, logging.DEBUG)
    finally:
        task_enqueued.disconnect(receiver)
