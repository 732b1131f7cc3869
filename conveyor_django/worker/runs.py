"""One run of a handler, from its preparation to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any

from ..effects import Fence
from ..outcomes import Outcome
from ..tasks import TaskOptions
from .inflight import Held


@dataclass(slots=True, eq=False)
class Run:
    """One run of a handler, ready to be called."""

    held: Held
    fence: Fence
    task: Any
    options: TaskOptions
    args: list[Any]
    kwargs: dict[str, Any]
    # Seconds that it may take; None: for ever.
    timeout: float | None
    # Built only for a handler that takes its context, for a signal's receivers, or for a backoff callable.
    result: Any = None
    error: BaseException | None = None
    value: Any = None

    @property
    def is_async(self) -> bool:
        """Whether it runs on the event loop. An atomic one needs the thread that holds the transaction."""
        return iscoroutinefunction(self.task.func) and not self.options.atomic


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """How a run ended, for the finisher; `run` is None where no handler ran."""

    held: Held
    outcome: Outcome
    run: Run | None = field(default=None, repr=False)


# Called with the end of a run, from any thread.
Done = Callable[[Finished], None]
