"""A run of three jobs and two workers, small enough for TLC to find the behaviour behind its log."""

from __future__ import annotations

from conveyor_django.outcomes import Retry

from ..support.races import MAX_LOST, MAX_RELEASES, A, B
from .runs import Traced


def sample(flow: Traced) -> None:
    """Runs that are lost by lease and by owner, a zombie, a retry, a cancel request, a requeue and a prune."""
    flow.enqueue(3)
    late, kept = flow.claim(A, 2)
    other = flow.claim_one(B)
    flow.renew(A, kept)
    flow.succeed(B, other)
    flow.succeed(A, kept)
    flow.rescue()
    theirs = flow.claim_one(B)
    flow.succeed(A, late)
    flow.end(B, theirs, kind=Retry)
    run = flow.claim_one(A)
    flow.jobs.cancel_job(run.id, on=flow.main)
    flow.end(A, run, kind=Retry)
    flow.jobs.requeue_jobs([run.id], on=flow.main)
    last = flow.claim_one(B)
    flow.jobs.rescue_owner(
        owner=B, started=[last.token], max_lost=MAX_LOST, max_releases=MAX_RELEASES, reason="killed", on=flow.main
    )
    flow.succeed(A, flow.claim_one(A))
