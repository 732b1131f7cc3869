"""Conveyor's exceptions: each names the value that is wrong and says what to do."""

from __future__ import annotations

from functools import partial
from typing import Any


class ConveyorError(Exception):
    """Base class of all that Conveyor raises on its own account."""


class LeaseLost(ConveyorError):
    """The lease of a running job is no longer this worker's; nothing of the run may commit."""

    def __init__(self, job_id: int, version: int) -> None:
        self.job_id = job_id
        self.version = version
        super().__init__(
            f"job {job_id}: the lease with version {version} is lost, so this run's effect is refused; "
            f"another run of the job holds a newer lease or has ended it. Nothing needs to be done."
        )

    def __reduce__(self) -> tuple[type[LeaseLost], tuple[int, int]]:
        return (type(self), (self.job_id, self.version))


class InvalidArguments(ConveyorError, ValueError):
    """The arguments of an enqueue cannot be stored or do not fit the task's signature."""


class PayloadTooLarge(InvalidArguments):
    """The serialised arguments exceed CONVEYOR["MAX_PAYLOAD_BYTES"]."""

    def __init__(self, task: str, size: int, limit: int) -> None:
        super().__init__(
            f"{task}: the arguments take {size:,} bytes as JSON, more than the limit of {limit:,}. "
            f"Store the data elsewhere and pass its id, or raise CONVEYOR['MAX_PAYLOAD_BYTES']."
        )


class IdempotencyConflict(ConveyorError):
    """The idempotency key belongs to another job, which is other work or may not be replaced."""

    def __init__(
        self,
        key: str,
        queue: str,
        existing: str,
        refused: str,
        fix: str = "Use another key for another piece of work.",
    ) -> None:
        self.key = key
        self.queue = queue
        super().__init__(
            f"idempotency key {key!r} of queue {queue!r} already belongs to {existing}, "
            f"so {refused} was not enqueued. {fix}"
        )


class ForeignTransaction(ConveyorError):
    """An enqueue to one database inside a transaction of another (promise P4)."""

    def __init__(self, task: str, queue_alias: str, open_alias: str) -> None:
        super().__init__(
            f"{task}: its queue lives on database {queue_alias!r}, but the open transaction is on "
            f"{open_alias!r}: the job would stay even if that transaction rolls back. Enqueue outside of "
            f"it, open a transaction on {queue_alias!r}, or say .enqueue_on_commit(...) to enqueue after "
            f"{open_alias!r} has committed."
        )


class ForeignWrite(ConveyorError):
    """An atomic handler, effect or step wrote to another database than its job's: no part of its commit."""

    def __init__(self, task: str, alias: str, other: str) -> None:
        super().__init__(
            f"{task} has a transaction on database {alias!r} that is atomic with its job, so its write to {other!r} "
            f"was refused: it would stay when that transaction rolls back. Write there outside of it, or in a task of "
            f"its own without atomic=True."
        )


class LeftOpen(ConveyorError):
    """An atomic handler or effect ended with a transaction.atomic() block still open: nothing could commit."""

    def __init__(self, task: str) -> None:
        super().__init__(
            f"{task} ended its transaction with a transaction.atomic() block left open, so it was rolled back. "
            f"Use `with transaction.atomic():`, which always ends the block."
        )


class TransactionGone(ConveyorError):
    """An atomic handler or effect has lost its transaction, or would have ended it: its writes count for nothing."""

    def __init__(self, task: str, how: str) -> None:
        super().__init__(
            f"{task} {how}, but its transaction is atomic with its job, and Conveyor ends it. Leave that out; for a "
            f"part that may be undone by itself use `with transaction.atomic():`, for commits of your own a task "
            f"without atomic=True."
        )


class NotAllowedHere(ConveyorError, RuntimeError):
    """A member of the context was called where it could not keep its promise."""


class InvalidStep(ConveyorError, ValueError):
    """A durable step has an impossible name or function."""


class UnknownTask(ConveyorError):
    """A job names a task that this process cannot import."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(
            f"task {path!r} is unknown to this worker ({reason}); the job waits and is tried again. "
            f"Deploy the code that defines it, or cancel the job."
        )


class JobCancelled(ConveyorError):
    """A job was cancelled: while it waited, or while it ran; shown as the error of its result."""

    def __init__(self, job_id: int, *, running: bool = False) -> None:
        self.job_id = job_id
        self.running = running
        when = "while it ran, so its run was stopped" if running else "before its next run"
        super().__init__(f"job {job_id} was cancelled {when}. To run it after all: conveyor_django.requeue({job_id}).")

    def __reduce__(self) -> tuple[Any, ...]:
        return (partial(type(self), running=self.running), (self.job_id,))


class TaskTimeout(ConveyorError, TimeoutError):
    """A run went on for longer than its task's timeout, so it was stopped."""

    def __init__(self, what: str, seconds: float, *, killed: bool = False) -> None:
        self.what = what
        self.seconds = seconds
        self.killed = killed
        how = "was not stopped by an interruption, so its process was ended" if killed else "was interrupted"
        super().__init__(
            f"{what} ran for longer than its timeout of {seconds:g} s and {how}. "
            f"Give the task a longer timeout=, or split its work."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return (partial(type(self), killed=self.killed), (self.what, self.seconds))


class WaitInTransaction(ConveyorError):
    """A wait for a job's end inside a transaction of its database, which would not see the end."""

    def __init__(self, alias: str) -> None:
        super().__init__(
            f"cancel(wait=…) inside a transaction on database {alias!r}: the request is heard of only once that "
            f"transaction has committed. Call it after the transaction, or leave wait out."
        )


class UnstorableResult(ConveyorError, TypeError):
    """A handler returned what JSON cannot hold."""

    def __init__(self, task: str, reason: object) -> None:
        super().__init__(
            f"{task} returned a value that cannot be stored as JSON: {reason}. "
            f"Return JSON-compatible values only; the run is not repeated."
        )


class InvalidWorkflow(ConveyorError, ValueError):
    """A workflow cannot be stored as it was built, and nothing of it was; or it is not there."""


class InvalidCron(ConveyorError, ValueError):
    """A cron entry cannot be: `field` names what of it is wrong."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)

    def __reduce__(self) -> tuple[type[InvalidCron], tuple[str, str]]:
        return (type(self), (self.field, str(self)))


class DatabaseUnsupported(ConveyorError):
    """Conveyor was pointed at something other than PostgreSQL through psycopg 3."""

    def __init__(self, alias: str, found: str) -> None:
        super().__init__(
            f"database alias {alias!r} is {found}, but Conveyor needs PostgreSQL 14+ through psycopg 3. "
            f"Set CONVEYOR['DATABASE'] to the alias of a PostgreSQL database."
        )


def name_place(error: Exception, place: str) -> None:
    """Let the error's message begin with which of many it is about, such as ``calls[3]``; "" leaves it."""
    if place:
        error.args = (f"{place}: {error}", *error.args[1:])


def kind_of(value: Any) -> str:
    """Return the name of a value's type with its article: a dict, an object."""
    name = type(value).__qualname__
    return f"{'an' if name[0] in 'aeioAEIO' else 'a'} {name}"


def describe(value: Any, limit: int = 80) -> str:
    """Return a short repr of `value` for an error message; its type where it has none."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an integer of too many digits, or anybody's code
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
