"""Conveyor: a durable job queue and workflow engine for Django on PostgreSQL alone.

The life of a job, file by file:

enqueue   `tasks.py` has the decorator and the task; `backend.py` receives ``task.enqueue(...)``; `enqueue.py`
          checks the call and `store.py` stores it: `sql/enqueue_job.sql`, on the caller's connection, prepared where
          `preparing.py` may. `bulk.py` does so with many; `conflicts.py` says what becomes of one whose key is taken.
claim     `worker/pump.py` asks for as many jobs as there are free slots: `sql/claim_plain_jobs.sql` leases them, or
          `sql/claim_jobs.sql` where caps, keys or pauses have a say.
run       `worker/executor.py` gives each a thread (`worker/handoff.py`) or the event loop; `worker/handler.py` calls
          the function, with its `context.py`; `worker/atomic.py` where its writes and its success are one commit,
          `worker/group.py` where several quick ones are, which wait in `worker/line.py`: those of which
          `worker/grouping.py` knows that they may, by `worker/paces.py`; `worker/traces.py` sorts out the rest;
          `effects.py` and `steps.py` have what it may commit on its way.
renew     `worker/heartbeat.py` extends the leases, by job and version: `sql/renew_leases.sql`; it hears of cancelled
          jobs so. `worker/deadlines.py` stops what must end.
outcome   `worker/ends.py` and `worker/decide.py` say what the end means, and touch no database; the pump writes it,
          fenced: `sql/succeed_jobs.sql`, `sql/end_attempts.sql`, with the next claim in one round trip (`pipeline.py`).
ledger    the same statement writes the one row that says that the effect has committed: `models/ledger.py`.
wake-up   `notify.py` rings, `worker/wakeup.py` listens; `scheduler/loop.py` makes due jobs ready and takes
          back those whose worker is gone.

Around it: `states.py` has the states and what may lead where; `worker/supervisor.py` keeps the processes of
`worker/child.py` alive; `results.py` shows a job as Django's TaskResult; `control.py` cancels, runs now and requeues;
`workflows/builder.py` builds graphs of jobs, and a trigger of `migrations/0004_workflows.py` releases what waits;
`queues.py` pauses and sets caps, which `sql/claim_jobs.sql` heeds and `worker/limits.py` follows up;
`crontab.py` declares cron entries, `cronspec.py` says when they tick, `scheduler/ticks.py` has them enqueued;
`testing/` is for the tests of projects.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bulk import aenqueue_many as aenqueue_many
    from .bulk import enqueue_many as enqueue_many
    from .calls import Call as Call
    from .context import ConveyorContext as ConveyorContext
    from .control import acancel as acancel
    from .control import cancel as cancel
    from .control import requeue as requeue
    from .control import run_now as run_now
    from .crontab import cron as cron
    from .endings import Cancel as Cancel
    from .endings import Fail as Fail
    from .endings import Retry as Retry
    from .endings import Snooze as Snooze
    from .errors import ConveyorError as ConveyorError
    from .errors import DatabaseUnsupported as DatabaseUnsupported
    from .errors import ForeignTransaction as ForeignTransaction
    from .errors import IdempotencyConflict as IdempotencyConflict
    from .errors import InvalidArguments as InvalidArguments
    from .errors import InvalidCron as InvalidCron
    from .errors import InvalidWorkflow as InvalidWorkflow
    from .errors import JobCancelled as JobCancelled
    from .errors import LeaseLost as LeaseLost
    from .errors import PayloadTooLarge as PayloadTooLarge
    from .errors import TaskTimeout as TaskTimeout
    from .errors import UnknownTask as UnknownTask
    from .errors import UnstorableResult as UnstorableResult
    from .errors import WaitInTransaction as WaitInTransaction
    from .queues import pause_queue as pause_queue
    from .queues import pause_task as pause_task
    from .queues import resume_queue as resume_queue
    from .queues import resume_task as resume_task
    from .queues import set_caps as set_caps
    from .retry import Exponential as Exponential
    from .retry import Fixed as Fixed
    from .retry import Linear as Linear
    from .tasks import ConveyorTask as ConveyorTask
    from .tasks import task as task
    from .workflows import Needed as Needed
    from .workflows import cancel_workflow as cancel_workflow
    from .workflows import extend_workflow as extend_workflow
    from .workflows import needs as needs
    from .workflows import retry_workflow as retry_workflow
    from .workflows import workflow as workflow

__version__ = "0.1.0"

# Where each public name lives. Imported at first use: most of it needs settings, and some of it the apps.
_HOMES = {
    "Call": "calls",
    "Cancel": "endings",
    "ConveyorContext": "context",
    "ConveyorError": "errors",
    "ConveyorTask": "tasks",
    "DatabaseUnsupported": "errors",
    "Exponential": "retry",
    "Fail": "endings",
    "Fixed": "retry",
    "ForeignTransaction": "errors",
    "IdempotencyConflict": "errors",
    "InvalidArguments": "errors",
    "InvalidCron": "errors",
    "InvalidWorkflow": "errors",
    "JobCancelled": "errors",
    "LeaseLost": "errors",
    "Linear": "retry",
    "Needed": "workflows",
    "PayloadTooLarge": "errors",
    "Retry": "endings",
    "Snooze": "endings",
    "TaskTimeout": "errors",
    "UnknownTask": "errors",
    "UnstorableResult": "errors",
    "WaitInTransaction": "errors",
    "acancel": "control",
    "aenqueue_many": "bulk",
    "cancel": "control",
    "cancel_workflow": "workflows",
    "enqueue_many": "bulk",
    "cron": "crontab",
    "pause_queue": "queues",
    "pause_task": "queues",
    "extend_workflow": "workflows",
    "needs": "workflows",
    "requeue": "control",
    "resume_queue": "queues",
    "resume_task": "queues",
    "run_now": "control",
    "set_caps": "queues",
    "retry_workflow": "workflows",
    "task": "tasks",
    "workflow": "workflows",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - names, all of them


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
