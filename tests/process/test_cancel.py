"""Cancelling what runs, in real workers."""

from __future__ import annotations

import psutil
import pytest
from django.db import transaction

from conveyor_django import cancel
from conveyor_django.models import Attempt, Job
from tests.support import jobs, stubborn
from tests.support.listening import somebody_listens
from tests.support.processes import running
from tests.support.waits import wait_until

CANCELLED = "conveyor_django.errors.JobCancelled"
# Heartbeats are minutes apart: who hears of something within a test's patience was notified.
LONG_LEASE = 600.0


@pytest.mark.parametrize("task", [stubborn.works, stubborn.works_async], ids=lambda task: task.name)
def test_a_running_handler_is_told_and_stopped(desk, task):
    job = task.enqueue(desk.folder, "job")
    with running("conveyor_worker", lease=LONG_LEASE) as worker:
        desk.wait_started(1)
        assert cancel(job, wait=20) == "cancelled"
        assert not worker.log("child.died")
        assert [entry[1] for entry in desk.lines("cancelled")] == ["job"]
        attempt = Attempt.objects.get()
        assert (attempt.verb, attempt.error_class) == ("cancel", CANCELLED)
        assert "was cancelled while it ran" in attempt.message


def test_an_atomic_one_commits_nothing(desk, effects):
    job = stubborn.works_atomically.enqueue(desk.folder, "job")
    with running("conveyor_worker", lease=LONG_LEASE):
        desk.wait_started(1)
        assert cancel(job, wait=20) == "cancelled"
    assert effects() == []


def test_without_a_notification_the_heartbeat_hears_of_it(desk, all_end):
    stubborn.works.enqueue(desk.folder, "job")
    with running("conveyor_worker", lease=3.0):
        desk.wait_started(1)
        Job.objects.cancel_job(Job.objects.get().pk)
        [job] = all_end()
    assert job.state == "cancelled"
    assert [entry[1] for entry in desk.lines("cancelled")] == ["job"]


def test_what_was_cancelled_while_nobody_listened_is_heard_of_once_somebody_does(desk, all_end, watcher):
    stubborn.works.enqueue(desk.folder, "job")
    with running("conveyor_worker", lease=LONG_LEASE):
        desk.wait_started(1)
        wait_until(somebody_listens, "the listener is there")
        # Without a notification, which nobody would have heard.
        Job.objects.cancel_job(Job.objects.get().pk)
        watcher.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name LIKE 'conveyor %% listener'"
        )
        [job] = all_end()
    assert job.state == "cancelled"


def test_a_success_that_is_first_wins_and_the_caller_is_told(desk, effects, all_end):
    result = jobs.late_effect.enqueue(desk.folder, "job")
    with running("conveyor_worker", lease=LONG_LEASE):
        desk.wait_started(1)
        # Nobody tells the worker, as if the notification were still on its way.
        assert Job.objects.cancel_job(Job.objects.get().pk) == "running"
        desk.go()
        all_end()
    assert cancel(result, wait=1) == "succeeded"
    assert effects() == ["job"]


def test_a_handler_that_does_not_yield_ends_with_its_process(desk):
    job = stubborn.sleeps_for_ever.enqueue(desk.folder, "job")
    with running("conveyor_worker", lease=LONG_LEASE, CONVEYOR_TIMEOUT_GRACE_SECONDS="0.5"):
        [pid] = desk.wait_started(1)
        assert cancel(job, wait=20) == "cancelled"
        assert not psutil.pid_exists(pid)
    attempt = Attempt.objects.get()
    assert (attempt.verb, attempt.error_class) == ("cancel", CANCELLED)


def test_a_job_that_waits_in_a_worker_never_starts(desk):
    """One that was lost before waits there until its neighbours have ended."""
    jobs.gated.enqueue(desk.folder, "neighbour")
    with running("conveyor_worker", lease=LONG_LEASE):
        desk.wait_started(1)
        with transaction.atomic():
            suspect = jobs.quick.enqueue(desk.folder, "suspect")
            suspects = Job.objects.filter(payload__args__1="suspect")
            suspects.update(lost_count=1)
        wait_until(lambda: suspects.filter(state="running").exists(), "it is claimed")
        assert cancel(suspect, wait=20) == "cancelled"
        assert Attempt.objects.get().verb == "cancel"
        desk.go()
    assert desk.lines("start", "suspect") == []
