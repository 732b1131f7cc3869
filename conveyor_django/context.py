"""What a handler with ``takes_context=True`` gets as its first argument."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, ParamSpec, cast

from asgiref.sync import sync_to_async
from django.utils import timezone

from .compat import TaskContext
from .effects import Effect, Fence
from .steps import Steps, check_step_name

if TYPE_CHECKING:
    from .workflows import Needed, WorkflowBuilder

P = ParamSpec("P")

# Only has to be Conveyor's own: the namespace of the tokens below.
_TOKENS: Final = uuid.UUID("5d1c6f0e-6a3b-4a3e-9a57-1f6d2c0e8b41")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConveyorContext(TaskContext):  # type: ignore[misc,type-arg]  # The stubs do not know that it is frozen
    """The framework's context (`task_result`, `attempt`); what a run may commit; tokens for other systems (P6).

    `effect`, the steps and `fence` raise LeaseLost where the lease is not this run's any more, and nothing of theirs
    is committed then. `effect` and the steps raise JobCancelled or TaskTimeout once the run was told to stop;
    NotAllowedHere where they could not keep their promise; InvalidStep for an impossible step.
    """

    # The alias of the database that holds the job, and the job's id there.
    alias: str
    job_id: int
    # Grows with each run of this job and never falls: a system that remembers the highest one it has seen can
    # refuse a zombie.
    fencing_token: int
    _fence: Fence = field(repr=False, compare=False)
    _steps: Steps = field(repr=False, compare=False)
    # What it needs, once it was asked for.
    _needed: list[dict[str, Needed]] = field(default_factory=list, init=False, repr=False, compare=False)

    # -- what commits ---------------------------------------------------------------------------------------

    def effect(self) -> AbstractContextManager[Effect]:
        """Open the last part of the handler: the block's writes and the job's success are one commit, or none is.

        The job's result is what the block gives as `effect.result`; what the handler returns or raises afterwards
        changes nothing. The block writes to the job's database alone, at READ COMMITTED. If it raises, it is as if it
        had not been. For async handlers: in a function that is called through `sync_to_async`.
        """
        return self._fence.effect()

    def step(self, name: str, fn: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return what `fn(*args, **kwargs)` returned, as JSON has it; called only if no earlier run has recorded that.

        `fn` runs outside of a transaction, and again if the run is lost before the record. `name` is the step's in
        this job: 1 to 255 characters, each once in a run. Raises what `fn` raises, and UnstorableResult.
        """
        return self._steps.step(name, fn, args, kwargs)

    def atomic_step(self, name: str, fn: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        """Do as `step`, in one transaction: what `fn` writes to the job's database commits with the record, once."""
        return self._steps.atomic_step(name, fn, args, kwargs)

    async def astep(self, name: str, fn: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        """Do as `step` in an async handler; `fn` may be async. A sync one runs in the thread of the async ORM."""
        return await self._steps.astep(name, fn, args, kwargs)

    async def aatomic_step(self, name: str, fn: Callable[P, Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        """Do as `atomic_step` in an async handler; `fn` is sync, and runs in the thread of the async ORM."""
        return await self._steps.aatomic_step(name, fn, args, kwargs)

    def fence(self) -> None:
        """Keep the lease this run's until the open transaction on the job's database ends, so that it may commit.

        The lease is not renewed meanwhile, so the transaction has to be shorter than the lease.
        """
        self._fence.hold()

    # -- what others want -----------------------------------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        """Whether somebody has cancelled the job and this worker has heard of it: the run is to end, quickly."""
        return self._fence.lease.cancelled

    # -- its workflow ---------------------------------------------------------------------------------------

    @property
    def workflow_id(self) -> int | None:
        """The id of the workflow that the job belongs to, if any."""
        return self._fence.claimed.workflow_id

    @property
    def needed(self) -> dict[str, Needed]:
        """What became of each job that this one needs, by name, or by its id as text where it has none.

        One that failed or was cancelled is there where this job said `run`, and left out where it said `ignore`. The
        first look is a query; in async handlers use `aneeded` or `aresults`.
        """
        from .workflows import needed_by

        if not self._needed:
            self._needed.append(needed_by(self.job_id, alias=self.alias))
        return self._needed[0]

    @property
    def results(self) -> dict[str, Any]:
        """The results of those of `needed` that succeeded, as {name: result}."""
        from .workflows import results_of

        return results_of(self.needed)

    async def aneeded(self) -> dict[str, Needed]:
        """Do as `needed`, in an async handler."""
        return await sync_to_async(lambda: self.needed)()

    async def aresults(self) -> dict[str, Any]:
        """Do as `results`, in an async handler."""
        return await sync_to_async(lambda: self.results)()

    def workflow(self) -> WorkflowBuilder:
        """Add jobs to the workflow of this job: ``with context.workflow() as wf: wf.add(…)``; async: ``async with``.

        All of the block is stored at its end, or none: in the open transaction on the job's database if there is one.
        Raises InvalidWorkflow where the job belongs to no workflow, and LeaseLost at the end of the block.
        """
        from .workflows import workflow_of_run

        return workflow_of_run(self._fence)

    # -- tokens for other systems ---------------------------------------------------------------------------

    @property
    def idempotency_token(self) -> str:
        """The same text for every run of this job, and for no other job: a UUID of 36 characters.

        Made from the database's alias, the job's id and the microsecond of its enqueue. The id alone would
        come back in a database that was made anew, and in a copy of this one.
        """
        # None is for a result that is not stored yet; this one is.
        enqueued_at = cast("dt.datetime", self.task_result.enqueued_at)
        if timezone.is_naive(enqueued_at):
            enqueued_at = timezone.make_aware(enqueued_at)
        instant = enqueued_at.astimezone(dt.UTC).isoformat(timespec="microseconds")
        return str(uuid.uuid5(_TOKENS, f"{self.alias}:{self.job_id}:{instant}"))

    def idempotency_token_for(self, step: str) -> str:
        """Return a token as `idempotency_token` for one step of the job. Raises InvalidStep for an impossible name."""
        check_step_name(step)
        return str(uuid.uuid5(uuid.UUID(self.idempotency_token), step))
