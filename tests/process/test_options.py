"""The worker's options, and what it does with jobs that are odd."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import pytest

from conveyor_django.models import Attempt, Job, Ledger
from conveyor_django.states import JobState
from testproject.shop import tasks as shop_tasks
from tests.support import jobs
from tests.support.databases import process_environment
from tests.support.listening import somebody_listens
from tests.support.processes import running
from tests.support.waits import wait_until


def test_drain_ends_when_nothing_is_left(desk):
    for i in range(20):
        jobs.quick.enqueue(desk.folder, f"n{i}")
    with running("conveyor_worker", "--drain", "--processes", "2") as worker:
        assert worker.wait() == 0
    assert set(Job.objects.values_list("state", flat=True)) == {"succeeded"}
    assert len(desk.lines("start")) == 20


def test_once_runs_one_job(desk):
    for name in "ab":
        jobs.quick.enqueue(desk.folder, name)
    with running("conveyor_worker", "--once") as worker:
        assert worker.wait() == 0
    assert list(Job.objects.order_by("id").values_list("state", flat=True)) == ["succeeded", "ready"]


def test_once_with_nothing_to_do_ends_too():
    with running("conveyor_worker", "--once") as worker:
        assert worker.wait() == 0


def test_max_jobs_replaces_the_child(desk, all_end):
    for i in range(7):
        jobs.quick.enqueue(desk.folder, f"n{i}")
    with running("conveyor_worker", "--max-jobs", "3", "--concurrency", "2") as worker:
        all_end()
        worker.wait_for("child.ended", count=2, exit="RECYCLE")
    runs = Counter(pid for _, _, pid in desk.lines("start"))
    assert sorted(runs.values()) == [1, 3, 3]
    assert not Attempt.objects.exists()


def test_max_rss_replaces_the_child():
    with running("conveyor_worker", "--max-rss", "1") as worker:
        worker.wait_for("worker.too_big")
        worker.wait_for("child.ended", exit="RECYCLE")
        worker.wait_for("child.started", count=2)


def test_reload_restarts_the_children_when_a_file_changes():
    with running("conveyor_worker", "--reload") as worker:
        worker.wait_for("worker.started")
        # What an editor's save does to a file's time, without changing this project's file.
        os.utime(shop_tasks.__file__)
        worker.wait_for("code.changed")
        worker.wait_for("worker.started", count=2)


def test_queues_that_are_not_named_are_left_alone(desk, all_end):
    jobs.quick.enqueue(desk.folder, "here")
    jobs.quick.using(queue_name="orders").enqueue(desk.folder, "there")
    with running("conveyor_worker", "--queues", "orders", "--drain") as worker:
        assert worker.wait() == 0
    assert [e[1] for e in desk.lines("start")] == ["there"]


def test_an_unknown_task_waits_and_says_so():
    jobs.quick.enqueue("/nowhere", "x")
    Job.objects.update(task="tests.support.jobs.not_deployed_yet")
    with running("conveyor_worker", "--no-scheduler") as worker:
        line = worker.wait_for("job.released")
        assert "not_deployed_yet" in line["error"]
    job = Job.objects.get()
    assert (job.state, job.attempt) == ("scheduled", 0)
    assert "Deploy the code" in Attempt.objects.first().message


def test_a_failing_job_is_retried_and_then_failed_with_its_history(desk, all_end):
    jobs.fails.enqueue(desk.folder, "x")
    with running("conveyor_worker"):
        [job] = all_end()
    assert (job.state, job.attempt) == ("failed", 3)
    assert list(Attempt.objects.order_by("lease_version").values_list("verb", flat=True)) == [
        "retry",
        "retry",
        "fail",
    ]
    attempt = Attempt.objects.last()
    assert attempt.error_class == "builtins.ValueError"
    assert attempt.message == "x always fails"
    assert "raise ValueError" in attempt.traceback
    assert not Ledger.objects.exists()


def test_a_result_that_postgresql_refuses_is_scrubbed_and_its_neighbours_are_not_harmed(desk, all_end):
    jobs.returns_nul.enqueue()
    jobs.quick.enqueue(desk.folder, "x")
    with running("conveyor_worker"):
        ended = all_end()
    assert {j.state for j in ended} == {JobState.SUCCEEDED}
    assert Ledger.objects.get(job=ended[0]).result == "a\ufffdb\ufffd"


def test_a_job_starts_when_it_is_enqueued_not_when_the_poll_comes(desk):
    """With a poll of ten minutes, only the notification can bring it in time."""
    with running("conveyor_worker", "--poll", "600") as worker:
        worker.wait_for("worker.started")
        wait_until(somebody_listens, "the worker listens")
        jobs.quick.enqueue(desk.folder, "x")
        desk.wait_started(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--processes", "0"], "argument --processes: must be a whole number of at least 1, not '0'"),
        (["--concurrency", "x"], "argument --concurrency: must be a whole number of at least 1, not 'x'"),
        (["--database", "nowhere"], "'nowhere' is not in DATABASES"),
        (["--queues", "typo"], "typo"),
    ],
)
def test_a_bad_option_is_named(arguments, message):
    done = subprocess.run(
        [sys.executable, "-m", "testproject", "conveyor_worker", *arguments],
        env=process_environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert message in done.stderr
