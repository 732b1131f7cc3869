"""The states of a job and the one table of its legal transitions.

Everything else is held against this table: the SQL by a trigger that the test suite installs, the
documentation by a test, the CHECK constraint by the migration.

        enqueue                    promote
    (new) ──┬─────────► scheduled ─────────► ready ──claim──► running ──succeed──► succeeded
            │               ▲                 ▲ ▲               │ │
            ├─────────► ready (run_at is due) │ │               │ ├──fail──► failed ──┐
            └─────────► blocked               │ └──requeue──────│─┼──────────────────┤
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


TERMINAL: Final = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
WAITING: Final = frozenset({JobState.BLOCKED, JobState.SCHEDULED, JobState.READY})

_S = JobState
_BACK: Final = frozenset({_S.READY, _S.SCHEDULED})

# verb → (states it may start from, states it may end in). None is "no row": before enqueue, after prune.
# A running job whose cancellation was requested ends `cancelled` by every verb but `succeed`.
TRANSITIONS: Final[dict[Verb, tuple[frozenset[JobState | None], frozenset[JobState | None]]]] = {
    Verb.ENQUEUE: (frozenset({None}), WAITING),
    Verb.PROMOTE: (frozenset({_S.SCHEDULED}), frozenset({_S.READY})),
    Verb.CLAIM: (frozenset({_S.READY}), frozenset({_S.RUNNING})),
    Verb.RENEW: (frozenset({_S.RUNNING}), frozenset({_S.RUNNING})),
    Verb.SUCCEED: (frozenset({_S.RUNNING}), frozenset({_S.SUCCEEDED})),
    Verb.RETRY: (frozenset({_S.RUNNING}), _BACK | {_S.CANCELLED}),
    Verb.SNOOZE: (frozenset({_S.RUNNING}), _BACK | {_S.CANCELLED}),
    Verb.FAIL: (frozenset({_S.RUNNING}), frozenset({_S.FAILED, _S.CANCELLED})),
    # Of a running job it is a request, which changes no state; the verb that ends the run does.
    Verb.CANCEL: (WAITING, frozenset({_S.CANCELLED})),
    # Releases and losses are bounded: past the bound the job is `failed`.
    Verb.RELEASE: (frozenset({_S.RUNNING}), _BACK | {_S.FAILED, _S.CANCELLED}),
    Verb.RESCUE: (frozenset({_S.RUNNING}), frozenset({_S.READY, _S.FAILED, _S.CANCELLED})),
    Verb.REQUEUE: (frozenset({_S.FAILED, _S.CANCELLED}), frozenset({_S.READY})),
    Verb.PRUNE: (TERMINAL, frozenset({None})),
}


def is_legal(before: JobState | None, after: JobState | None) -> bool:
    """Say whether any verb leads from `before` to `after`."""
    return any(before in start and after in end for start, end in TRANSITIONS.values())
