"""kill -9: of a child, of a whole tree; jobs that kill; supervisors that vanish."""

from __future__ import annotations

import os
import signal
from collections import Counter

import psutil

from conveyor_django.models import Attempt, Job, Ledger, Worker
from conveyor_django.states import JobState
from tests.support import jobs
from tests.support.processes import running
from tests.support.waits import wait_until


def kill_tree(worker) -> None:
    for pid in [worker.pid, *worker.child_pids()]:
        os.kill(pid, signal.SIGKILL)
    worker.wait()


def test_a_killed_child_is_replaced_and_its_jobs_rescued_at_once(desk, effects, all_end):
    """With a lease of ten minutes: nobody waits for it."""
    for name in "abcd":
        jobs.late_effect.enqueue(desk.folder, name)
    with running("conveyor_worker", "--concurrency", "4", "--no-scheduler", lease=600.0) as worker:
        pids = desk.wait_started(4)
        os.kill(pids[0], signal.SIGKILL)
        worker.wait_for("child.died", pid=pids[0], signal="SIGKILL", started=4)
        desk.go()
        ended = all_end()
    assert [(j.state, j.lost_count, j.attempt) for j in ended] == [("succeeded", 1, 1)] * 4
    assert effects() == list("abcd")
    assert Ledger.objects.count() == 4
    assert Counter(Attempt.objects.values_list("verb", "message")) == {
        ("rescue", "its worker was killed by SIGKILL"): 4
    }


def test_a_killed_tree_is_noticed_by_its_lock_long_before_its_lease(desk, effects, all_end, capsys):
    names = [f"job{i}" for i in range(8)]
    for name in names:
        jobs.late_effect.enqueue(desk.folder, name)
    with running("conveyor_worker", "--processes", "2", "--concurrency", "4", lease=20.0) as first:
        desk.wait_started(8)
        # The rule about restarted servers: a lock's absence counts once the server is older than a lease.
        wait_until(lambda: _server_age() > 20.0, "the server is older than a lease", patience=40.0)
        with running("conveyor_worker", "--processes", "2", "--concurrency", "4", lease=20.0) as second:
            second.wait_for("worker.started", count=2)
            kill_tree(first)
            killed_at = _database_now()
            desk.go()
            ended = all_end()
            last_start = max(j.claimed_at for j in ended)
    seconds = (last_start - killed_at).total_seconds()
    with capsys.disabled():
        print(f"\nkill -9 of the tree to the last rescued start: {seconds:.2f} s (lease 20 s)")
    assert [(j.state, j.lost_count) for j in ended] == [("succeeded", 1)] * 8
    assert effects() == sorted(names)


def test_a_job_that_kills_its_worker_fails_with_its_history(desk, all_end):
    """It is bounded by its losses, and runs alone after the first: its neighbours succeed."""
    for i in range(4):
        jobs.quick.enqueue(desk.folder, f"n{i}")
    jobs.poison.enqueue(desk.folder, "poison")
    for i in range(4, 8):
        jobs.gated.enqueue(desk.folder, f"n{i}")
    desk.go()
    with running("conveyor_worker", "--concurrency", "3", lease=600.0):
        ended = {j.payload.args[1]: j for j in all_end(patience=60.0)}
    poisoned = ended.pop("poison")
    assert poisoned.state == JobState.FAILED
    assert (poisoned.lost_count, poisoned.lease_version) == (3, 3)
    assert list(Attempt.objects.filter(job=poisoned).values_list("verb", flat=True)) == ["rescue"] * 3
    assert {j.state for j in ended.values()} == {"succeeded"}
    assert max(j.lost_count for j in ended.values()) <= 1


def test_claimed_neighbours_that_had_not_started_pay_nothing(desk, all_end):
    """A job lost before waits until it can run alone; when that run kills the process, the waiting one is free."""
    first = jobs.poison.enqueue(desk.folder, "p1")
    second = jobs.poison.enqueue(desk.folder, "p2")
    Job.objects.filter(pk__in=[int(r.id.split(":")[1]) for r in (first, second)]).update(lost_count=1)
    with running("conveyor_worker", "--concurrency", "2", lease=600.0):
        ended = all_end(patience=60.0)
    assert [(j.state, j.lost_count) for j in ended] == [("failed", 3)] * 2
    verbs = Counter(Attempt.objects.values_list("verb", flat=True))
    # Each was given back free when the other killed the process that had claimed both.
    assert verbs["rescue"] == 4
    assert verbs["release"] >= 1
    assert {j.release_count for j in ended} != {0}


def test_children_end_when_their_supervisor_is_killed(desk, all_end):
    jobs.gated.enqueue(desk.folder, "order")
    with running("conveyor_worker", "--processes", "2", "--concurrency", "1") as worker:
        worker.wait_for("worker.started", count=2)
        desk.wait_started(1)
        children = [psutil.Process(pid) for pid in worker.child_pids()]
        os.kill(worker.pid, signal.SIGKILL)
        desk.go()
        _gone, alive = psutil.wait_procs(children, timeout=20)
        assert alive == []
    [job] = all_end()
    # What ran came to its end; nothing was lost.
    assert (job.state, job.lost_count) == ("succeeded", 0)
    assert not Worker.objects.exists()


def _database_now():
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]


def _server_age() -> float:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::float8")
        return cursor.fetchone()[0]
