"""The jobs of a block: what was added, and the handles that stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..calls import Call
from ..compat import Task
from ..errors import InvalidWorkflow, describe
from ..managers.jobs import NewJob
from ..results import result_id
from .graph import Need

if TYPE_CHECKING:
    from .builder import WorkflowBuilder


class JobHandle:
    """A job of a workflow: to name in ``after=``, and to ask for its id once the block has ended."""

    def __init__(self, builder: WorkflowBuilder, place: int, name: str | None, task: str) -> None:
        self.builder = builder
        self.place = place
        self._id: int | None = None
        self.name = name
        self.task = task

    @property
    def id(self) -> int:
        """The job's id. Raises InvalidWorkflow before the block has ended."""
        if self._id is None:
            raise InvalidWorkflow(f"{self} has no id yet: it is enqueued at the end of the `with` block.")
        return self._id

    @property
    def stored_id(self) -> int | None:
        """The job's id, or None before the block has ended."""
        return self._id

    @property
    def result_id(self) -> str:
        """The id to give to ``get_result``. Raises InvalidWorkflow before the block has ended."""
        return result_id(self.builder.alias, self.id)

    def stored(self, job_id: int) -> None:
        """Take the job's id."""
        self._id = job_id

    def __str__(self) -> str:
        return self.name or f"{self.task.rpartition('.')[2]} (no. {self.place + 1})"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


@dataclass(frozen=True, slots=True)
class Member:
    """One job of the block: what to store, and what it needs, as it was given."""

    handle: JobHandle
    task: Task[..., Any]
    job: NewJob
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    needs: list[Need]


def as_call(task: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call[..., Any]:
    """Return the call that ``add`` or a callback was given. Raises InvalidWorkflow."""
    if isinstance(task, Call):
        if args or kwargs:
            raise InvalidWorkflow(
                f"{task.task.module_path} was given its arguments by bind() already; pass them there, or add the task."
            )
        return task
    if isinstance(task, Task):
        return Call(task, args, kwargs)
    raise InvalidWorkflow(
        f"{describe(task)} is no task: decorate the function with @task, and add it, .using(...) or .bind(...) of it."
    )
