"""What a handler with ``takes_context=True`` gets as its first argument."""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass
from typing import Final, cast

from django.utils import timezone

from .compat import TaskContext

# Only has to be Conveyor's own: the namespace of the tokens below.
_TOKENS: Final = uuid.UUID("5d1c6f0e-6a3b-4a3e-9a57-1f6d2c0e8b41")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConveyorContext(TaskContext):  # type: ignore[misc,type-arg]  # The stubs do not know that it is frozen
    """The framework's context (`task_result`, `attempt`), and two tokens to pass on to other systems (P6)."""

    # The alias of the database that holds the job, and the job's id there.
    alias: str
    job_id: int
    # Grows with each run of this job and never falls: a system that remembers the highest one it has seen can
    # refuse a zombie.
    fencing_token: int

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
