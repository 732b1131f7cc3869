"""A worker stopped before and after each statement of a job's life, its job ended by another, let go: nothing doubles.

Its lease lapses while it stands; whoever can take the job over does, and runs it to its end; then it goes on. In half
of the tests the rescuer also ends its sessions, in the other half it leaves them, so that a zombie that has locked the
job's row keeps it until it goes on, and may then be the one that ends it. What all of them did is held against the
model of the protocol (`tests/trace`).
"""

from __future__ import annotations

from collections import Counter

import pytest

from conveyor_django.db import Connection
from conveyor_django.managers.release import sweep_until_clean
from conveyor_django.models import Job, Ledger
from conveyor_django.outcomes import Answer

from ..support.bench import delete_jobs
from ..support.connections import Connect
from ..support.factories import in_seconds
from ..trace.check import check
from ..trace.log import clear, read_log
from ..trace.model import Rules
from .conftest import ONE_AT_ONCE
from .harness import Side, Stop, Worker, Zombie
from .lives import LIVES, Life

MORE_THAN_ANY = 100
MAX_LOST = 99
# What the model that the log is held against has to know.
RULES = Rules(max_lost=MAX_LOST)


@pytest.mark.parametrize("rescuer", ["leaves its sessions", "ends its sessions"])
@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("name", LIVES)
def test_wherever_it_stops_nothing_is_doubled_and_nothing_lost(
    name: str, side: Side, rescuer: str, main: Connection, connect: Connect
) -> None:
    life = LIVES[name]
    connection = None
    if life.capped:
        main.execute(ONE_AT_ONCE, prepare=False)
    for at in range(1, MORE_THAN_ANY):
        delete_jobs(main)
        main.execute("DELETE FROM test_effect")
        clear(main)
        life.enqueue()
        zombie = Zombie(Stop(at, side), connect, connection, together=life.together)
        stands = zombie.begin()
        if stands:
            take_over(main)
            if rescuer == "ends its sessions":
                zombie.cut_off(main)
                take_over(main)
        zombie.end()
        connection = zombie.own
        # It may have given the job back, or have kept others from it until now.
        take_over(main)
        assert_ended_once(life, zombie, main)
        assert check(read_log(main), RULES) is None, zombie.stop.where
        if not stands:
            break
    assert at > life.least, f"the hook has seen {at - 1} statements only"


def take_over(main: Connection) -> None:
    """Rescue what is held, its lease lapsed; run what is ready to its end."""
    Job.objects.rescue_jobs(limit=10, max_lost=MAX_LOST, now=in_seconds(3600), on=main)
    while True:
        sweep_until_clean(alias="default", on=main)
        Job.objects.unpark_jobs(Job.objects.list_parked_keys(limit=100, on=main), on=main)
        if not Worker(lambda: main).live():
            break


def assert_ended_once(life: Life, zombie: Zombie, main: Connection) -> None:
    """Fail unless the job has ended well, each effect is there as often as promised, and one run alone has ended it."""
    where = zombie.stop.where
    job = Job.objects.earliest("pk")
    assert not Job.objects.filter(workflow_role=None).exclude(state="succeeded").exists(), where
    counts = Counter(name for (name,) in main.execute("SELECT name FROM test_effect").fetchall())
    assert {effect: counts[effect] for effect in life.once} == dict.fromkeys(life.once, 1), where
    assert set(counts) == {*life.once, *life.repeated}, where
    ledger = Ledger.objects.filter(job_id=job.pk)
    rows = dict(ledger.values_list("step", "lease_version"))
    assert ledger.count() == len(rows)
    assert set(rows) == {"", *life.steps}, where
    worker = zombie.worker
    if worker.claimed is not None and rows[""] != worker.claimed.version:
        # Another run has ended the job; what it recorded and wrote before it was stopped may count, its end does not.
        assert worker.answer is Answer.LOST, where
    else:
        assert worker.answer in {Answer.WON, Answer.WON_BEFORE, None}, where
    life.check()
