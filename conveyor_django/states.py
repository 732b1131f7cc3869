"""The states of a job, the one table of its legal transitions, and the other words that rows hold.

Everything else is held against this table: the SQL by a trigger that the test suite installs, the
documentation by a test, the CHECK constraint by the migration.

        enqueue                    promote
    (new) ──┬─────────► scheduled ─────────► ready ──claim──► running ──succeed──► succeeded
            │               ▲                 ▲ ▲               │ │
            ├─────────► ready (run_at is due) │ │               │ ├──fail──► failed ──┐
            └─────────► blocked ──promote─────┤ └──requeue──────│─┼──────────────────┤
                            retry · snooze ◄──┴─────────────────┘ └──cancel─► cancelled
                            release · rescue
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class JobState(StrEnum):
    """Where a job is in its life; the value is what the database stores."""

    # Waits for other jobs.
    BLOCKED = "blocked"
    # run_at lies ahead; a retry that waits for its delay is here too.
    SCHEDULED = "scheduled"
    # May be claimed now.
    READY = "ready"
    # Leased to a worker.
    RUNNING = "running"
    # Ended well: its ledger row exists.
    SUCCEEDED = "succeeded"
    # Ended by its retry budget, by its lost budget, or because its handler said so.
    FAILED = "failed"
    # Ended because somebody asked for it.
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing but `requeue` changes a job in this state."""
        return self in TERMINAL


class Verb(StrEnum):
    """What may happen to a job; SQL files, manager methods, log lines and metrics use these words."""

    ENQUEUE = "enqueue"
    PROMOTE = "promote"
    CLAIM = "claim"
    RENEW = "renew"
    SUCCEED = "succeed"
    RETRY = "retry"
    SNOOZE = "snooze"
    FAIL = "fail"
    CANCEL = "cancel"
    RELEASE = "release"
    RESCUE = "rescue"
    REQUEUE = "requeue"
    PRUNE = "prune"


class Parked(StrEnum):
    """Why a ready job is out of the claims' way; `unpark` puts it back in line."""

    # As many jobs of its concurrency key run as may.
    KEY = "key"
    # Its task is paused.
    TASK = "task"


class WorkflowRole(StrEnum):
    """When a workflow's callback runs: once no other job of the workflow is left to end."""

    # Every job succeeded.
    ON_SUCCESS = "on_success"
    # Some job failed or was cancelled.
    ON_FAILURE = "on_failure"
    # Either way.
    ON_COMPLETION = "on_completion"


class OnFailure(StrEnum):
    """What becomes of a job when one that it needs fails or is cancelled."""

    # It is cancelled too.
    CANCEL = "cancel"
    # It goes on as if it had not needed it.
    IGNORE = "ignore"
    # It goes on, and is told of the failure.
    RUN = "run"


class OnConflict(StrEnum):
    """What becomes of an enqueue whose key is taken; without it the same work finds that job, other work raises."""

    # The job that has the key stays and is returned, whatever its work.
    KEEP = "keep"
    # It raises, also for the same work.
    ERROR = "error"
    # The new one has the key: a job that waits is cancelled, one that has ended goes without it.
    REPLACE = "replace"


class Missed(StrEnum):
    """What becomes of a cron entry's ticks that nobody was there for."""

    # They are dropped.
    SKIP = "skip"
    # The newest of them is enqueued.
    LATEST = "latest"
    # All of them are, up to the entry's bound.
    ALL = "all"


class Overlap(StrEnum):
    """What becomes of a tick while the job of the one before has not ended."""

    ALLOW = "allow"
    SKIP = "skip"


TERMINAL: Final = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
WAITING: Final = frozenset({JobState.BLOCKED, JobState.SCHEDULED, JobState.READY})

_S = JobState
_BACK: Final = frozenset({_S.READY, _S.SCHEDULED})

# verb → (states it may start from, states it may end in). None is "no row": before enqueue, after prune.
# A running job whose cancellation was requested ends `cancelled` by every verb but `succeed`.
TRANSITIONS: Final[dict[Verb, tuple[frozenset[JobState | None], frozenset[JobState | None]]]] = {
    Verb.ENQUEUE: (frozenset({None}), WAITING),
    # Of a blocked job: all that it needs has ended; its own run_at may still lie ahead.
    Verb.PROMOTE: (frozenset({_S.SCHEDULED, _S.BLOCKED}), _BACK),
    Verb.CLAIM: (frozenset({_S.READY}), frozenset({_S.RUNNING})),
    Verb.RENEW: (frozenset({_S.RUNNING}), frozenset({_S.RUNNING})),
    Verb.SUCCEED: (frozenset({_S.RUNNING}), frozenset({_S.SUCCEEDED})),
    Verb.RETRY: (frozenset({_S.RUNNING}), _BACK | {_S.CANCELLED}),
    Verb.SNOOZE: (frozenset({_S.RUNNING}), _BACK | {_S.CANCELLED}),
    Verb.FAIL: (frozenset({_S.RUNNING}), frozenset({_S.FAILED, _S.CANCELLED})),
    # Of a running job it is a handler's own word; from outside it is a request, which changes no state: the verb that
    # ends the run does.
    Verb.CANCEL: (WAITING | {_S.RUNNING}, frozenset({_S.CANCELLED})),
    # Releases and losses are bounded: past the bound the job is `failed`.
    Verb.RELEASE: (frozenset({_S.RUNNING}), _BACK | {_S.FAILED, _S.CANCELLED}),
    Verb.RESCUE: (frozenset({_S.RUNNING}), frozenset({_S.READY, _S.FAILED, _S.CANCELLED})),
    # Within a workflow that is run again, a job waits again for those that it needs.
    Verb.REQUEUE: (frozenset({_S.FAILED, _S.CANCELLED}), frozenset({_S.READY, _S.BLOCKED})),
    Verb.PRUNE: (TERMINAL, frozenset({None})),
}


def is_legal(before: JobState | None, after: JobState | None) -> bool:
    """Say whether any verb leads from `before` to `after`."""
    return any(before in start and after in end for start, end in TRANSITIONS.values())
