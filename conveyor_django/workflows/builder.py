"""What ``with workflow(...) as wf:`` gives: it collects jobs and edges, and stores them at the end of the block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import sync_to_async

from ..calls import Call
from ..compat import Task
from ..conf import conveyor_settings
from ..enqueue import prepare, stores_jobs
from ..errors import InvalidWorkflow
from ..managers.jobs import NewJob
from ..results import result_id
from ..states import OnFailure, WorkflowRole
from .control import workflow_of
from .graph import Need, as_needs, check_job_name, check_name, in_order, policy
from .members import JobHandle, Member, as_call

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from ..effects import Fence

_CALLBACKS: Final = tuple(WorkflowRole)


class WorkflowBuilder:
    """Collects the jobs of a workflow; made by `workflow`, `extend_workflow` and ``context.workflow()``.

    At the end of its ``with`` block all of it is enqueued in one transaction, the caller's if there is one on the
    database of its queues; an exception in the block enqueues nothing. In async code: ``async with``.
    """

    def __init__(
        self,
        name: str | None,
        *,
        alias: str | None = None,
        workflow_id: int | None = None,
        hold: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.members: list[Member] = []
        self.callbacks: dict[WorkflowRole, Member] = {}
        self._places: dict[str, int] = {}
        # Keeps the lease of the run that adds to its own workflow until the transaction ends, or raises LeaseLost.
        self.hold = hold
        self._alias = alias
        self._id = workflow_id
        self._closed = False

    # -- filled in the block -------------------------------------------------------------------------------

    def add(
        self,
        task: Task[..., Any] | Call[..., Any],
        /,
        *args: Any,
        name: str | None = None,
        after: Any = (),
        on_failure: OnFailure | str = OnFailure.CANCEL,
        **kwargs: Any,
    ) -> JobHandle:
        """Add a call of `task`, to run once all that it needs has ended; return its handle.

        `after` is one job or several: a handle, a name given in this workflow, `needs(...)` of one of them, or the id
        of a stored job of this workflow. `on_failure` says what becomes of this job where one of them fails or is
        cancelled: "cancel", "ignore" or "run". For a function with parameters of these names: ``task.bind(...)``.

        Raises InvalidWorkflow, and what an enqueue of the task raises for its options and arguments.
        """
        self._check_open()
        if name is not None:
            check_job_name(name)
            if name in self._places:
                raise InvalidWorkflow(f"{self} has a job named {name!r} already; give this one another name.")
        member = self._member(as_call(task, args, kwargs), name, as_needs(after, policy(on_failure)))
        if name is not None:
            self._places[name] = len(self.members)
        self.members.append(member)
        return member.handle

    def call_back(self, role: WorkflowRole, task: Task[..., Any] | Call[..., Any]) -> None:
        """Set a callback of the workflow."""
        self.callbacks[role] = self._member(as_call(task, (), {}), None, [])

    def _member(self, call: Call[..., Any], name: str | None, wanted: list[Need]) -> Member:
        self._check_backend(call.task)
        job = prepare(call.task, call.args, call.kwargs)
        self._keep_to_one_database(job)
        handle = JobHandle(self, len(self.members), name, job.task)
        return Member(handle, call.task, job, call.args, dict(call.kwargs), wanted)

    def _check_backend(self, task: Task[..., Any]) -> None:
        backend = task.get_backend()
        if not stores_jobs(backend):
            raise InvalidWorkflow(
                f"{task.module_path}: its backend {task.backend!r} is {type(backend).__qualname__}, which stores no "
                f"jobs, so {self} cannot have it. Use Conveyor's backend; in tests, run the jobs by "
                f"conveyor_django.testing.drain()."
            )
        backend.validate_task(task)

    def _keep_to_one_database(self, job: NewJob) -> None:
        alias = conveyor_settings().database_of(job.queue)
        if self._alias is None:
            self._alias = alias
        if alias != self._alias:
            raise InvalidWorkflow(
                f"{job.task}: its queue {job.queue!r} lives on database {alias!r}, and {self} on {self._alias!r}: a "
                f"workflow is stored in one transaction. Give the task a queue on {self._alias!r}, with "
                f".using(queue_name=...)."
            )

    # -- known after it ------------------------------------------------------------------------------------

    @property
    def alias(self) -> str:
        """The alias of the database where the workflow lives."""
        return self._alias or conveyor_settings().database

    @property
    def id(self) -> int:
        """The workflow's id. Raises InvalidWorkflow before the block has ended."""
        if self._id is None:
            raise InvalidWorkflow(f"{self} has no id yet: it is stored at the end of the `with` block.")
        return self._id

    @property
    def key(self) -> str:
        """The workflow's id with its database's alias, for `cancel_workflow` and the like."""
        return result_id(self.alias, self.id)

    @property
    def stored_id(self) -> int | None:
        """The workflow's id, or None while it is stored nowhere."""
        return self._id

    def stored(self, workflow_id: int, ids: dict[int, int]) -> None:
        """Take the ids of the workflow, and of its jobs by their place."""
        self._id = workflow_id
        for place, job_id in ids.items():
            self.members[place].handle.stored(job_id)

    def place_of(self, given: Any, needing: JobHandle) -> int | None:
        """Return the place of a job of this block by its handle or name; None for the id of a stored one.

        Raises InvalidWorkflow for what names no job of this workflow.
        """
        if isinstance(given, JobHandle):
            if given.builder is self:
                return given.place
            if given.stored_id is not None and (given.builder.stored_id, given.builder.alias) == (self._id, self.alias):
                return None
            raise InvalidWorkflow(
                f"{needing} cannot need {given}, a job of {given.builder}: jobs need others of their own workflow. "
                f"Add it to {self}, or extend that workflow."
            )
        return self._places.get(given) if isinstance(given, str) else None

    def order(self) -> list[int]:
        """Return the places in an order in which each job comes after those it needs. Raises InvalidWorkflow."""
        places = [
            [place for need in member.needs if (place := self.place_of(need.job, member.handle)) is not None]
            for member in self.members
        ]
        return in_order(places, [str(member.handle) for member in self.members])

    # -- the block -----------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closed = True
        if kind is None:
            from .store import store

            store(self)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await sync_to_async(self.__exit__)(kind, error, traceback)

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidWorkflow(f"the block of {self} has ended; open another one with extend_workflow(...).")

    def __str__(self) -> str:
        if self.name is not None:
            return f"workflow {self.name!r}"
        return f"workflow {self._id}"


def workflow(
    name: str,
    *,
    on_success: Task[..., Any] | Call[..., Any] | None = None,
    on_failure: Task[..., Any] | Call[..., Any] | None = None,
    on_completion: Task[..., Any] | Call[..., Any] | None = None,
) -> WorkflowBuilder:
    """Begin a workflow; the block of its ``with`` statement fills it.

    The name is for people, and need not be unique. The callbacks are tasks, or calls made by ``task.bind(...)``. They
    run once every job has ended: `on_success` if all have succeeded, `on_failure` if one failed or was cancelled,
    `on_completion` either way.

    Raises InvalidWorkflow, and what an enqueue of a callback raises for its options and arguments.
    """
    check_name(name, "a workflow")
    builder = WorkflowBuilder(name)
    for role, task in zip(_CALLBACKS, (on_success, on_failure, on_completion), strict=True):
        if task is not None:
            builder.call_back(role, task)
    return builder


def extend_workflow(workflow: int | str) -> WorkflowBuilder:
    """Add jobs to a stored workflow that goes on, named by its id or its key, in the block of a ``with`` statement.

    Raises TypeError or ValueError for what names no workflow; at the end of the block InvalidWorkflow where there is
    none, or where it is finished.
    """
    alias, workflow_id = workflow_of(workflow)
    return WorkflowBuilder(None, alias=alias, workflow_id=workflow_id)


def workflow_of_run(fence: Fence) -> WorkflowBuilder:
    """Return a builder that adds to the workflow of a job that runs; a handler's ``context.workflow()``.

    Raises InvalidWorkflow where the job belongs to none. At the end of the block LeaseLost is raised, and nothing
    stored, if the run's lease is not its own any more.
    """
    claimed = fence.claimed
    if claimed.workflow_id is None:
        raise InvalidWorkflow(
            f"job {claimed.id} ({claimed.task}) belongs to no workflow, so there is nothing to add to. "
            f"Begin one: with workflow(...)."
        )
    # All of an atomic run is fenced by its end.
    hold = None if fence.atomic else fence.hold
    return WorkflowBuilder(None, alias=fence.alias, workflow_id=claimed.workflow_id, hold=hold)
