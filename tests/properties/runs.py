"""Jobs and their runs: the verbs of producers, workers, schedulers and supervisors, on queues without settings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Final
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from conveyor_django import outcomes
from conveyor_django.models import Job

from ..support.factories import ERROR
from .claims import ALL, claim_once
from .entities import KEPT_ATTEMPTS, MAX_LOST, MAX_RELEASES
from .ground import LEASE, QUEUES, TASKS, Ground, holders, owners, places, queues, tokens
from .rows import read_rows

VERBS: Final[dict[str, type[outcomes.Ended]]] = {
    "retry": outcomes.Retry, "snooze": outcomes.Snooze, "fail": outcomes.Fail, "cancel": outcomes.Cancel,
    "release": outcomes.Release,
}  # fmt: skip
priorities: Final = st.sampled_from([0, 5])
# The run that is named first, by its right token.
NEWEST: Final = (0, 0)


class RunMachine(Ground):
    """Verbs of single jobs."""

    @initialize(
        jobs=st.lists(st.tuples(queues, priorities), min_size=1, max_size=4), owner=owners, limit=st.integers(0, 4),
        plain=st.booleans(),
    )  # fmt: skip
    def begin(self, jobs: list[tuple[str, int]], owner: UUID, limit: int, plain: bool) -> None:
        """Begin with some jobs, of which some run."""
        for queue, priority in jobs:
            self.enqueue(queue=queue, task=TASKS[0], priority=priority, later=False, key=None)
        self.the_tables_are_as_the_reference_says()
        if limit:
            claim_once(self.model, self.connection, owner, QUEUES, limit, self.now, plain=plain)

    # -- producers --------------------------------------------------------------------------------------------

    @rule(
        queue=queues, task=st.sampled_from(TASKS), priority=priorities, later=st.booleans(),
        key=st.sampled_from([None, None, "k", "l"]),
    )  # fmt: skip
    def enqueue(
        self, queue: str, task: str, priority: int, later: bool, key: str | None, concurrency_key: str | None = None
    ) -> None:
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

    # -- workers ----------------------------------------------------------------------------------------------

    @rule(owner=owners, order=st.permutations(QUEUES), limit=st.integers(1, 4), plain=st.booleans())
    def claim(self, owner: UUID, order: list[str], limit: int, plain: bool) -> None:
        """Claim, with or without a look at caps, keys and pauses."""
        claim_once(self.model, self.connection, owner, order, limit, self.now, plain=plain)

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
            ends, owner=owner, keep=KEPT_ATTEMPTS, max_releases=MAX_RELEASES, now=self.now, on=self.connection
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

    @rule(
        owner=owners,
        how=st.sampled_from(["retry", "snooze", "release", "lost"]),
        times=st.integers(2, 4),
        step=st.booleans(),
        plain=st.booleans(),
    )
    def run_and_come_back(self, owner: UUID, how: str, times: int, step: bool, plain: bool) -> None:
        """Let one job run several times, as far as its budgets go: single verbs seldom come that far."""
        for _ in range(times):
            claim_once(self.model, self.connection, owner, QUEUES, ALL, self.now, plain=plain)
            if not any(job.state == "running" for job in self.model.jobs.values()):
                break
            if step:
                self.record_step(named=NEWEST, owner=None, step="one")
            if how == "lost":
                self.pass_time(seconds=2 * LEASE + 1)
                self.rescue()
            else:
                self.end(named=[(NEWEST, how, False)], owner=None)
            self.the_tables_are_as_the_reference_says()

    # -- schedulers and supervisors ---------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1.0, LEASE / 2, LEASE, 30.0]))
    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        self.now += dt.timedelta(seconds=seconds)

    @rule(which=st.sampled_from([min, max]))
    def promote_at_the_instant(self, which: Callable[..., dt.datetime]) -> None:
        """Let it be the very instant at which the next or the last job is due: not a moment later is it ready."""
        later = [job.run_at for job in self.model.jobs.values() if job.state == "scheduled" and job.run_at > self.now]
        self.now = which(later, default=self.now)
        self.promote()

    @rule()
    def promote(self) -> None:
        """Make due jobs ready, in the order in which they were due."""
        Job.objects.promote_jobs(limit=100, now=self.now, on=self.connection)
        line = [job.id for job in self.model.promote(self.now)]
        _, drawn = read_rows(self.connection)
        assert set(line) <= set(drawn)
        assert sorted(line, key=lambda job: drawn[job]) == line

    @rule()
    def rescue(self) -> None:
        """Take back what has lapsed."""
        rescued = Job.objects.rescue_jobs(limit=100, max_lost=MAX_LOST, now=self.now, on=self.connection)
        assert {job.id for job in rescued} == self.model.rescue(self.now)

    @rule()
    def rescue_at_the_instant(self) -> None:
        """Let it be the very instant until which the next lease lasts: it has not lapsed yet."""
        leases = [job.expires for job in self.model.jobs.values() if job.expires is not None and job.expires > self.now]
        self.now = min(leases, default=self.now)
        self.rescue()

    @precondition(lambda self: self.model.jobs)
    @rule(owner=holders, named=st.lists(tokens, min_size=1, max_size=3), knows=st.booleans())
    def rescue_owner(self, owner: UUID | None, named: list[tuple[int, int]], knows: bool) -> None:
        """Take a dead worker's jobs back: some of them had started, or nobody knows which."""
        given, owner = self.given(named, owner)
        started = given if knows else None
        rescued = Job.objects.rescue_owner(
            owner=owner, started=started, max_lost=MAX_LOST, max_releases=MAX_RELEASES, reason="dead", now=self.now,
            on=self.connection,
        )  # fmt: skip
        assert {job.id: job.lost for job in rescued} == self.model.rescue_owner(owner, started, self.now)

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
