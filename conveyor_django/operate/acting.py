"""What somebody does to one job by hand: it is done, or it is said why not, exactly, whoever else is at it.

The job's row is locked before anything is asked of it, so that of two who do the same one did it, and the other is told
in which state the job was.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import psycopg
from django.db import OperationalError

from ..control import cancel, requeue, run_now
from ..results import result_id
from ..retry import growing_pauses
from ..states import WAITING, JobState
from ..transactions import joined

if TYPE_CHECKING:
    from ..models import Job

_S = JobState
# Seconds that a row which somebody else has locked is tried for.
PATIENCE: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something that may be done to a job: `do` is given the id of its result, and says whether it did it."""

    name: str
    states: frozenset[JobState]
    do: Callable[[str], object]


class Answer(NamedTuple):
    """What came of it: whether it was done, and the job's state, as it was before; None where there is no such job."""

    done: bool
    state: JobState | None
    told: str


RETRY: Final = Act(name="retry", states=frozenset({_S.FAILED, _S.CANCELLED}), do=requeue)
CANCEL: Final = Act(name="cancel", states=WAITING | {_S.RUNNING}, do=cancel)
RUN_NOW: Final = Act(name="run-now", states=frozenset({_S.SCHEDULED}), do=run_now)


def act_on(
    act: Act, job_id: int, alias: str, *, then: Callable[[Job], None] | None = None, deadline: float | None = None
) -> Answer:
    """Do it to the job, and then what the caller has to say of that, both or neither where it goes to that database.

    A row that somebody has locked is tried again until the deadline (of time.monotonic()), which is PATIENCE from now
    unless given. Database errors pass through, and what `then` raises.
    """
    deadline = time.monotonic() + PATIENCE if deadline is None else deadline
    for pause in growing_pauses():
        try:
            with joined(alias):
                return _act(act, job_id, alias, then)
        except OperationalError as error:
            if not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                raise
        if time.monotonic() + pause > deadline:
            break
        time.sleep(pause)
    return Answer(False, None, "locked by somebody at the moment; try again")


def _act(act: Act, job_id: int, alias: str, then: Callable[[Job], None] | None) -> Answer:
    job = _locked(job_id, alias)
    if job is None:
        return Answer(False, None, "not there any more")
    state = JobState(job.state)
    if state not in act.states:
        return Answer(False, state, str(state))
    if act is CANCEL and job.cancel_requested_at is not None and state == _S.RUNNING:
        return Answer(False, state, "asked to stop before, and still running")
    if not act.do(result_id(alias, job_id)):
        return Answer(False, state, str(state))
    if then is not None:
        then(job)
    return Answer(True, state, "running, and asked to stop" if state == _S.RUNNING else "")


def _locked(job_id: int, alias: str) -> Any:
    """Return the job, its row locked; None where there is none. Raises OperationalError where somebody else has it."""
    from ..models import Job

    # NOWAIT, and not a timeout, which the rest of the caller's transaction would have as well.
    return Job.objects.using(alias).select_for_update(no_key=True, nowait=True).filter(pk=job_id).first()
