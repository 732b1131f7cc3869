"""The order along every edge: nobody runs before what it needs has ended (rule 10).

A job that was made to run again by hand (`requeue`) excuses its edges: it may run before, or after, what it needs.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..story import Line, Story
from ..tables import TERMINAL, EdgeRow, JobRow
from ..verdict import Violation


def dependant_too_early(story: Story) -> Iterator[Violation]:
    """A dependant's first begin comes after the last record of the run that ended what it needs."""
    for edge, parent, begin in _edges(story):
        if parent.state not in TERMINAL:
            yield _early(edge, "what it needs has not ended", begin, parent)
        elif (ended := _ended(story, parent)) is not None and begin.number < ended.number:
            yield _early(edge, "it began before what it needs had ended", begin, ended)


def dependant_of_a_failure_ran(story: Story) -> Iterator[Violation]:
    """A dependant that is to be cancelled with what it needs does not run."""
    for edge, parent, begin in _edges(story):
        if parent.state in {"failed", "cancelled"} and edge.on_failure == "cancel":
            yield Violation(
                rule="dependant of a failure ran", job=edge.job_id, message=f"it needs job {edge.needs_id}",
                seen=(parent, begin),
            )  # fmt: skip


def _edges(story: Story) -> Iterator[tuple[EdgeRow, JobRow, Line]]:
    """Return each edge with the job needed and the first begin of the one that needs it."""
    for edge in story.tables.edges:
        parent = story.jobs.get(edge.needs_id)
        begins = [run.begin for run in story.runs.get(edge.job_id, {}).values() if run.begin is not None]
        if parent is not None and begins and story.requeued.isdisjoint((edge.job_id, edge.needs_id)):
            yield edge, parent, min(begins, key=lambda line: line.number)


def _ended(story: Story, parent: JobRow) -> Line | None:
    """Return the last record before the outcome of a job's last run, if that run's own outcome ended it.

    A run that was lost or given back may go on recording for as long as it likes.
    """
    run = story.run(parent.id, parent.lease_version)
    return run.last if story.has_won(run) else None


def _early(edge: EdgeRow, message: str, *seen: object) -> Violation:
    return Violation(rule="dependant too early", job=edge.job_id, message=f"{message} (job {edge.needs_id})", seen=seen)
