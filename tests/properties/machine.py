"""Drives the statements with random verbs, workers and instants, and holds the tables against the reference."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from conveyor_django import outcomes
from conveyor_django.managers.jobs import NewJob
from conveyor_django.managers.workflows import Edge as NewEdge
from conveyor_django.managers.workflows import WorkflowManager
from conveyor_django.models import Job
from conveyor_django.states import OnFailure

from ..support.factories import ERROR
from . import reference
from .claims import claim_everything, claim_once, unpark
from .reference import ENDED, MAX_LOST, MAX_RELEASES, Edge, Reference, Token
from .rows import read_rows

if TYPE_CHECKING:
    from conveyor_django.db import Connection

OWNERS: Final = tuple(UUID(int=number) for number in (1, 2, 3))
QUEUES: Final = ("a", "b")
TASKS: Final = ("tests.one", "tests.two")
KEYS: Final = ("red", "blue")
LEASE: Final = 10.0
START: Final = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
VERBS: Final[dict[str, type[outcomes.Ended]]] = {
    "retry": outcomes.Retry, "snooze": outcomes.Snooze, "fail": outcomes.Fail, "cancel": outcomes.Cancel,
    "release": outcomes.Release,
}  # fmt: skip

owners = st.sampled_from(OWNERS)
queues = st.sampled_from(QUEUES)
# Which of the jobs, those that run first; and how far from its newest version the token is.
places = st.integers(0, 7)
tokens = st.tuples(places, st.sampled_from([0, 0, 0, 0, -1, 1]))
# None: the one who holds the first job named.
holders = st.sampled_from([None, None, None, *OWNERS])
policies = st.sampled_from(list(OnFailure))


class JobMachine(RuleBasedStateMachine):
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
        self.highest = 0
        self.workflows: list[int] = []
        self.transaction = self.connection.transaction(force_rollback=True)
        self.transaction.__enter__()

    def teardown(self) -> None:
        """Roll back."""
        self.transaction.__exit__(None, None, None)

    @initialize(in_queues=st.lists(queues, min_size=1, max_size=4), owner=owners, limit=st.integers(0, 4))
    def begin(self, in_queues: list[str], owner: UUID, limit: int) -> None:
        """Begin with some jobs, of which some run."""
        # Behind all places that were drawn in earlier examples: a sequence does not roll back.
        [self.highest] = Job.objects.draw_ready_seqs(1, on=self.connection)
        for queue in in_queues:
            self.enqueue(queue=queue, task=TASKS[0], priority=0, later=False, key=None, concurrency_key=None)
        self.the_tables_are_as_the_reference_says()
        if limit:
            claim_once(self.model, self.connection, owner, QUEUES, limit, self.now)

    # -- producers --------------------------------------------------------------------------------------------

    @rule(
        queue=queues, task=st.sampled_from(TASKS), priority=st.sampled_from([0, 0, 5]), later=st.booleans(),
        key=st.sampled_from([None, None, "k", "l"]), concurrency_key=st.sampled_from([None, None, *KEYS]),
    )  # fmt: skip
    def enqueue(self, queue: str, task: str, priority: int, later: bool, key: Any, concurrency_key: Any) -> None:
        """Accept a job, unless its key is taken."""
        run_at = self.now + dt.timedelta(seconds=self.delay()) if later else None
        new = self.new_job(
            queue=queue, task=task, priority=priority, run_at=run_at, idempotency_key=key,
            concurrency_key=concurrency_key,
        )  # fmt: skip
        taken = self.model.has_key(queue, key)
        accepted = Job.objects.enqueue_job(new, now=self.now, on=self.connection)
        assert (accepted is None) == taken
        if accepted is not None:
            self.accept(new, accepted.id)

    @rule(
        queue=queues, later=st.booleans(), policy=policies, other=policies, shape=st.sampled_from(["chain", "join"])
    )  # fmt: skip
    def enqueue_workflow(self, queue: str, later: bool, policy: OnFailure, other: OnFailure, shape: str) -> None:
        """Accept three jobs: one after the other, or one after two."""
        manager = WorkflowManager().db_manager("default")
        workflow = manager.add_workflow("w", now=self.now, on=self.connection)
        needs = [(1, 0, policy), (2, 1, other)] if shape == "chain" else [(2, 0, policy), (2, 1, other)]
        pending = [sum(child == number for child, _, _ in needs) for number in range(3)]
        run_at = self.now + dt.timedelta(seconds=self.delay()) if later else None
        jobs = [
            self.new_job(
                queue=queue, workflow_id=workflow, pending_dependencies=count, run_at=run_at if number == 2 else None
            )
            for number, count in enumerate(pending)
        ]  # fmt: skip
        accepted = Job.objects.enqueue_jobs(jobs, now=self.now, on=self.connection)
        ids = [job.id for job in accepted if job is not None]
        edges = [NewEdge(ids[child], ids[parent], on_failure) for child, parent, on_failure in needs]
        manager.add_edges(edges, on=self.connection)
        for new, job_id in zip(jobs, ids, strict=True):
            self.accept(new, job_id)
        self.workflows.append(workflow)
        self.model.edges += [Edge(edge.job, edge.needs, edge.on_failure.value) for edge in edges]

    # -- workers ----------------------------------------------------------------------------------------------

    @rule(owner=owners, order=st.permutations(QUEUES), limit=st.integers(1, 4), plain=st.booleans())
    def claim(self, owner: UUID, order: list[str], limit: int, plain: bool) -> None:
        """Claim, with or without a look at caps, keys and pauses."""
        claim_once(self.model, self.connection, owner, order, limit, self.now, plain=plain)

    @rule(owner=owners)
    def claim_all(self, owner: UUID) -> None:
        """Claim until nothing comes any more: then nothing is left that may run."""
        claim_everything(self.model, self.connection, owner, QUEUES, self.now)

    @precondition(lambda self: self.model.jobs)
    @rule(named=st.lists(tokens, min_size=1, max_size=3), owner=holders, lease=st.sampled_from([LEASE, 2 * LEASE]))
    def renew(self, named: list[tuple[int, int]], owner: UUID | None, lease: float) -> None:
        """Renew leases, right ones and wrong ones."""
        given, owner = self.given(named, owner)
        answers = Job.objects.renew_leases(dict.fromkeys(given, lease), owner=owner, now=self.now, on=self.connection)
        assert answers == {token: self.model.renew(token, owner, lease, self.now) for token in given}

    @precondition(lambda self: self.model.jobs)
    @rule(named=st.lists(tokens, min_size=1, max_size=3), owner=holders)
    def succeed(self, named: list[tuple[int, int]], owner: UUID | None) -> None:
        """End runs as succeeded, also those that are somebody else's by now."""
        given, owner = self.given(named, owner)
        ends = [outcomes.Succeed(id=job, version=version) for job, version in given]
        answers = Job.objects.succeed_jobs(ends, owner=owner, now=self.now, on=self.connection)
        assert answers == {token: self.model.succeed(token, owner, self.now) for token in given}

    @precondition(lambda self: self.model.jobs)
    @rule(
        named=st.lists(st.tuples(tokens, st.sampled_from(list(VERBS)), st.booleans()), min_size=1, max_size=3),
        owner=holders,
    )
    def end(self, named: list[tuple[tuple[int, int], str, bool]], owner: UUID | None) -> None:
        """End runs in the other ways."""
        given, owner = self.given([token for token, _, _ in named], owner)
        how = dict(zip(given, ((verb, self.delay() if later else 0.0) for _, verb, later in named), strict=False))
        ends = [
            VERBS[verb](id=token[0], version=token[1], error=ERROR, delay=delay) for token, (verb, delay) in how.items()
        ]
        answers, _ = Job.objects.end_attempts(
            ends, owner=owner, keep=reference.KEPT_ATTEMPTS, max_releases=MAX_RELEASES, now=self.now, on=self.connection
        )
        assert answers == {token: self.model.end(token, owner, *how[token], self.now) for token in given}

    @precondition(lambda self: self.model.jobs)
    @rule(named=tokens, owner=holders, step=st.sampled_from(["one", "two"]))
    def record_step(self, named: tuple[int, int], owner: UUID | None, step: str) -> None:
        """Record a durable step, and ask for the fence."""
        [token], owner = self.given([named], owner)
        held = Job.objects.hold_fence(token, owner=owner, on=self.connection)
        assert held == self.model.holds(token, owner)
        answer, _ = Job.objects.record_step(token, step, None, owner=owner, now=self.now, on=self.connection)
        assert answer == self.model.record_step(token, owner, step)

    @rule(owner=owners, named=st.lists(tokens, max_size=3))
    def release_unknown(self, owner: UUID, named: list[tuple[int, int]]) -> None:
        """Give back what a worker holds and does not know."""
        known = self.given(named, owner)[0] if self.model.jobs else []
        rows = Job.objects.release_unknown(
            owner=owner, known=known, max_releases=MAX_RELEASES, now=self.now, on=self.connection
        )
        assert {row[0] for row in rows} == self.model.release_unknown(owner, known, self.now)

    # -- schedulers and supervisors ---------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1.0, LEASE / 2, LEASE, 30.0]))
    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self.now += dt.timedelta(seconds=seconds)

    @rule()
    def promote(self) -> None:
        """Make due jobs ready, in the order in which they were due."""
        Job.objects.promote_jobs(limit=100, now=self.now, on=self.connection)
        line = [job.id for job in self.model.promote(self.now)]
        _, drawn = read_rows(self.connection)
        assert sorted(line, key=lambda job: drawn[job]) == line

    @rule()
    def rescue(self) -> None:
        """Take back what has lapsed."""
        rescued = Job.objects.rescue_jobs(limit=100, max_lost=MAX_LOST, now=self.now, on=self.connection)
        assert {job.id for job in rescued} == self.model.rescue(self.now)

    @rule(owner=owners, named=st.none() | st.lists(tokens, max_size=3))
    def rescue_owner(self, owner: UUID, named: list[tuple[int, int]] | None) -> None:
        """Take a dead worker's jobs back; `named` had started, nobody knows where it is None."""
        started = self.given(named, owner)[0] if named is not None and self.model.jobs else None
        rescued = Job.objects.rescue_owner(
            owner=owner, started=started, max_lost=MAX_LOST, max_releases=MAX_RELEASES, reason="dead", now=self.now,
            on=self.connection,
        )  # fmt: skip
        assert {job.id: job.lost for job in rescued} == self.model.rescue_owner(owner, started, self.now)

    @rule()
    def unpark(self) -> None:
        """Put back in line what had made way."""
        unpark(self.connection)

    # -- people -----------------------------------------------------------------------------------------------

    @precondition(lambda self: self.model.jobs)
    @rule(place=places)
    def cancel(self, place: int) -> None:
        """Cancel a job."""
        job = self.named(place)
        assert Job.objects.cancel_job(job.id, now=self.now, on=self.connection) == self.model.cancel(job.id, self.now)

    @precondition(lambda self: self.model.jobs)
    @rule(named=st.lists(places, min_size=1, max_size=3))
    def requeue(self, named: list[int]) -> None:
        """Make jobs run again."""
        ids = [job.id for job in (self.named(place) for place in named)]
        again = Job.objects.requeue_jobs(ids, now=self.now, on=self.connection)
        assert set(again) == self.model.requeue(ids, self.now)

    @precondition(lambda self: self.workflows)
    @rule(place=places, verb=st.sampled_from(["cancel", "retry"]))
    def cancel_or_retry_workflow(self, place: int, verb: str) -> None:
        """Cancel a workflow, or run what of it did not succeed again."""
        workflow, manager = self.workflows[place % len(self.workflows)], WorkflowManager().db_manager("default")
        if verb == "cancel":
            states = manager.cancel_workflow(workflow, now=self.now, on=self.connection)
            assert states == self.model.cancel_workflow(workflow, self.now)
        else:
            dead = manager.lock_dead_jobs(workflow, on=self.connection)
            again = manager.retry_workflow(dead, now=self.now, on=self.connection)
            assert {job.id: job.state for job in again} == self.model.retry_workflow(workflow, self.now)

    @rule(queue=queues, paused=st.booleans(), cap=st.sampled_from([None, 1, 2]), key_cap=st.sampled_from([None, 1, 2]))
    def set_queue(self, queue: str, paused: bool, cap: int | None, key_cap: int | None) -> None:
        """Change a queue's settings."""
        self.execute(
            "INSERT INTO conveyor_queue (name, paused, exact_cap, key_cap) VALUES (%s, %s, %s, %s) ON CONFLICT (name) "
            "DO UPDATE SET paused = excluded.paused, exact_cap = excluded.exact_cap, key_cap = excluded.key_cap",
            queue, paused, cap, key_cap,
        )  # fmt: skip
        self.model.queues[queue] = reference.Queue(paused=paused, exact_cap=cap, key_cap=key_cap)

    @rule(task=st.sampled_from(TASKS))
    def pause_or_resume(self, task: str) -> None:
        """Pause a task, or let it go on."""
        if task in self.model.paused_tasks:
            self.execute("DELETE FROM conveyor_pausedtask WHERE task = %s", task)
        else:
            self.execute("INSERT INTO conveyor_pausedtask (task, paused_at) VALUES (%s, now())", task)
        self.model.paused_tasks ^= {task}

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
        job = reference.Job(
            id=job_id, queue=new.queue, task=new.task, priority=new.priority, max_attempts=new.max_attempts,
            run_at=new.run_at or self.now, state="", key=new.idempotency_key, concurrency_key=new.concurrency_key,
            workflow=new.workflow_id, pending=new.pending_dependencies,
        )  # fmt: skip
        self.model.enqueue(job, self.now)

    def named(self, place: int) -> reference.Job:
        """Return one of the jobs: those that run come first, those that have ended last."""
        order = ("running", "ready", "scheduled", "blocked", *ENDED)
        jobs = sorted(self.model.jobs.values(), key=lambda job: (order.index(job.state), job.id))
        return jobs[place % len(jobs)]

    def given(self, named: list[tuple[int, int]], owner: UUID | None) -> tuple[list[Token], UUID]:
        """Return the tokens named, each once, and whose they are said to be."""
        jobs = [(self.named(place), offset) for place, offset in named]
        given = dict.fromkeys((job.id, max(0, job.version + offset)) for job, offset in jobs)
        return list(given), owner or next((job.owner for job, _ in jobs if job.owner is not None), OWNERS[0])

    def execute(self, query: str, *params: Any) -> None:
        """Run a statement that is none of Conveyor's."""
        with self.connection.cursor() as cursor:
            cursor.execute(query, params)  # type: ignore[arg-type]
