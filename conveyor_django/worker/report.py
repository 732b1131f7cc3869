"""What a worker process counts and logs of each answered outcome."""

from __future__ import annotations

import logging
from typing import Final

from ..log import event, get_logger
from ..outcomes import Answer
from ..states import Verb
from .board import Board
from .runs import Finished
from .runspan import ids_of, settle

logger = get_logger("worker.outcome")

# verb → (counter and event, level of the line)
_ENDS: Final = {
    Verb.SUCCEED: ("succeeded", logging.DEBUG),
    Verb.RETRY: ("retried", logging.WARNING),
    Verb.SNOOZE: ("snoozed", logging.INFO),
    Verb.FAIL: ("failed", logging.ERROR),
    Verb.CANCEL: ("cancelled", logging.INFO),
    Verb.RELEASE: ("released", logging.WARNING),
}
_MAX_ERROR: Final = 500


def report(finished: Finished, answer: Answer, board: Board) -> None:
    """Count and log one outcome that was won, or refused as stale, and end the run's span."""
    settle(finished, answer)
    if answer is Answer.LOST:
        board.count("refused")
        _log(logging.WARNING, "outcome.refused", finished)
        return
    counter, level = _ENDS[finished.outcome.verb]
    board.count(counter)
    # Of "won before" only the token is known to be ours: an atomic success may stand where a failure was reported.
    _log(level, f"job.{counter}", finished, **({} if answer is Answer.WON else {"answer": answer.value}))


def _log(level: int, name: str, finished: Finished, **more: object) -> None:
    if not logger.isEnabledFor(level):
        return
    claimed = finished.held.claimed
    fields: dict[str, object] = {
        "job": claimed.id, "version": claimed.version, "task": claimed.task, "queue": claimed.queue,
        "attempt": claimed.attempt, "verb": finished.outcome.verb.value, **ids_of(finished),
    }  # fmt: skip
    if (error := getattr(finished.outcome, "error", None)) is not None:
        text = f"{error.error_class}: {error.message}" if error.error_class else error.message
        fields["error"] = text[:_MAX_ERROR]
    event(logger, level, name, **fields, **more)
