"""What the end of one run means for its job: what it committed, why it was stopped, when it is tried again."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import timedelta
from typing import Any

from ..conf import ConveyorSettings
from ..endings import Ending
from ..errors import JobCancelled, LeaseLost, TaskTimeout, UnstorableResult
from ..log import event, get_logger
from ..outcomes import Committed
from ..preparing import StatementsGone
from ..retry import MAX_DELAY, exponential_delay
from ..states import Verb
from . import decide
from .atomic import NotBegun
from .board import Limit
from .inflight import Held
from .interrupt import Interrupted
from .runs import Finished, Run

logger = get_logger("worker.ends")


class Ends:
    """Turns what a handler returned or raised into an outcome."""

    def __init__(self, settings: ConveyorSettings) -> None:
        self._settings = settings

    def returned(self, run: Run, value: Any) -> Finished:
        """Return the success of a handler that returned `value`. Raises UnstorableResult."""
        if run.fence.committed is None:
            run.value = value
            return Finished(run.held, decide.succeeded(run.held.claimed, value), run)
        if value is not None and value != run.fence.result:
            event(
                logger, logging.WARNING, "result.not_stored", job=run.held.claimed.id, task=run.held.claimed.task,
                reason="the job's result was given as effect.result; what the handler returned is dropped",
            )  # fmt: skip
        return self._committed(run, run.fence.committed)

    def failed(self, run: Run, error: BaseException) -> Finished:
        """Return the end of a handler that raised `error`."""
        claimed = run.held.claimed
        if run.fence.committed is not None:
            run.fence.log_after_commit("job.failed_after_effect", error)
            return self._committed(run, run.fence.committed)
        run.error = error
        if isinstance(error, (Interrupted, asyncio.CancelledError)) and run.held.lapsed:
            return Finished(run.held, decide.given_back(claimed, decide.LAPSED), run)
        if (why := _why_stopped(run.held, error)) is not None:
            why.__cause__ = error
            return self._ended(run, why, Verb.CANCEL if isinstance(why, JobCancelled) else None)
        if isinstance(error, NotBegun):
            return Finished(run.held, decide.not_begun(claimed, error.__cause__ or error))
        if isinstance(error, (LeaseLost, StatementsGone)):
            # Neither is the handler's failure: the run costs no attempt.
            return Finished(run.held, decide.given_back(claimed, str(error)), run)
        return self._ended(run, error)

    def stopped(self, held: Held, run: Run | None, error: BaseException) -> Finished:
        """Return the end of a run that was interrupted outside of its handler; `run` is None until it is prepared."""
        if run is not None:
            return self.failed(run, error)
        if held.cancelled and not held.lapsed:
            return Finished(held, decide.cancelled(held.claimed))
        return Finished(held, decide.given_back(held.claimed, decide.LAPSED))

    def limit(self, run: Run) -> Limit | None:
        """Return how long a run may go on, and what becomes of its job if only its process's end ends it."""
        held = run.held
        if held.due_at is None or held.timeout is None:
            return None
        verb = decide.verdict(held.claimed, TaskTimeout(held.claimed.task, held.timeout), run.options)
        delay = self._default_delay(run) if verb is Verb.RETRY else 0.0
        return Limit(due_at=held.due_at, verb=verb, delay=delay, timeout=held.timeout)

    def _committed(self, run: Run, outcome: Committed) -> Finished:
        """Return the success that the handler's effect has committed, whatever came after it."""
        run.value = run.fence.result
        return Finished(run.held, outcome, run)

    def _ended(self, run: Run, error: BaseException, verb: Verb | None = None) -> Finished:
        run.error = error
        verb = verb or decide.verdict(run.held.claimed, error, run.options)
        delay = self._delay(run, error) if verb in {Verb.RETRY, Verb.SNOOZE} else 0.0
        return Finished(run.held, decide.ended(run.held.claimed, verb, error, delay), run)

    def _delay(self, run: Run, error: BaseException) -> float:
        """Return the seconds until the next run: what the handler says, else the task's backoff, else the default."""
        if isinstance(error, Ending) and error.in_ is not None:
            return error.in_
        default = self._default_delay(run)
        if (backoff := run.options.backoff_callable) is None:
            return default
        try:
            return _seconds(backoff(error, run.result))
        except BaseException as broken:  # noqa: BLE001 - user code; the job must still get its retry
            event(
                logger, logging.ERROR, "backoff.failed",
                job=run.held.claimed.id, task=run.held.claimed.task, error=repr(broken), exc_info=broken,
            )  # fmt: skip
            return default

    def _default_delay(self, run: Run) -> float:
        """Return the seconds until the next run as far as no code of the project is asked."""
        attempt = run.held.claimed.attempt
        if (policy := run.options.policy) is not None:
            return policy.delay(attempt)
        return exponential_delay(
            attempt, base=self._settings.backoff_base_seconds, cap=self._settings.backoff_cap_seconds
        )


def heeded(run: Run, value: Any) -> Any:
    """Return what a handler returned. Raises Interrupted if it was told to stop before: it may have done half."""
    if run.held.stopping_since is not None and not run.held.over:
        raise Interrupted
    return value


def _why_stopped(held: Held, error: BaseException) -> JobCancelled | TaskTimeout | None:
    """Return the error of a run that was told to stop, whatever it raised then, or that failed late; else None."""
    if held.cancelled:
        return JobCancelled(held.claimed.id, running=True)
    if not isinstance(error, (Ending, UnstorableResult)):
        # A statement that the database ended for the time's sake may fail before anybody was told.
        held.expire(time.monotonic())
    if held.overdue and held.timeout is not None:
        return TaskTimeout(held.claimed.task, held.timeout)
    return None


def _seconds(delay: Any) -> float:
    """Return a backoff callable's answer in seconds. Raises TypeError or ValueError for nonsense."""
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else float(delay)
    if not 0 <= seconds <= MAX_DELAY:
        raise ValueError(f"backoff returned {delay!r}; return seconds between 0 and {MAX_DELAY:.0f}")
    return seconds
