"""conveyor_explain of a job whose row somebody holds: real locks on a second connection."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.models import Job, Worker
from conveyor_django.operate.explain import explain

from ..support.connections import Connect
from ..support.waits import backend_pid
from .conftest import Stage, codes, known_job, only_reason, seconds_ago

pytestmark = pytest.mark.django_db(transaction=True)

HOLD = "SELECT id FROM conveyor_job WHERE id = %s FOR UPDATE"


def test_its_row_is_locked(fleet: Worker, connect: Connect) -> None:
    job, holder = known_job(), connect("somebody's shell")
    with holder.transaction():
        holder.execute(HOLD, [job.pk])
        reason = only_reason(job)
        assert reason.code == "row_locked"
        assert (
            f"by backend {backend_pid(holder)} (somebody's shell, idle in transaction, in a transaction" in reason.text
        )
        assert reason.remedy.endswith(f"SELECT pg_terminate_backend({backend_pid(holder)});")
    assert only_reason(job).code == "claimable"


def test_what_it_says_to_do_helps(fleet: Worker, connect: Connect, watcher) -> None:
    job, holder = known_job(), connect()
    holder.execute("BEGIN")
    holder.execute(HOLD, [job.pk])
    watcher.execute(only_reason(job).remedy.rpartition(": ")[2])
    assert only_reason(job).code == "claimable"


def test_a_lock_that_lets_claims_through_is_none(fleet: Worker, connect: Connect) -> None:
    job, holder = known_job(), connect()
    with holder.transaction():
        holder.execute("SELECT id FROM conveyor_job WHERE id = %s FOR KEY SHARE", [job.pk])
        assert only_reason(job).code == "claimable"


def test_several_that_share_it_are_named_as_such(fleet: Worker, connect: Connect) -> None:
    job, one, other = known_job(), connect(), connect()
    with one.transaction(), other.transaction():
        for holder in (one, other):
            holder.execute("SELECT id FROM conveyor_job WHERE id = %s FOR SHARE", [job.pk])
        reason = only_reason(job)
        assert "by one of these: backend" in reason.text
        assert all(f"backend {backend_pid(holder)}" in reason.text for holder in (one, other))


def test_due_and_lapsed_jobs_too(fleet: Worker, connect: Connect) -> None:
    due, lapsed = known_job(scheduled=True, run_at=seconds_ago(90)), known_job(lapsed=True)
    holder = connect()
    with holder.transaction():
        holder.execute(HOLD, [due.pk])
        holder.execute(HOLD, [lapsed.pk])
        assert codes(explain(due.pk)) == ["due", "row_locked"]
        assert codes(explain(lapsed.pk)) == ["lease_lapsed", "row_locked"]


def test_the_look_itself_holds_nothing(stage: Stage, connect: Connect) -> None:
    job, holder = known_job(), connect()
    # Somebody has touched the row, so that it is tried.
    with holder.transaction():
        holder.execute(HOLD, [job.pk])
    from django.db import transaction

    with transaction.atomic():
        explain(job.pk)
        [claimed] = Job.objects.claim_jobs(owner=uuid.uuid4(), queues={"default": 30.0}, limit=1, on=holder)
    assert claimed.id == job.pk
