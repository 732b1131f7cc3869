"""Running one job's handler: from the claimed row to an outcome, without touching the job's row."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from inspect import iscoroutinefunction
from typing import Any

from ..compat import announce, has_listeners, task_finished, task_started
from ..conf import ConveyorSettings
from ..context import ConveyorContext
from ..errors import LeaseLost
from ..log import event, get_logger
from ..outcomes import Ended, Outcome
from ..results import finished_result, running_result
from ..retry import exponential_delay
from ..states import Verb
from ..tasks import TaskOptions, options_of, resolve_task
from . import decide
from .atomic import NotBegun, run_atomically
from .inflight import Held
from .interrupt import Interrupted

logger = get_logger("worker.handler")

# The ends that task_finished tells of: a retry is not one.
LAST_VERBS = frozenset({Verb.SUCCEED, Verb.FAIL, Verb.CANCEL})
# A century: beyond it timestamps overflow before long.
MAX_DELAY = 100 * 365 * 86400.0


@dataclass(slots=True, eq=False)
class Run:
    """One run of a handler, ready to be called."""

    held: Held
    task: Any
    options: TaskOptions
    args: list[Any]
    kwargs: dict[str, Any]
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


class Handlers:
    """Prepares and calls the handlers of one worker process."""

    def __init__(self, *, owner: uuid.UUID, alias: str, settings: ConveyorSettings) -> None:
        self._owner = owner
        self._alias = alias
        self._settings = settings
        self._warned: set[str] = set()

    def prepare(self, held: Held) -> Run:
        """Find the task and parse the arguments. Raises UnknownTask."""
        claimed = held.claimed
        task = resolve_task(claimed.task)
        run = Run(held, task, options_of(task), json.loads(claimed.args), json.loads(claimed.kwargs))
        if run.options.timeout is not None and claimed.task not in self._warned:
            self._warned.add(claimed.task)
            event(logger, logging.WARNING, "task.timeout_not_enforced", task=claimed.task, timeout=run.options.timeout)
        # A backoff callable gets it too; built here, since an event loop may not query.
        if task.takes_context or run.options.backoff or has_listeners(task_started, logging.INFO):
            self._build_result(run)
        return run

    def call(self, run: Run) -> Finished:
        """Run the handler in this thread and say how it ended; never raises for what the handler does."""
        try:
            self._announce_start(run)
            if run.options.atomic:
                outcome, run.value = run_atomically(
                    run.held, lambda: self._invoke(run), owner=self._owner, alias=self._alias
                )
                return Finished(run.held, outcome, run)
            run.value = self._invoke(run)
            return Finished(run.held, decide.succeeded(run.held.claimed, run.value), run)
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises is its outcome
            return self._failed(run, error)

    async def acall(self, run: Run) -> Finished:
        """Run an async handler on this event loop and say how it ended."""
        try:
            self._announce_start(run)
            run.value = await run.task.func(*self._call_args(run), **run.kwargs)
            return Finished(run.held, decide.succeeded(run.held.claimed, run.value), run)
        except BaseException as error:  # noqa: BLE001 - as above; a cancellation is how it is interrupted
            return self._failed(run, error)

    def wants_announcement(self, finished: Finished) -> bool:
        """Say whether anybody listens to the end of this run."""
        if finished.run is None or finished.outcome.verb not in LAST_VERBS:
            return False
        level = logging.ERROR if isinstance(finished.outcome, Ended) else logging.INFO
        return has_listeners(task_finished, level)

    def announce_end(self, finished: Finished) -> None:
        """Send task_finished; called once the outcome is durable."""
        run = finished.run
        if run is None:
            return
        if run.result is None:
            self._build_result(run)
        result = finished_result(run.result, finished.outcome, run.value)
        if run.error is None:
            announce(task_finished, sender=_sender(run), task_result=result)
            return
        try:
            raise run.error  # noqa: TRY301 - there is nothing to abstract
        except BaseException:  # noqa: BLE001 - receivers read sys.exc_info(), as Django's own logger does
            announce(task_finished, sender=_sender(run), task_result=result)

    def _invoke(self, run: Run) -> Any:
        """Call the handler in this thread; a coroutine function runs on a loop of its own here."""
        return run.task.call(*self._call_args(run), **run.kwargs)

    def _call_args(self, run: Run) -> list[Any]:
        if not run.task.takes_context:
            return run.args
        context = ConveyorContext(
            task_result=run.result,
            alias=self._alias,
            job_id=run.held.claimed.id,
            fencing_token=run.held.claimed.version,
        )
        return [context, *run.args]

    def _build_result(self, run: Run) -> None:
        run.result = running_result(
            run.held.claimed,
            owner=self._owner,
            task=run.task,
            args=run.args,
            kwargs=run.kwargs,
            alias=self._alias,
        )

    def _announce_start(self, run: Run) -> None:
        if run.result is not None and has_listeners(task_started, logging.INFO):
            announce(task_started, sender=_sender(run), task_result=run.result)

    def _failed(self, run: Run, error: BaseException) -> Finished:
        claimed = run.held.claimed
        run.error = error
        if isinstance(error, (Interrupted, asyncio.CancelledError)) and run.held.lapsed:
            return Finished(run.held, decide.given_back(claimed, decide.LAPSED), run)
        if isinstance(error, NotBegun):
            return Finished(run.held, decide.not_begun(claimed, error.__cause__ or error))
        if isinstance(error, LeaseLost):
            return Finished(run.held, decide.given_back(claimed, str(error)), run)
        return Finished(run.held, decide.failed_run(claimed, error, self._delay(run, error)), run)

    def _delay(self, run: Run, error: BaseException) -> float:
        """Return the seconds until the next attempt: the task's own backoff, else the exponential one."""
        default = exponential_delay(
            run.held.claimed.attempt,
            base=self._settings.backoff_base_seconds,
            cap=self._settings.backoff_cap_seconds,
        )
        if run.options.backoff is None:
            return default
        try:
            return _seconds(run.options.backoff(error, run.result))
        except BaseException as broken:  # noqa: BLE001 - user code; the job must still get its retry
            event(
                logger, logging.ERROR, "backoff.failed",
                job=run.held.claimed.id, task=run.held.claimed.task, error=repr(broken), exc_info=broken,
            )  # fmt: skip
            return default


def _sender(run: Run) -> type:
    """Return the class that the framework's signals name as their sender: the backend's."""
    return type(run.task.get_backend())


def _seconds(delay: Any) -> float:
    """Return a backoff callable's answer in seconds. Raises TypeError or ValueError for nonsense."""
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else float(delay)
    if not 0 <= seconds <= MAX_DELAY:
        raise ValueError(f"backoff returned {delay!r}; return seconds between 0 and {MAX_DELAY:.0f}")
    return seconds
