"""`manage.py conveyor_rescue`: whom it takes from, whom it refuses, and what it says."""

from __future__ import annotations

import uuid

import pytest
from django.core.management.base import CommandError
from django.db import connections

from conveyor_django.managers.recovery import Takeover
from conveyor_django.managers.workers import application_name
from conveyor_django.models import Attempt, Job, Worker
from conveyor_django.operate import rescue

from ..support.connections import Connect, scalar
from ..support.factories import JobFactory, WorkerFactory, in_seconds

pytestmark = pytest.mark.django_db(transaction=True)

COMMAND = "conveyor_rescue"
# The session lock counts only once the server has been up for a lease.
SHORT_LEASE = 0.001


@pytest.fixture
def silent() -> Worker:
    """A worker that has said nothing for longer than its lease."""
    return WorkerFactory(host="web1", pid=77, supervisor_pid=70, last_seen=in_seconds(-3600))


@pytest.fixture
def living() -> Worker:
    """A worker that was seen just now, behind a pooler: without a lock."""
    return WorkerFactory(host="web1", pid=78, supervisor_pid=70)


def holds(worker: Worker, **fields: object) -> Job:
    return JobFactory(running=True, lease_owner=worker.pk, **fields)


def test_all_that_a_dead_worker_holds_is_given_back(run, silent, living):
    first, last_try, cancelling = holds(silent), holds(silent, lost_count=2), holds(silent)
    Job.objects.filter(pk=cancelling.pk).update(cancel_requested_at=in_seconds(-1))
    other = holds(living)
    [line] = run(COMMAND, str(silent.pk))
    assert line.startswith(f"default: worker {silent.pk} (web1, pid 77): ended 0 sessions, took back 3 jobs ")
    assert line.endswith("(1 cancelled, 1 failed, 1 ready).")
    states = dict(Job.objects.values_list("pk", "state"))
    assert states == {first.pk: "ready", last_try.pk: "failed", cancelling.pk: "cancelled", other.pk: "running"}
    assert Attempt.objects.get(job=first).message == rescue.REASON
    assert list(Worker.objects.all()) == [living]


@pytest.mark.parametrize("name", ["web1:77", "web1:70"])
def test_by_host_and_pid_its_own_or_its_supervisor_s(run, silent, name):
    holds(silent)
    run(COMMAND, name)
    assert set(Job.objects.values_list("state", flat=True)) == {"ready"}


def test_one_that_is_seen_alive_is_refused_and_nothing_is_changed(run, silent, living):
    for worker in (silent, living):
        holds(worker)
    with pytest.raises(CommandError) as caught:
        # The supervisor's pid means both.
        run(COMMAND, "web1:70")
    assert f"Seen alive: default: worker {living.pk} (web1, pid 78), last seen at " in str(caught.value)
    assert "with a lease of 30 s. To end it in order: conveyor_drain." in str(caught.value)
    assert set(Job.objects.values_list("state", flat=True)) == {"running"}
    assert Worker.objects.count() == 2


def test_with_force_also_one_that_is_seen_alive(run_json, living):
    job = holds(living)
    told = run_json(COMMAND, str(living.pk), "--force")
    assert told == {
        "workers": [
            {
                "database": "default",
                "worker": str(living.pk),
                "sessions": 0,
                "jobs": {"ready": 1},
                "held": 0,
                "done": True,
            }
        ]
    }
    job.refresh_from_db()
    assert (job.state, job.lost_count) == ("ready", 1)
    assert not Worker.objects.exists()


def test_one_whose_session_lock_is_held_lives_however_it_is_looked_at(run, connect: Connect):
    worker = WorkerFactory(lease_seconds=SHORT_LEASE, last_seen=in_seconds(3600), holds_lock=True)
    assert Worker.objects.hold_worker_lock(incarnation=worker.pk, on=connect())
    with pytest.raises(CommandError, match="Seen alive"):
        run(COMMAND, str(worker.pk))


def test_one_whose_session_lock_is_gone_in_two_looks_is_dead(run, settings, monkeypatch):
    settings.CONVEYOR = {"SCHEDULER_SECONDS": 0.002}
    worker = WorkerFactory(lease_seconds=SHORT_LEASE, last_seen=in_seconds(3600), holds_lock=True)
    holds(worker)
    run(COMMAND, str(worker.pk))
    assert Job.objects.get().state == "ready"


def test_a_lock_that_is_missing_for_a_moment_proves_nothing(run, settings, monkeypatch, connect: Connect):
    """Its worker has lost the connection, and locks again on a new one before the second look."""
    settings.CONVEYOR = {"SCHEDULER_SECONDS": 0.002}
    worker, session = WorkerFactory(lease_seconds=SHORT_LEASE, last_seen=in_seconds(3600), holds_lock=True), connect()
    monkeypatch.setattr(
        rescue.time, "sleep", lambda _seconds: Worker.objects.hold_worker_lock(incarnation=worker.pk, on=session)
    )
    with pytest.raises(CommandError, match="Seen alive"):
        run(COMMAND, str(worker.pk))


def test_leases_of_an_incarnation_without_a_row(run):
    job = JobFactory(running=True)
    run(COMMAND, str(job.lease_owner))
    assert Job.objects.get().state == "ready"


def test_its_sessions_are_ended_before_anything_is_given_back(run, silent, connect: Connect, watcher):
    """What a zombie has in flight cannot commit: an open transaction of its is gone when the job is ready (rule 7)."""
    session = connect(application_name(silent.pk, "claim"))
    waiting = JobFactory()
    session.execute("BEGIN")
    Job.objects.claim_jobs(owner=silent.pk, queues={"default": 30.0}, limit=1, on=session)
    held = holds(silent)
    [line] = run(COMMAND, str(silent.pk))
    assert "ended 1 session, took back 1 job (1 ready)" in line
    name = application_name(silent.pk, "claim")
    assert scalar(watcher, "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (name,)) == 0
    rows = dict(Job.objects.values_list("pk", "lease_version"))
    assert rows == {waiting.pk: 0, held.pk: 1}
    assert set(Job.objects.values_list("state", flat=True)) == {"ready"}


def test_a_job_whose_row_is_locked_is_said_to_be_held(run, silent, connect: Connect, monkeypatch, capsys):
    monkeypatch.setattr(rescue, "PATIENCE_SECONDS", 0.1)
    locked, free = holds(silent), holds(silent)
    other = connect()
    with other.transaction():
        other.execute("SELECT 1 FROM conveyor_job WHERE id = %s FOR UPDATE", (locked.pk,))
        with pytest.raises(CommandError, match=f"Not done with default: worker {silent.pk}"):
            run(COMMAND, str(silent.pk))
    assert "took back 1 job (1 ready); it still holds 1 job." in capsys.readouterr().out
    # Its row stays, so that schedulers go on with it.
    assert Worker.objects.exists()
    run(COMMAND, str(silent.pk))
    assert set(Job.objects.values_list("state", flat=True)) == {"ready"}
    assert free in Job.objects.all()


def test_waiting_workers_are_woken(run, silent, connect: Connect):
    listener = connect()
    listener.execute("LISTEN conveyor_ready")
    holds(silent, queue="rung")
    run(COMMAND, str(silent.pk))
    assert [n.payload for n in listener.notifies(timeout=20, stop_after=1)] == ["rung"]


@pytest.mark.parametrize(
    "name",
    ["nobody", "web1:1", "web1:", ":77", "web2:77", "web1:99999999999", f"web1:{'7' * 5000}", str(uuid.UUID(int=1))],
)
def test_a_name_of_nobody(run, silent, name):
    with pytest.raises(CommandError, match="Name one by its uuid or as host:pid") as caught:
        run(COMMAND, name)
    assert repr(name) in str(caught.value)
    assert Worker.objects.count() == 1


def test_on_the_database_that_is_named(run, silent, second):
    holds(silent)
    connections["default"].ensure_connection()
    [line] = run(COMMAND, str(silent.pk), "--database", second)
    assert line.startswith(f"second: worker {silent.pk}")


def test_what_it_claims_in_its_last_moments_is_given_back_free(run, silent, monkeypatch):
    """It lives, and has connected again before the second pass; its jobs must not be lost once for each pass."""
    ran, late = holds(silent), JobFactory()
    really = rescue.take_over

    def with_a_claim_between(**options):
        first = really(**options)
        if not late_claims:
            late_claims.extend(Job.objects.claim_jobs(owner=silent.pk, queues={"default": 30.0}, limit=2))
            return Takeover(rescued=first.rescued, sessions=1, held=2)
        return first

    late_claims: list[object] = []
    monkeypatch.setattr(rescue, "take_over", with_a_claim_between)
    run(COMMAND, str(silent.pk))
    assert dict(Job.objects.values_list("pk", "lost_count")) == {ran.pk: 1, late.pk: 0}
    assert set(Job.objects.values_list("state", "release_count")) == {("ready", 1)}
