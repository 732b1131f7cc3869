"""What was accepted: nothing lost, nothing doubled, nothing mixed up, no end without a reason (P1, P3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ..story import Line, Story
from ..tables import TERMINAL, JobRow
from ..verdict import Violation


def lost(story: Story) -> Iterator[Violation]:
    """An accepted job, or one that ran, has a row for ever, pruning aside."""
    if story.terms.pruned:
        return
    for accept in story.accepts:
        if accept["job"] not in story.jobs:
            yield Violation(rule="lost", job=accept["job"], message="accepted, and it has no row", seen=(accept,))
    accepted = {accept["job"] for accept in story.accepts}
    for job, runs in story.runs.items():
        if job not in story.jobs and job not in accepted:
            lines = tuple(line for run in runs.values() for line in run.lines)
            yield Violation(rule="lost", job=job, message="it ran, and it has no row", seen=lines)


def not_ended(story: Story) -> Iterator[Violation]:
    """Every job has ended: the accepted ones, those whose acceptance nobody heard of, and those of ticks and graphs."""
    accepts: dict[int, list[Line]] = defaultdict(list)
    for accept in story.accepts:
        accepts[accept["job"]].append(accept)
    offers = {line["key"]: line for lines in story.offers.values() for line in lines if line["key"] is not None}
    for row in story.tables.jobs:
        if row.state not in TERMINAL:
            seen = accepts.get(row.id) or [offers[key] for key in (row.idempotency_key,) if key in offers]
            yield Violation(rule="not ended", job=row.id, message=f"still {row.state}", seen=(*seen, row))


def key_made_two_jobs(story: Story) -> Iterator[Violation]:
    """All that is accepted under one key of one queue is one job."""
    if story.terms.pruned:
        # With its row a job loses its key.
        return
    by_key: dict[tuple[str, str], dict[int, Line]] = defaultdict(dict)
    for accept in story.accepts:
        row = story.jobs.get(accept["job"])
        for key in _keys(story, accept["name"]):
            if row is not None:
                by_key[row.queue, key].setdefault(row.id, accept)
    for (queue, key), accepts in by_key.items():
        if len(accepts) > 1:
            yield Violation(
                rule="key made two jobs", job=max(accepts), message=f"key {key!r} of queue {queue!r}",
                seen=(*accepts.values(), *(story.jobs[job] for job in accepts)),
            )  # fmt: skip


def another_s_key(story: Story) -> Iterator[Violation]:
    """An accepted job has the key that it was offered with, or has given it up."""
    for accept in story.accepts:
        row, keys = story.jobs.get(accept["job"]), _keys(story, accept["name"])
        if row is not None and row.idempotency_key is not None and row.idempotency_key not in keys:
            message = f"offered with {', '.join(sorted(keys)) or 'no key'}"
            yield Violation(rule="another's key", job=row.id, message=message, seen=(accept, row))


def another_s_work(story: Story) -> Iterator[Violation]:
    """A run gets the arguments of its own job."""
    for run in story.all_runs():
        names = story.names.get(run.job)
        for begin in run.of("begin"):
            if names and begin["name"] not in names:
                yield Violation(
                    rule="another's work", job=run.job, message=f"accepted as {', '.join(sorted(names))}", seen=(begin,)
                )


def end_without_a_reason(story: Story) -> Iterator[Violation]:
    """A job that ended without success says why."""
    for row in story.tables.jobs:
        last = story.attempts.get((row.id, row.lease_version))
        verb = last.verb if last else None
        if row.state == "failed" and verb not in {"fail", "rescue", "release"}:
            yield Violation(
                rule="end without a reason", job=row.id, message="failed, and its last run did not", seen=(row, last)
            )
        if row.state == "cancelled" and verb != "cancel" and not _may_be_cancelled(story, row):
            yield Violation(rule="end without a reason", job=row.id, message="nobody cancelled it", seen=(row, last))


def _may_be_cancelled(story: Story, row: JobRow) -> bool:
    """Say whether it was asked for, a job that it needs did not succeed, or it is a callback that did not apply."""
    if row.cancel_requested_at is not None or row.workflow_role is not None:
        return True
    needed = [edge.needs_id for edge in story.needs.get(row.id, ()) if edge.on_failure == "cancel"]
    return any(
        job in story.requeued or (parent := story.jobs.get(job)) is None or parent.state in {"failed", "cancelled"}
        for job in needed
    )


def _keys(story: Story, name: str) -> set[str]:
    return {offer["key"] for offer in story.offers.get(name, ()) if offer["key"] is not None}
