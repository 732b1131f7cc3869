"""The answer: a job's state, and why it is in it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from ...states import JobState

if TYPE_CHECKING:
    import datetime as dt

# One has succeeded or failed, but is cancelled.
_HAS: Final = frozenset({JobState.SUCCEEDED, JobState.FAILED})


class Code(StrEnum):
    """The reasons, as scripts know them."""

    NO_SUCH_JOB = "no_such_job"
    # running
    RUNNING = "running"
    CANCEL_REQUESTED = "cancel_requested"
    LEASE_LAPSED = "lease_lapsed"
    OWNER_GONE = "owner_gone"
    # ended
    SUCCEEDED = "succeeded"
    ATTEMPTS_USED = "attempts_used"
    LOST_TOO_OFTEN = "lost_too_often"
    RELEASED_TOO_OFTEN = "released_too_often"
    FAILED_FOR_GOOD = "failed_for_good"
    CANCELLED = "cancelled"
    # scheduled
    SCHEDULED = "scheduled"
    RETRY_DELAY = "retry_delay"
    SNOOZED = "snoozed"
    RELEASED = "released"
    DUE = "due"
    NO_SCHEDULER = "no_scheduler"
    SCHEDULER_SILENT = "scheduler_silent"
    # blocked
    WAITS_FOR_JOBS = "waits_for_jobs"
    NEEDED_JOB_FAILED = "needed_job_failed"
    WAITS_FOR_SWEEP = "waits_for_sweep"
    WAITS_FOR_WORKFLOW = "waits_for_workflow"
    STUCK = "stuck"
    # ready
    ROW_LOCKED = "row_locked"
    QUEUE_PAUSED = "queue_paused"
    TASK_PAUSED = "task_paused"
    SOFT_CAP = "soft_cap"
    EXACT_CAP = "exact_cap"
    KEY_CAP = "key_cap"
    PARKED = "parked"
    NO_WORKER = "no_worker"
    QUEUE_WITHOUT_WORKER = "queue_without_worker"
    WORKERS_DRAINING = "workers_draining"
    SLOTS_IN_USE = "slots_in_use"
    WORKERS_WITH_SUSPECT = "workers_with_suspect"
    SUSPECT = "suspect"
    TASK_UNKNOWN = "task_unknown"
    LISTENER_DEAF = "listener_deaf"
    AHEAD_IN_LINE = "ahead_in_line"
    CLAIMABLE = "claimable"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: `text` says what is so, `remedy` what to do, with the command to type; "" where nothing is."""

    code: Code
    text: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a job is where it is: `reasons`, the most important first, never none.

    `state` is None where there is no such job; `task` and `queue` are "" then. `now` is the database's time.
    """

    id: int
    database: str
    state: JobState | None
    task: str
    queue: str
    now: dt.datetime
    reasons: list[Reason]

    @property
    def headline(self) -> str:
        """The state in a line: job default:42 (shop.tasks.charge) of queue 'orders' is ready."""
        job = f"job {self.database}:{self.id}"
        if self.state is None:
            return f"{job} does not exist"
        verb = "has" if self.state in _HAS else "is"
        return f"{job} ({self.task}) of queue {self.queue!r} {verb} {self.state.value}"

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "job": f"{self.database}:{self.id}",
            "id": self.id,
            "database": self.database,
            "state": None if self.state is None else self.state.value,
            "task": self.task,
            "queue": self.queue,
            "now": self.now.isoformat(),
            "headline": self.headline,
            "reasons": [asdict(reason) | {"code": reason.code.value} for reason in self.reasons],
        }
