"""A worker frozen past its lease, its job finished by another, thawed: nothing of it may count."""

from __future__ import annotations

import os
import signal

import pytest
from django.db import connections

from conveyor_django.models import Attempt, Job, Ledger, Worker
from conveyor_django.states import JobState
from tests.support import jobs
from tests.support.databases import database_url
from tests.support.processes import running
from tests.support.waits import wait_until

WORKER = ("conveyor_worker", "--processes", "1", "--concurrency", "1")


# Of the project's own connections; -c, so that it is the default of what commits by itself too.
SERIALIZABLE = {"options": "-c default_transaction_isolation=serializable"}


# Frozen in a plain handler; in an atomic one that has written, and that has not; between its success and its commit.
@pytest.mark.parametrize(
    ("task", "options"),
    [
        (jobs.gated, {}),
        (jobs.gated_effect, {}),
        (jobs.late_effect, {}),
        (jobs.effect_before_commit, {}),
        (jobs.late_effect, SERIALIZABLE),
        (jobs.effect_before_commit, SERIALIZABLE),
    ],
    ids=lambda value: getattr(value, "name", None) or ("serializable" if value else "default"),
)
def test_a_thawed_zombie_changes_nothing(task, options, desk, effects, all_end):
    job_id = int(task.enqueue(desk.folder, "order").id.split(":")[1])
    url = database_url(OPTIONS=connections["default"].settings_dict["OPTIONS"] | options)
    with running(*WORKER, DATABASE_URL=url) as first:
        [pid] = desk.wait_started(1)
        os.kill(pid, signal.SIGSTOP)
        with running(*WORKER, DATABASE_URL=url) as second:
            # The lease lapses, the job is rescued and started again by the other worker's child.
            desk.wait_started(2)
            desk.go()
            [job] = all_end()
            assert job.state == JobState.SUCCEEDED
            wait_until(lambda: not Worker.objects.filter(pid=pid).exists(), "it is declared dead")

            os.kill(pid, signal.SIGCONT)
            refused = first.wait_for("outcome.refused", job=job_id, version=1)
            assert refused["verb"] in {"succeed", "release", "retry"}
            # It had been declared dead: it leaves and is replaced.
            first.wait_for("worker.stopped", exit="PRUNED")
            first.wait_for("child.started", count=2)
            assert second.log("outcome.refused") == []

    job.refresh_from_db()
    assert (job.state, job.lease_version, job.lost_count, job.attempt) == ("succeeded", 2, 1, 1)
    [row] = Ledger.objects.filter(job_id=job_id)
    assert (row.step, row.lease_version, row.result) == ("", 2, "order")
    assert [a.verb for a in Attempt.objects.filter(job_id=job_id)] == ["rescue"]
    assert effects() == ([] if task is jobs.gated else ["order"])


def test_an_atomic_zombie_cannot_keep_its_locks(desk, effects, all_end):
    """Frozen inside its transaction, it has written a row; the rescuer ends its session (rule 7)."""
    jobs.gated_effect.enqueue(desk.folder, "order")
    with running(*WORKER):
        [pid] = desk.wait_started(1)
        wait_until(lambda: _open_transactions() == 1, "the handler's transaction is open")
        os.kill(pid, signal.SIGSTOP)
        with running(*WORKER):
            desk.wait_started(2)
            assert _open_transactions() <= 1
            desk.go()
            all_end()
        os.kill(pid, signal.SIGCONT)
    assert effects() == ["order"]


def test_a_frozen_child_does_not_keep_its_supervisor_from_stopping(desk, all_end):
    jobs.gated.enqueue(desk.folder, "order")
    with running(*WORKER, "--no-scheduler", grace=0.0) as worker:
        [pid] = desk.wait_started(1)
        os.kill(pid, signal.SIGSTOP)
        assert worker.stop() == 0
        assert worker.log("child.stuck", pid=pid)
        # What it held is taken back before the supervisor is gone.
        assert Job.objects.get().state == JobState.READY


def _open_transactions() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND application_name LIKE 'conveyor %% executor'"
            " AND state LIKE 'idle in transaction%%'"
        )
        return cursor.fetchone()[0]


def test_a_heartbeat_that_comes_late_stops_its_handler(desk, all_end):
    """Frozen for longer than its lease with nobody to rescue it: the handler is interrupted, the job given back."""
    jobs.gated.enqueue(desk.folder, "order")
    with running(*WORKER, "--no-scheduler") as worker:
        [pid] = desk.wait_started(1)
        expires = Job.objects.get().lease_expires_at
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: _database_now() > expires, "the lease has lapsed")
        os.kill(pid, signal.SIGCONT)
        worker.wait_for("lease.lost")
        worker.wait_for("job.released")
        desk.go()
        [job] = all_end()
    assert (job.state, job.attempt, job.release_count) == ("succeeded", 1, 1)


def _database_now():
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
