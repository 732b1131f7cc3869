"""Storing what a block has built: the workflow, its jobs and their edges, in one transaction or not at all."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from ..compat import announce, has_listeners, task_enqueued
from ..conf import conveyor_settings
from ..counting import count_stored
from ..enqueue import check_transaction, jobs_of
from ..errors import InvalidWorkflow, describe
from ..managers.release import follow_up
from ..managers.workflows import Edge
from ..notify import notify_now, notify_on_commit
from ..results import accepted_result
from ..spans.send import send_all
from ..states import JobState
from ..transactions import joined
from .control import no_such
from .graph import is_id
from .members import JobHandle

if TYPE_CHECKING:
    from ..managers.jobs import Accepted, NewJob
    from ..managers.workflows import WorkflowManager
    from ..spans.send import Sending
    from .builder import WorkflowBuilder
    from .members import Member

# Jobs that one statement inserts.
CHUNK: Final = 1000


def store(builder: WorkflowBuilder) -> None:
    """Enqueue a block's jobs, in the caller's transaction if there is one on their database.

    Raises InvalidWorkflow, ForeignTransaction and LeaseLost; nothing is stored then, and the caller's transaction is
    as it was.
    """
    alias = builder.alias
    if not builder.members:
        raise InvalidWorkflow(f"{builder} has no jobs: add at least one in the block, or do not open it.")
    order = builder.order()
    check_transaction(str(builder), alias)
    jobs = (member.job for member in [*builder.members, *builder.callbacks.values()])
    with (send := send_all(jobs, alias=alias, settings=conveyor_settings())), joined(alias):
        _Store(builder, order, send).run()


class _Store:
    """One block on its way into the database; its transaction is open."""

    def __init__(self, builder: WorkflowBuilder, order: list[int], send: Sending) -> None:
        from ..models import Workflow

        self._send = send
        self._builder = builder
        self._order = order
        self._alias = builder.alias
        self._jobs = jobs_of(self._alias)
        self._workflows: WorkflowManager = Workflow.objects.db_manager(self._alias)
        self._accepted: dict[int, Accepted] = {}

    def run(self) -> None:
        """Store everything, and see that it is told of after the commit."""
        workflow_id = self._workflow()
        outside = self._outside(workflow_id)
        self._refuse_taken_names(workflow_id)
        for chunk in _chunks(self._order):
            self._insert(workflow_id, chunk)
        self._workflows.add_edges(list(self._edges(outside)))
        self._insert_callbacks(workflow_id)
        ids = {place: accepted.id for place, accepted in self._accepted.items()}
        self._send.has_stored_all(list(ids.values()), workflow=workflow_id)
        self._wake(set(outside.values()), workflow_id)
        self._builder.stored(workflow_id, ids)
        self._announce()

    # -- the workflow --------------------------------------------------------------------------------------

    def _workflow(self) -> int:
        """Begin a workflow, or hold the one that is added to. Raises LeaseLost and InvalidWorkflow."""
        builder = self._builder
        if (joined := builder.stored_id) is None:
            return self._workflows.add_workflow(builder.name or "")
        if builder.hold is not None:
            builder.hold()
        goes_on = self._workflows.join_workflow(joined)
        if goes_on is None:
            raise no_such(joined, self._alias)
        if not goes_on:
            raise InvalidWorkflow(
                f"workflow {joined} is finished: every job of it has ended. Add jobs while it goes on, best from one "
                f"of its own jobs by context.workflow(), or make a new workflow."
            )
        return joined

    # -- its stored jobs -----------------------------------------------------------------------------------

    def _outside(self, workflow_id: int) -> dict[Any, int]:
        """Return {what after= names: id} of the needed jobs that are stored already. Raises InvalidWorkflow."""
        wanted = {
            self._named(need.job, member.handle): member.handle
            for member in self._builder.members
            for need in member.needs
            if self._builder.place_of(need.job, member.handle) is None
        }
        found = self._by_id(workflow_id, [given for given in wanted if not isinstance(given, str)])
        found |= self._by_name(workflow_id, [given for given in wanted if isinstance(given, str)])
        for given, handle in wanted.items():
            if given not in found:
                kind = "name" if isinstance(given, str) else "id"
                raise InvalidWorkflow(
                    f"{handle} needs {given!r}, but {self._builder} has no job of that {kind} on database "
                    f"{self._alias!r}."
                )
        return found

    def _named(self, given: Any, needing: JobHandle) -> int | str:
        """Return the id or the name by which ``after=`` names a stored job. Raises InvalidWorkflow for others."""
        named = given.stored_id if isinstance(given, JobHandle) else given
        if isinstance(named, str) or (isinstance(named, int) and is_id(named)):
            return named
        raise InvalidWorkflow(
            f"{needing} needs {describe(given)}, which names no job: pass a handle, a name or a job's id."
        )

    def _refuse_taken_names(self, workflow_id: int) -> None:
        names = [member.handle.name for member in self._builder.members if member.handle.name is not None]
        if taken := sorted(self._by_name(workflow_id, names)):
            raise InvalidWorkflow(
                f"{self._builder} has a job named {taken[0]!r} already; give the new one another name."
            )

    def _by_id(self, workflow_id: int, ids: list[int]) -> dict[Any, int]:
        from ..models import Job

        rows = Job.objects.using(self._alias).filter(pk__in=ids, workflow_id=workflow_id, workflow_role=None)
        return {job_id: job_id for job_id in rows.values_list("pk", flat=True)}

    def _by_name(self, workflow_id: int, names: list[str]) -> dict[Any, int]:
        from ..models import Job

        if not names or self._builder.stored_id is None:
            return {}
        rows = Job.objects.using(self._alias).filter(workflow_id=workflow_id, payload__name__in=names)
        # Of two of one name, which two blocks may have added at once, the first.
        return dict(rows.order_by("-pk").values_list("payload__name", "pk"))

    # -- jobs and edges ------------------------------------------------------------------------------------

    def _insert(self, workflow_id: int, places: list[int]) -> None:
        members = [self._builder.members[place] for place in places]
        accepted = self._enqueue(
            member.job._replace(
                workflow_id=workflow_id, name=member.handle.name, pending_dependencies=len(member.needs)
            )
            for member in members
        )
        self._accepted.update(zip(places, accepted, strict=True))

    def _insert_callbacks(self, workflow_id: int) -> None:
        self._enqueue(
            member.job._replace(workflow_id=workflow_id, workflow_role=role, pending_dependencies=1)
            for role, member in self._builder.callbacks.items()
        )

    def _enqueue(self, jobs: Iterable[NewJob]) -> list[Accepted]:
        listed = [self._send.marked_job(job) for job in jobs]
        accepted = []
        for job, row in zip(listed, self._jobs.enqueue_jobs(listed) if listed else [], strict=True):
            if row is None:
                raise InvalidWorkflow(
                    f"the idempotency key {job.idempotency_key!r} of queue {job.queue!r} belongs to another job, so "
                    f"{self._builder} was not stored: a job is part of one workflow. Use another key, or none."
                )
            accepted.append(row)
        count_stored(listed)
        return accepted

    def _edges(self, outside: dict[Any, int]) -> Iterable[Edge]:
        for place in self._order:
            member = self._builder.members[place]
            for need in member.needs:
                within = self._builder.place_of(need.job, member.handle)
                needed = outside[self._named(need.job, member.handle)] if within is None else self._accepted[within].id
                yield Edge(self._accepted[place].id, needed, need.on_failure)

    # -- what follows --------------------------------------------------------------------------------------

    def _wake(self, outside: set[int], workflow_id: int) -> None:
        """Release what needs only jobs that have ended, and wake the workers when all of it is committed."""
        queues = {
            self._builder.members[place].job.queue
            for place, accepted in self._accepted.items()
            if accepted.state == JobState.READY
        }
        queues |= {job.queue for job in self._workflows.resolve_edges(outside) if job.state == JobState.READY}
        notify_on_commit(sorted(queues), alias=self._alias)
        if outside:
            # One that ends before the commit does not see the new edges.
            transaction.on_commit(
                partial(release_late, alias=self._alias, ended=outside, workflows=[workflow_id]),
                using=self._alias,
                robust=True,
            )

    def _announce(self) -> None:
        """Send the framework's signal for each job, as an enqueue does."""
        if not has_listeners(task_enqueued, logging.DEBUG):
            return
        for place, accepted in self._accepted.items():
            member: Member = self._builder.members[place]
            result = accepted_result(member.task, accepted, member.args, member.kwargs, alias=self._alias)
            announce(task_enqueued, sender=type(member.task.get_backend()), task_result=result)


def release_late(*, alias: str, ended: Iterable[int], workflows: Iterable[int]) -> None:
    """Release what these jobs' ends could not, finish these workflows if they have ended, and wake the workers."""
    with joined(alias):
        queues = follow_up(alias=alias, ended=list(ended), workflows=list(workflows))
    if queues:
        notify_now(sorted(queues), alias=alias)


def _chunks(places: list[int]) -> Iterable[list[int]]:
    for start in range(0, len(places), CHUNK):
        yield places[start : start + CHUNK]
