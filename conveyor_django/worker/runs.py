"""One run of a handler, from its preparation to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..effects import Fence
from ..outcomes import Outcome
from ..tasks import TaskOptions
from .inflight import Held

if TYPE_CHECKING:
    from ..spans.otel import RunSpan


@dataclass(frozen=True, slots=True)
class Definition:
    """What a worker process knows of a task: the same for all of its runs."""

    task: Any
    options: TaskOptions
    # Seconds that a run may take; None: for ever.
    timeout: float | None
    # A coroutine function, whether or not it runs on the event loop.
    is_coroutine: bool
    # Whether each run needs the TaskResult of its job.
    wants_result: bool
    # Whether its runs may share a transaction, as far as its declaration says.
    is_groupable: bool = False


@dataclass(slots=True, eq=False)
class Run:
    """One run of a handler, ready to be called."""

    held: Held
    fence: Fence
    definition: Definition
    args: list[Any]
    kwargs: dict[str, Any]
    # Built only for a handler that takes its context, for a signal's receivers, or for a backoff callable.
    result: Any = None
    error: BaseException | None = None
    value: Any = None
    # Its span, from its begin on; None where none are made.
    span: RunSpan | None = None
    # How long the handler itself took, in seconds; None until it has ended.
    seconds: float | None = None

    @property
    def task(self) -> Any:
        """The task."""
        return self.definition.task

    @property
    def options(self) -> TaskOptions:
        """The task's options."""
        return self.definition.options

    @property
    def timeout(self) -> float | None:
        """Seconds that it may take; None: for ever."""
        return self.definition.timeout

    @property
    def is_async(self) -> bool:
        """Whether it runs on the event loop. An atomic one needs the thread that holds the transaction."""
        return self.definition.is_coroutine and not self.definition.options.atomic


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """How a run ended, for the finisher; `run` is None where no handler ran."""

    held: Held
    outcome: Outcome
    run: Run | None = field(default=None, repr=False)


# Called with the end of a run, from any thread.
Done = Callable[[Finished], None]
