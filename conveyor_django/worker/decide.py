"""What the end of a handler means: pure functions from a return value or an exception to an outcome."""

from __future__ import annotations

import traceback
from typing import Any

from .. import endings
from ..errors import JobCancelled, TaskTimeout, UnknownTask, UnstorableResult
from ..jsonrule import scrub_text
from ..options import TaskOptions
from ..outcomes import Cancel, Claimed, Ended, ErrorInfo, Fail, Release, Retry, Snooze, Succeed, Token
from ..retry import exponential_delay
from ..states import Verb
from ..stored import result_text
from .board import Limit

MAX_MESSAGE = 10_000
MAX_TRACEBACK = 50_000
# An unknown task is looked at again after 1 s, 2 s, … at most 5 minutes: a rolling deploy brings it soon.
UNKNOWN_CAP_SECONDS = 300.0
# A job that this process could not even begin is tried again after 1 s, 2 s, … at most a minute.
UNBEGUN_CAP_SECONDS = 60.0
LAPSED = "the lease could not be kept"
# What a handler's word is called in an outcome.
ENDINGS = {
    endings.Retry: Verb.RETRY, endings.Snooze: Verb.SNOOZE, endings.Cancel: Verb.CANCEL, endings.Fail: Verb.FAIL,
}  # fmt: skip
KINDS: dict[Verb, type[Ended]] = {kind.verb: kind for kind in (Retry, Snooze, Cancel, Fail)}


def succeeded(claimed: Claimed, value: Any) -> Succeed:
    """Return the outcome of a handler that returned `value`. Raises UnstorableResult."""
    return Succeed(id=claimed.id, version=claimed.version, result=result_text(claimed.task, value))


def failed_run(claimed: Claimed, error: BaseException, delay: float) -> Ended:
    """Return the outcome of a handler that raised: again after `delay` seconds while the budget lasts."""
    return ended(claimed, verdict(claimed, error, TaskOptions()), error, delay)


def verdict(claimed: Claimed, error: BaseException, options: TaskOptions) -> Verb:
    """Say what becomes of a job whose handler raised `error`: retry, snooze, fail or cancel.

    A handler's own word counts first; then an unstorable result, whose work is done; then `discard_on`, `retry_on`
    and the budget of attempts.
    """
    word = next((verb for kind, verb in ENDINGS.items() if isinstance(error, kind)), None)
    if word is not None and word is not Verb.RETRY:
        return word
    if word is None:
        if isinstance(error, UnstorableResult):
            return Verb.FAIL
        if options.discard_on is not None and isinstance(error, options.discard_on):
            return Verb.CANCEL
        if options.retry_on is not None and not isinstance(error, options.retry_on):
            return Verb.FAIL
    return Verb.RETRY if claimed.attempt < claimed.max_attempts else Verb.FAIL


def ended(claimed: Claimed, verb: Verb, error: BaseException, delay: float = 0.0) -> Ended:
    """Return the outcome of that verb; `delay` seconds are those of a retry or a snooze."""
    return KINDS[verb](id=claimed.id, version=claimed.version, error=error_info(error), delay=delay)


def cancelled(claimed: Claimed) -> Cancel:
    """Return the outcome of a job that was cancelled when this process had claimed it, but not begun."""
    return Cancel(id=claimed.id, version=claimed.version, error=error_info(JobCancelled(claimed.id)))


def killed(token: Token, limit: Limit) -> Ended:
    """Return the outcome of a run that only the end of its process has ended: it was cancelled, or had no time left."""
    error: Exception = JobCancelled(token[0], running=True)
    if limit.timeout is not None:
        error = TaskTimeout(f"the run of job {token[0]}", limit.timeout, killed=True)
    return KINDS[limit.verb](id=token[0], version=token[1], error=error_info(error), delay=limit.delay)


def unknown_task(claimed: Claimed, error: UnknownTask) -> Release:
    """Return the outcome for a task that this process does not know: the job waits, longer each time."""
    delay = exponential_delay(claimed.release_count + 1, cap=UNKNOWN_CAP_SECONDS)
    return Release(id=claimed.id, version=claimed.version, error=error_info(error), delay=delay)


def not_begun(claimed: Claimed, error: BaseException) -> Release:
    """Return the outcome of a run whose handler was never called: the database did not let it begin."""
    delay = exponential_delay(claimed.release_count + 1, cap=UNBEGUN_CAP_SECONDS)
    return Release(id=claimed.id, version=claimed.version, error=error_info(error), delay=delay)


def not_alone(claimed: Claimed) -> Release:
    """Return the outcome of a job that should run without neighbours, where they do not end: later, or elsewhere."""
    return Release(
        id=claimed.id,
        version=claimed.version,
        error=ErrorInfo(error_class="", message="lost before, so it runs alone, but its neighbours did not end"),
        delay=exponential_delay(claimed.release_count + 1, cap=UNKNOWN_CAP_SECONDS),
    )


def given_back(claimed: Claimed, reason: str) -> Release:
    """Return the outcome of a run that this process could not finish through no fault of the job."""
    return Release(id=claimed.id, version=claimed.version, error=ErrorInfo(error_class="", message=reason))


def unwritable(claimed: Claimed, error: BaseException) -> Fail:
    """Return the outcome that takes the place of one that the database refused to store."""
    return Fail(id=claimed.id, version=claimed.version, error=error_info(error))


def error_info(error: BaseException) -> ErrorInfo:
    """Return an exception as storable texts, bounded and scrubbed."""
    kind = type(error)
    return ErrorInfo(
        error_class=scrub_text(f"{kind.__module__}.{kind.__qualname__}", 255),
        message=scrub_text(_message(error), MAX_MESSAGE),
        traceback=scrub_text(_traceback(error), MAX_TRACEBACK),
    )


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as broken:  # noqa: BLE001 - user code: __str__ may do anything, the error must be kept
        return f"(its __str__ raised {type(broken).__qualname__})"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except BaseException as broken:  # noqa: BLE001 - as above
        return f"(formatting it raised {type(broken).__qualname__})"
