"""What the machines share: a connection, the reference, who and what there is, and the comparison of the two."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from conveyor_django.managers.jobs import NewJob
from conveyor_django.models import Job as JobModel

from .entities import ENDED, Job, Token
from .reference import Reference
from .rows import read_rows

if TYPE_CHECKING:
    from conveyor_django.db import Connection

OWNERS: Final = tuple(UUID(int=number) for number in (1, 2, 3))
QUEUES: Final = ("a", "b")
TASKS: Final = ("tests.one", "tests.two")
KEYS: Final = ("red", "blue")
LEASE: Final = 10.0
START: Final = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

owners = st.sampled_from(OWNERS)
queues = st.sampled_from(QUEUES)
# Which of the jobs, those that run first; and how far from its newest version the token is.
places = st.integers(0, 7)
tokens = st.tuples(places, st.sampled_from([0, 0, 0, 0, -1, 1]))
# None: the one who holds the first job named.
holders = st.sampled_from([None, None, None, *OWNERS])


class Ground(RuleBasedStateMachine):
    """One connection that does what all workers, schedulers and people do, one statement after the other.

    Everything happens in one transaction, which is rolled back; instants are the machine's own.
    """

    connection: ClassVar[Connection]

    def __init__(self) -> None:
        super().__init__()
        self.model = Reference()
        self.now = START
        # All delays differ, so that no two jobs are due at one instant and the order of promotion is said.
        self.delays = 0
        self.transaction = self.connection.transaction(force_rollback=True)
        self.transaction.__enter__()
        # Behind all places that were drawn in earlier examples: a sequence does not roll back.
        [self.highest] = JobModel.objects.draw_ready_seqs(1, on=self.connection)

    def teardown(self) -> None:
        """Roll back."""
        self.transaction.__exit__(None, None, None)

    # -- what holds after every step --------------------------------------------------------------------------

    @invariant()
    def the_tables_are_as_the_reference_says(self) -> None:
        """Compare every row; take over the places that were drawn, which are behind all others."""
        snapshot, drawn = read_rows(self.connection)
        assert snapshot == self.model.snapshot()
        for job_id, place in drawn.items():
            job = self.model.jobs[job_id]
            assert job.place == place if job.place is not None else place > self.highest
            job.place = place
        self.highest = max(self.highest, *drawn.values()) if drawn else self.highest

    # -- the parts that they share ----------------------------------------------------------------------------

    def delay(self) -> float:
        """Return some seconds that no other delay has."""
        self.delays += 1
        return 5.0 + self.delays / 1000

    def new_job(self, **fields: Any) -> NewJob:
        """Return a job that can be told from all others by its arguments."""
        defaults = {"queue": "a", "task": TASKS[0], "kwargs": "{}", "max_attempts": 5}
        return NewJob(args=json.dumps([len(self.model.jobs)]), **defaults | fields)

    def accept(self, new: NewJob, job_id: int) -> None:
        """Tell the reference of a job that was accepted."""
        job = Job(
            id=job_id, queue=new.queue, task=new.task, priority=new.priority, max_attempts=new.max_attempts,
            run_at=new.run_at or self.now, state="", key=new.idempotency_key, concurrency_key=new.concurrency_key,
            workflow=new.workflow_id, pending=new.pending_dependencies,
        )  # fmt: skip
        self.model.enqueue(job, self.now)

    def named(self, place: int) -> Job:
        """Return one of the jobs: those that run come first, those that have ended last."""
        order = ("running", "ready", "scheduled", "blocked", *ENDED)
        jobs = sorted(self.model.jobs.values(), key=lambda job: (order.index(job.state), job.id))
        return jobs[place % len(jobs)]

    def given(self, named: list[tuple[int, int]], owner: UUID | None) -> tuple[list[Token], UUID]:
        """Return the tokens named, each once, and whose they are said to be."""
        jobs = [(self.named(place), offset) for place, offset in named]
        given = dict.fromkeys((job.id, max(0, job.version + offset)) for job, offset in jobs)
        return list(given), owner or next((job.owner for job, _ in jobs if job.owner is not None), OWNERS[0])
