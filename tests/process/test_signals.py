"""SIGTERM once: what runs is finished. Twice: the worker is gone at once, and others pick its jobs up."""

from __future__ import annotations

import os
import signal

import pytest

from conveyor_django.models import Attempt, Job, Worker
from conveyor_django.states import JobState
from tests.support import jobs
from tests.support.processes import running
from tests.support.waits import wait_until


def lease_expiries() -> tuple:
    return tuple(Job.objects.filter(state="running").values_list("lease_expires_at", flat=True))


@pytest.mark.parametrize("task", [jobs.gated, jobs.gated_async, jobs.gated_effect])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_jobs_finish_and_claims_no_more(task, number, desk):
    for name in "abc":
        task.enqueue(desk.folder, name)
    # The lease is shorter than the drain: only a heartbeat that goes on keeps the jobs.
    with running("conveyor_worker", "--concurrency", "2", lease=3.0, grace=30.0) as worker:
        desk.wait_started(2)
        worker.signal(number)
        worker.wait_for("worker.stopping")
        wait_until(lambda: Worker.objects.filter(draining=True).exists(), "the heartbeat says draining")
        # Renewed twice while draining: they would be lost by now otherwise.
        seen = {lease_expiries()}
        for _ in range(2):
            wait_until(lambda: not set(lease_expiries()) & set().union(*seen), "the leases are renewed")
            seen.add(lease_expiries())
        desk.go()
        assert worker.wait() == 0
        assert worker.log("worker.totals")[0]["succeeded"] == 2
    assert sorted(Job.objects.values_list("state", flat=True)) == ["ready", "succeeded", "succeeded"]
    assert not Worker.objects.exists()
    assert not Attempt.objects.exists()


def test_a_signal_to_every_process_at_once_is_no_second_signal(desk):
    """As systemd's KillMode=control-group does, and `timeout` to a group."""
    for name in "ab":
        jobs.gated.enqueue(desk.folder, name)
    with running("conveyor_worker", "--concurrency", "2", grace=30.0) as worker:
        desk.wait_started(2)
        for pid in [*worker.child_pids(), worker.pid, worker.pid]:
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: Worker.objects.filter(draining=True).exists(), "the drain has begun")
        desk.go()
        assert worker.wait() == 0
    assert set(Job.objects.values_list("state", "lost_count")) == {("succeeded", 0)}


def test_what_outlives_the_grace_is_given_back_free(desk, all_end):
    jobs.gated.enqueue(desk.folder, "a")
    jobs.gated_async.enqueue(desk.folder, "b")
    with running("conveyor_worker", grace=0.2) as worker:
        desk.wait_started(2)
        assert worker.stop() == 0
    assert set(Job.objects.values_list("state", "attempt", "lost_count", "release_count")) == {("ready", 0, 0, 1)}
    assert set(Attempt.objects.values_list("verb", flat=True)) == {"release"}
    desk.go()
    with running("conveyor_worker", "--drain") as worker:
        assert worker.wait() == 0
    assert {j.state for j in all_end()} == {JobState.SUCCEEDED}


def test_a_second_signal_ends_it_at_once_and_another_worker_picks_up(desk, effects, all_end):
    for name in "abcd":
        jobs.gated_effect.enqueue(desk.folder, name)
    with running("conveyor_worker", "--concurrency", "4", grace=600.0) as worker:
        desk.wait_started(4)
        worker.signal(signal.SIGTERM)
        worker.wait_for("worker.stopping")
        worker.signal(signal.SIGTERM)
        assert worker.wait() != 0
    desk.go()
    with running("conveyor_worker", "--concurrency", "4"):
        ended = all_end()
    assert [(j.state, j.lost_count) for j in ended] == [("succeeded", 1)] * 4
    assert effects() == list("abcd")
