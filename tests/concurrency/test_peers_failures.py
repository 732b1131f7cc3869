"""What goes wrong in other queues, each in the same circumstances: with a guard as theirs is, and with ours.

`theirs` are statements of this test, on rows of a transaction that is rolled back: they show that the circumstances are
those in which it goes wrong. Races in the middle of a statement are in `late.py` and `scenarios.py`.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from django.db import connection, transaction

from conveyor_django.models import Attempt, Job, Worker
from conveyor_django.outcomes import Answer

from ..support import jobs
from ..support.processes import Desk, running
from ..support.races import A, B, Race, Seen
from ..support.waits import wait_until
from .late import assert_untouched

LOST = Answer.LOST

COMPLETE_BY_STATE = """
    UPDATE conveyor_job SET state = 'succeeded', finished_at = now(), lease_owner = NULL, lease_expires_at = NULL
    WHERE id = %s AND state = 'running'
"""
RESCUE_BY_ID = """
    UPDATE conveyor_job SET state = 'ready', finished_at = NULL, lease_owner = NULL, lease_expires_at = NULL
    WHERE id = %s
"""
RENEW_BY_STATE = """
    UPDATE conveyor_job SET lease_expires_at = lease_expires_at + interval '2 hours'
    WHERE id = %s AND state = 'running'
"""

RESET_STALLED = """
    UPDATE conveyor_job SET state = 'ready', lease_owner = NULL, lease_expires_at = NULL
    WHERE id = %s AND state = 'running' AND NOT EXISTS (
        SELECT FROM conveyor_worker AS worker WHERE worker.incarnation = lease_owner AND NOT worker.draining)
"""


def theirs(race: Race, statement: str, job_id: int) -> Seen:
    """Return what the job's row would be after a peer's statement; nothing of it stays."""
    race.main.execute("BEGIN")
    # Without this project's triggers, which would refuse it too.
    race.main.execute("SET LOCAL session_replication_role = replica")
    race.main.execute(statement, (job_id,))
    seen = race.job(job_id)
    race.main.execute("ROLLBACK")
    return seen


def test_the_old_attempt_completes_the_newer_one(race: Race) -> None:
    """A completion guarded by id and state: the job runs, so whoever says that it is done is believed."""
    [old] = race.enqueue_and_claim(A)
    newer = race.take_over(B)
    assert theirs(race, COMPLETE_BY_STATE, old.id).state == "succeeded"
    assert race.succeed(A, old) == [LOST]
    assert_untouched(race, newer, B)


def test_the_rescuer_reopens_a_finished_job(race: Race) -> None:
    """A rescuer reads which leases have lapsed and takes those jobs back by id: one of them has succeeded meanwhile."""
    [run] = race.enqueue_and_claim(A)
    rescuer = race.connect()
    with race.gate("rescue_jobs") as held_up:
        rescuing = race.sides.start(rescuer, held_up.rescue)
        # It has its snapshot, in which the lease has lapsed.
        rescuing.wait_until_blocked()
        assert race.succeed(A, run) == [Answer.WON]
        assert theirs(race, RESCUE_BY_ID, run.id).state == "ready"
    assert rescuing.result() == []
    assert race.job(run.id).state == "succeeded"
    assert race.claim(B) == []
    assert race.effects(run.id) == [(A, run.version)]


def test_the_heartbeat_renews_another_s_lease(race: Race) -> None:
    """A heartbeat that renews by id: the one who was deposed keeps its successor's lease alive, dead or not."""
    [mine] = race.enqueue_and_claim(A)
    newer = race.take_over(B)
    lease = race.job(newer.id).expires_at
    assert theirs(race, RENEW_BY_STATE, newer.id).expires_at != lease
    assert race.renew(A, mine) == [LOST]
    assert race.job(newer.id).expires_at == lease
    # So that B's job comes back if B is dead.
    assert [rescued.version for rescued in race.rescue()] == [newer.version]


LEASE = 3.0


@pytest.mark.fault
@pytest.mark.django_db(transaction=True)
def test_the_draining_worker_is_counted_stalled(tmp_path: Path) -> None:
    """A drain that ends the heartbeat: who is no active worker is stalled, and its jobs run a second time meanwhile.

    Here a second worker, with a scheduler, stands by all the time.
    """
    desk = Desk(tmp_path)
    jobs.gated.enqueue(desk.folder, "a")
    alone = ("--concurrency", "1", "--no-scheduler")
    with running("conveyor_worker", *alone, lease=LEASE, grace=60.0) as draining:
        [pid] = desk.wait_started(1)
        with running("conveyor_worker", lease=LEASE) as other:
            other.wait_for("worker.started")
            # Active, it would be left alone by them too.
            assert reset_by_them().state == "running"
            draining.signal(signal.SIGTERM)
            draining.wait_for("worker.stopping")
            wait_until(lambda: Worker.objects.filter(draining=True).exists(), "the heartbeat says draining")
            begun = leased_until()
            wait_until(lambda: leased_until() - begun > 2 * LEASE, "it has drained for two leases")
            assert reset_by_them().state == "ready"
            desk.go()
            assert draining.wait() == 0
    job = Job.objects.get()
    assert (job.state, job.lease_version, job.lost_count) == ("succeeded", 1, 0)
    assert not Attempt.objects.exists()
    assert desk.lines("start") == [["start", "a", str(pid)]]


def reset_by_them() -> Job:
    """Return the one job as a peer's rescuer would leave it; nothing of it stays."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(RESET_STALLED, (Job.objects.get().id,))
        seen = Job.objects.get()
        transaction.set_rollback(True)
    return seen


def leased_until() -> float:
    """Return when the draining worker's lease ends, in seconds; fail if it is not its own any more."""
    job = Job.objects.get()
    assert (job.state, job.lease_version) == ("running", 1), f"taken from the worker that drains: {job}"
    assert job.lease_expires_at is not None
    return job.lease_expires_at.timestamp()
