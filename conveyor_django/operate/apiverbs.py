"""What the HTTP API is asked to do: the verbs that a token is for, and the permission that a user needs for each."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class ApiVerb(StrEnum):
    """What a caller may be allowed to do; the value is what a token's row and its command have."""

    # Store jobs of tasks that were declared with http=True.
    ENQUEUE = "enqueue"
    # See jobs and queues, but not what jobs are about.
    READ = "read"
    # See arguments, results and errors too; with `read`.
    INSPECT = "inspect"
    CANCEL = "cancel"
    # Make failed and cancelled jobs ready again.
    RETRY = "retry"
    # Pause and resume queues.
    PAUSE = "pause"


# Of a user with a Django session.
PERMISSIONS: Final[Mapping[ApiVerb, str]] = {
    ApiVerb.ENQUEUE: "conveyor.add_job",
    ApiVerb.READ: "conveyor.view_job",
    ApiVerb.INSPECT: "conveyor.edit_job",
    ApiVerb.CANCEL: "conveyor.cancel_job",
    ApiVerb.RETRY: "conveyor.retry_job",
    ApiVerb.PAUSE: "conveyor.pause_queue",
}
