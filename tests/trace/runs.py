"""Small real runs, by the managers, each a part of the protocol: what logs are made of, to be accepted or altered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conveyor_django.managers.release import sweep_until_clean
from conveyor_django.outcomes import Cancel, Fail, Release, Retry, Snooze
from conveyor_django.states import OnFailure, WorkflowRole

from ..concurrency.caps import KEY, look, make, set_cap
from ..concurrency.flows import Flow
from ..support.factories import in_seconds, new_job
from ..support.races import MAX_LOST, MAX_RELEASES, A, B


class Traced(Flow):
    """A flow whose members are added in one transaction, as the builder adds them."""

    def add(self, *parents: int, on: Any = None, **options: Any) -> int:
        """Add a job with its edges."""
        if on is not None:
            return super().add(*parents, on=on, **options)
        with self.transaction() as adding:
            return super().add(*parents, on=adding, **options)

    def run_to_the_end(self) -> None:
        """Run what is ready, and finish what has ended, until nothing changes."""
        while runs := self.claim(A, 10):
            self.succeed(A, *runs)
            sweep_until_clean(alias="default", on=self.main)

    def lose_until_failed(self) -> None:
        """Claim and rescue the one job until it is lost once too often."""
        for _ in range(MAX_LOST + 1):
            if not self.claim(A):
                return
            self.rescue()
        raise AssertionError("its losses are not counted")


def success(flow: Traced) -> None:
    """Claim, renewal, two steps, success."""
    [run] = flow.enqueue_and_claim(A)
    flow.renew(A, run)
    flow.jobs.record_step(run.token, "pay", '"paid"', owner=A, on=flow.main)
    flow.jobs.record_step(run.token, "send", None, owner=A, on=flow.main)
    flow.succeed(A, run)


def in_one_commit(flow: Traced) -> None:
    """An effect and its success, of an atomic handler; and the next claim with the outcomes of the last batch."""
    runs = flow.enqueue_and_claim(A, 2)
    flow.enqueue()
    with flow.transaction() as atomic:
        flow.record(A, runs[0], on=atomic)
        write_effect(atomic, runs[0])
        flow.succeed(A, runs[0], on=atomic)
    with flow.transaction() as turn:
        flow.end(A, runs[1], on=turn)
        again = flow.claim(A, 2, on=turn)
    flow.succeed(A, *again)


def write_effect(on: Any, run: Any) -> None:
    """Write an effect as the workload's handlers do."""
    on.execute(
        "INSERT INTO test_effect (name, job, token, step) VALUES ('n', %s, %s, '')",
        (run.id, run.version),
        prepare=False,
    )


def endings(flow: Traced) -> None:
    """Each ending without success, then a success; one that is cancelled while it runs."""
    flow.enqueue()
    for kind in (Retry, Snooze, Release, Retry):
        flow.end(A, flow.claim_one(A), kind=kind)
    flow.succeed(A, flow.claim_one(A))
    failed, cancelled, asked = flow.enqueue_and_claim(A, 3)
    flow.end(A, failed, kind=Fail)
    flow.end(A, cancelled, kind=Cancel)
    flow.jobs.cancel_job(asked.id, on=flow.main)
    flow.end(A, asked, kind=Retry)


def schedule(flow: Traced) -> None:
    """A job for later, promoted; one cancelled before; a retry with a delay."""
    flow.jobs.enqueue_jobs([new_job(run_at=in_seconds(60))] * 2, on=flow.main)
    [first, second] = [row[0] for row in flow.main.execute("SELECT id FROM conveyor_job ORDER BY id").fetchall()]
    flow.jobs.cancel_job(second, on=flow.main)
    flow.jobs.promote_jobs(limit=10, now=in_seconds(61), on=flow.main)
    run = flow.claim_one(A)
    assert run.id == first
    flow.succeed(A, run)


def lost_runs(flow: Traced) -> None:
    """Rescued by lease and by owner, given back after a reconnect, lost too often, and a zombie that says so late."""
    [mine] = flow.enqueue_and_claim(A)
    theirs = flow.take_over(B)
    flow.succeed(A, mine)
    flow.jobs.rescue_owner(owner=B, started=[], max_lost=3, max_releases=MAX_RELEASES, reason="killed", on=flow.main)
    flow.end(B, theirs)
    flow.claim_one(A)
    flow.jobs.release_unknown(owner=A, known=[], max_releases=MAX_RELEASES, on=flow.main)
    flow.lose_until_failed()


def by_hand(flow: Traced) -> None:
    """Cancel, requeue, replace, prune."""
    failing, waiting = flow.enqueue(2)
    flow.end(A, flow.claim_one(A), kind=Fail)
    flow.jobs.cancel_job(waiting, on=flow.main)
    flow.jobs.requeue_jobs([failing, waiting], on=flow.main)
    flow.succeed(A, *flow.claim(A, 2))
    [keyed] = flow.jobs.enqueue_jobs([new_job(idempotency_key="k")], on=flow.main)
    assert keyed is not None
    with flow.transaction() as replacing:
        flow.jobs.replace_job(keyed.id, idempotency_key="k", on=replacing)
        flow.jobs.enqueue_jobs([new_job(idempotency_key="k")], on=replacing)
    flow.jobs.prune_jobs(limit=10, retention=0, failed_retention=0, now=in_seconds(1), on=flow.main)


def graph(flow: Traced) -> None:
    """Two parents of one child, one of them late; callbacks; and a sweep."""
    first, second = flow.add(), flow.add()
    flow.add(first, second)
    flow.add(role=WorkflowRole.ON_SUCCESS)
    flow.add(role=WorkflowRole.ON_FAILURE)
    runs = flow.run_all()
    flow.succeed(A, runs[first], runs[second])
    late = flow.add(first)
    flow.resolve(first)
    flow.run_to_the_end()
    assert flow.seen(late) == ("succeeded", 0)


def broken_graph(flow: Traced) -> None:
    """A parent fails: one child goes on, the other is cancelled with what needs it; then all of it is run again."""
    top = flow.add()
    flow.add(top, on_failure=OnFailure.RUN)
    cancelled = flow.add(top)
    flow.add(cancelled)
    flow.add(role=WorkflowRole.ON_FAILURE)
    flow.end(A, flow.claim_one(A), kind=Fail)
    flow.run_to_the_end()
    with flow.transaction() as retrying:
        flow.workflows.lock_workflow(flow.workflow, on=retrying)
        dead = flow.workflows.lock_dead_jobs(flow.workflow, on=retrying)
        assert len(flow.workflows.retry_workflow(dead, on=retrying)) == 3
    flow.run_to_the_end()
    flow.workflow = flow.workflows.add_workflow("another", on=flow.main)
    child = flow.add(flow.add())
    flow.workflows.cancel_workflow(flow.workflow, on=flow.main)
    flow.jobs.requeue_jobs([child], on=flow.main)
    flow.run_to_the_end()
    flow.jobs.prune_jobs(limit=99, retention=0, failed_retention=0, now=in_seconds(1), on=flow.main)
    flow.workflows.prune_workflows(limit=9, retention=0, failed_retention=0, now=in_seconds(2), on=flow.main)


def capped_key(flow: Traced) -> None:
    """Three jobs of one key, one at once; the others are parked and put back."""
    make(flow, "k", 1)
    flow.jobs.enqueue_jobs([new_job(concurrency_key="k") for _ in range(3)], on=flow.main)
    for _ in range(3):
        [run] = look(flow, A).jobs
        assert look(flow, B).jobs == []
        flow.succeed(A, run)
        flow.jobs.unpark_jobs([KEY], on=flow.main)
    flow.jobs.prune_permits(limit=9, idle=60.0, now=in_seconds(3600), on=flow.main)


def capped_queue(flow: Traced) -> None:
    """Five jobs in a queue with a cap of two, lowered to one while two run."""
    set_cap(flow, "exact_cap", 2)
    flow.enqueue(5)
    runs = look(flow, A).jobs
    assert len(runs) == 2
    flow.main.execute("UPDATE conveyor_queue SET exact_cap = 1")
    flow.succeed(A, runs[0])
    assert look(flow, B).jobs == []
    flow.succeed(A, runs[1])
    for _ in range(3):
        flow.succeed(A, *look(flow, A).jobs)


RUNS: dict[str, Callable[[Traced], None]] = {
    run.__name__: run
    for run in (
        success, in_one_commit, endings, schedule, lost_runs, by_hand, graph, broken_graph, capped_key, capped_queue,
    )
}  # fmt: skip
