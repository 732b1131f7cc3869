"""Conveyor's exceptions: each names the value that is wrong and says what to do."""

from __future__ import annotations

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
    """The idempotency key belongs to a job with another payload."""

    def __init__(self, key: str, queue: str, existing: str, refused: str) -> None:
        self.key = key
        self.queue = queue
        super().__init__(
            f"idempotency key {key!r} of queue {queue!r} already belongs to {existing}, "
            f"so {refused} was not enqueued. Use another key for another piece of work."
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
    """An atomic handler wrote to another database than its job's: that write would not be part of its commit."""

    def __init__(self, task: str, alias: str, other: str) -> None:
        super().__init__(
            f"{task} is atomic on database {alias!r}, so its write to {other!r} was refused: it would stay when the "
            f"transaction on {alias!r} rolls back. Write there in a task of its own, without atomic=True."
        )


class LeftOpen(ConveyorError):
    """An atomic handler returned with a transaction.atomic() block still open, so that nothing could commit."""

    def __init__(self, task: str) -> None:
        super().__init__(
            f"{task} returned with a transaction.atomic() block left open, so its transaction was rolled back. "
            f"Use `with transaction.atomic():`, which always ends the block."
        )


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
    """A job was cancelled while it waited; shown as the error of its result."""

    def __init__(self, job_id: int) -> None:
        self.job_id = job_id
        super().__init__(
            f"job {job_id} was cancelled before its next run. To run it after all: conveyor_django.requeue({job_id})."
        )

    def __reduce__(self) -> tuple[type[JobCancelled], tuple[int]]:
        return (type(self), (self.job_id,))


class UnstorableResult(ConveyorError, TypeError):
    """A handler returned what JSON cannot hold."""

    def __init__(self, task: str, reason: object) -> None:
        super().__init__(
            f"{task} returned a value that cannot be stored as JSON: {reason}. "
            f"Return JSON-compatible values only; the run is not repeated."
        )


class DatabaseUnsupported(ConveyorError):
    """Conveyor was pointed at something other than PostgreSQL through psycopg 3."""

    def __init__(self, alias: str, found: str) -> None:
        super().__init__(
            f"database alias {alias!r} is {found}, but Conveyor needs PostgreSQL 14+ through psycopg 3. "
            f"Set CONVEYOR['DATABASE'] to the alias of a PostgreSQL database."
        )


def describe(value: Any, limit: int = 80) -> str:
    """Return a short repr of `value` for an error message; its type where it has none."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an integer of too many digits, or anybody's code
        text = f"<{type(value).__qualname__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
