"""What the end of a handler means: pure functions from a return value or an exception to an outcome."""

from __future__ import annotations

import traceback
from typing import Any

from ..compat import normalize_json
from ..errors import UnknownTask, UnstorableResult
from ..jsonrule import dumps, scrub, scrub_text
from ..outcomes import Claimed, Committed, ErrorInfo, Fail, Release, Retry, Succeed
from ..retry import exponential_delay

MAX_MESSAGE = 10_000
MAX_TRACEBACK = 50_000
# An unknown task is looked at again after 1 s, 2 s, … at most 5 minutes: a rolling deploy brings it soon.
UNKNOWN_CAP_SECONDS = 300.0
# A job that this process could not even begin is tried again after 1 s, 2 s, … at most a minute.
UNBEGUN_CAP_SECONDS = 60.0
LAPSED = "the lease could not be kept"


def result_text(claimed: Claimed, value: Any) -> str | None:
    """Return a handler's return value as JSON text, None for None.

    Characters and numbers that PostgreSQL refuses are replaced (rule 3); a type that JSON cannot hold
    raises UnstorableResult.
    """
    if value is None:
        return None
    try:
        return dumps(scrub(normalize_json(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnstorableResult(claimed.task, error) from error


def succeeded(claimed: Claimed, value: Any) -> Succeed:
    """Return the outcome of a handler that returned `value`. Raises UnstorableResult."""
    return Succeed(id=claimed.id, version=claimed.version, result=result_text(claimed, value))


def committed(claimed: Claimed, result: str | None) -> Committed:
    """Return the outcome of an atomic handler whose transaction has committed."""
    return Committed(id=claimed.id, version=claimed.version, result=result)


def failed_run(claimed: Claimed, error: BaseException, delay: float) -> Retry | Fail:
    """Return the outcome of a handler that raised: again after `delay` seconds while the budget lasts."""
    info = error_info(error)
    if claimed.attempt >= claimed.max_attempts or isinstance(error, UnstorableResult):
        return Fail(id=claimed.id, version=claimed.version, error=info)
    return Retry(id=claimed.id, version=claimed.version, error=info, delay=delay)


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
