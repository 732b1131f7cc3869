"""Outcomes: one for each run, and a success by the newest run alone, which is the last (P2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..story import OWN_ENDINGS, SUCCESS, Story
from ..tables import JobRow
from ..verdict import Violation


def success_and_ledger_differ(story: Story) -> Iterator[Violation]:
    """A job has succeeded if and only if the ledger says so, by the version that the job ended with."""
    for row in story.tables.jobs:
        success = story.successes.get(row.id)
        if (row.state == "succeeded") != (success is not None):
            what = "succeeded, and the ledger does not say so" if success is None else f"{row.state}, with a success"
        elif success is not None and success.lease_version != row.lease_version:
            what = "the success is not that of the last run"
        else:
            continue
        yield Violation(rule="success and ledger differ", job=row.id, message=what, seen=(row, success))


def success_without_a_run(story: Story) -> Iterator[Violation]:
    """A success is that of a run whose handler began and returned, or reached its `effect()`."""
    for success in story.successes.values():
        run = story.run(success.job_id, success.lease_version)
        if run.begin is None:
            what = "no handler began under its token"
        elif run.of("abort") and not run.of("commit"):
            what = "its handler raised"
        elif not run.of("end") and not run.of("commit"):
            what = "its handler did not return"
        else:
            continue
        yield Violation(rule="success without a run", job=run.job, message=what, seen=(success, *run.lines))


def run_after_the_success(story: Story) -> Iterator[Violation]:
    """After a success nothing is claimed: no run has a higher token."""
    for job, success in story.successes.items():
        later = [run for token, run in story.runs.get(job, {}).items() if token > success.lease_version]
        lines = [line for run in later for line in run.lines]
        rows = [
            row for row in (*story.attempts_of(job), *story.ledger_of(job))
            if row.lease_version > success.lease_version
        ]  # fmt: skip
        if lines or rows:
            yield Violation(
                rule="run after the success", job=job, message="a job that had succeeded was claimed again",
                seen=(success, *lines, *rows),
            )  # fmt: skip


def two_outcomes_of_a_run(story: Story) -> Iterator[Violation]:
    """A run ends once."""
    ends = Counter((row.job_id, row.lease_version) for row in story.tables.attempts)
    ends.update((row.job_id, row.lease_version) for row in story.tables.ledger if row.step == SUCCESS)
    for (job, version), count in ends.items():
        if count > 1:
            rows = (*story.attempts_of(job), *story.ledger_of(job))
            yield Violation(
                rule="two outcomes of a run", job=job, message=f"the run of version {version} ended {count} times",
                seen=tuple(row for row in rows if row.lease_version == version),
            )  # fmt: skip


def run_without_an_outcome(story: Story) -> Iterator[Violation]:
    """Every claim is followed by one outcome: a ledger row or an Attempt row, of which the newest are kept."""
    for row in story.tables.jobs:
        if missing := [version for version in _ended_versions(story, row) if not _has_outcome(story, row.id, version)]:
            yield Violation(
                rule="run without an outcome", job=row.id, message=f"nothing says how these versions ended: {missing}",
                seen=(row, *story.attempts_of(row.id)),
            )  # fmt: skip


def outcome_nobody_asked_for(story: Story) -> Iterator[Violation]:
    """A run is ended in its own name only if somebody named it; known of jobs whose workers record what they ask."""
    for job, asks in story.asks.items():
        successes = [row for row in (story.successes.get(job),) if row is not None]
        endings = [row for row in story.attempts_of(job) if row.verb in OWN_ENDINGS]
        for verb, rows in (("succeed", successes), ("end", endings)):
            for row in rows:
                if (row.lease_version, verb) not in asks:
                    yield Violation(
                        rule="outcome nobody asked for", job=job, message=f"run {row.lease_version} was not named",
                        seen=(row,),
                    )  # fmt: skip


def _ended_versions(story: Story, row: JobRow) -> range:
    newest = row.lease_version - (row.state == "running")
    return range(max(1, row.lease_version - story.terms.kept_attempts + 1), newest + 1)


def _has_outcome(story: Story, job: int, version: int) -> bool:
    success = story.successes.get(job)
    return (job, version) in story.attempts or (success is not None and success.lease_version == version)
