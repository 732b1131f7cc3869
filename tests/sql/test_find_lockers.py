"""find_lockers: who holds a job's row."""

from __future__ import annotations

import pytest

from conveyor_django.db import Connection
from conveyor_django.managers.looking import LookManager

from ..support.connections import Connect, scalar
from ..support.factories import JobFactory
from ..support.waits import backend_pid

pytestmark = pytest.mark.django_db(transaction=True)

HOLD = "SELECT FROM conveyor_job WHERE id = %s FOR UPDATE"


def test_nobody() -> None:
    assert LookManager().find_lockers(JobFactory().pk) == []


def test_the_one_that_holds_it_and_no_other_job(connect: Connect, watcher: Connection) -> None:
    job, other = JobFactory(), JobFactory()
    holder, bystander = connect("one"), connect("two")
    with holder.transaction(), bystander.transaction():
        holder.execute(HOLD, [job.pk])
        bystander.execute(HOLD, [other.pk])
        began = scalar(watcher, "SELECT xact_start FROM pg_stat_activity WHERE pid = %s", (backend_pid(holder),))
        found = LookManager().find_lockers(job.pk, now=began)
        assert [locker for locker in found if locker.certain] == [
            (backend_pid(holder), "one", "idle in transaction", 0.0, True)
        ]
        assert {locker.pid for locker in found if not locker.certain} == {backend_pid(holder), backend_pid(bystander)}


def test_a_savepoint_s_lock_too(connect: Connect) -> None:
    job, holder = JobFactory(), connect()
    with holder.transaction(), holder.transaction():
        holder.execute(HOLD, [job.pk])
        assert LookManager().find_lockers(job.pk)[0][::4] == (backend_pid(holder), True)
