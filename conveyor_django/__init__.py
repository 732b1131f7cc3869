"""Conveyor: a durable job queue for Django on PostgreSQL alone.

The life of a job, file by file:

enqueue   `tasks.py` has the decorator and the task; `backend.py` receives ``task.enqueue(...)``; `enqueue.py`
          checks the call and stores it: `sql/enqueue_job.sql`, on the caller's connection.
claim     `worker/pump.py` asks for as many jobs as there are free slots: `sql/claim_jobs.sql` leases them.
run       `worker/executor.py` gives each a thread or the event loop; `worker/handler.py` calls the function,
          with its `context.py`; `worker/atomic.py` where its writes and its success are one commit.
renew     `worker/heartbeat.py` extends the leases, by job and version: `sql/renew_leases.sql`.
outcome   `worker/decide.py` says what the end means, and touches no database; the pump writes it, fenced:
          `sql/succeed_jobs.sql`, `sql/end_attempts.sql`.
ledger    the same statement writes the one row that says that the effect has committed: `models/ledger.py`.
wake-up   `notify.py` rings, `worker/wakeup.py` listens; `scheduler/loop.py` makes due jobs ready and takes
          back those whose worker is gone.

Around it: `states.py` has the states and what may lead where; `worker/supervisor.py` keeps the processes of
`worker/child.py` alive; `results.py` shows a job as Django's TaskResult; `control.py` cancels and requeues.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .context import ConveyorContext as ConveyorContext
    from .control import cancel as cancel
    from .control import requeue as requeue
    from .errors import ConveyorError as ConveyorError
    from .errors import DatabaseUnsupported as DatabaseUnsupported
    from .errors import ForeignTransaction as ForeignTransaction
    from .errors import IdempotencyConflict as IdempotencyConflict
    from .errors import InvalidArguments as InvalidArguments
    from .errors import JobCancelled as JobCancelled
    from .errors import LeaseLost as LeaseLost
    from .errors import PayloadTooLarge as PayloadTooLarge
    from .errors import UnknownTask as UnknownTask
    from .errors import UnstorableResult as UnstorableResult
    from .tasks import ConveyorTask as ConveyorTask
    from .tasks import task as task

__version__ = "0.1.0"

# Where each public name lives. Imported at first use: most of it needs settings, and some of it the apps.
_HOMES = {
    "ConveyorContext": "context",
    "ConveyorError": "errors",
    "ConveyorTask": "tasks",
    "DatabaseUnsupported": "errors",
    "ForeignTransaction": "errors",
    "IdempotencyConflict": "errors",
    "InvalidArguments": "errors",
    "JobCancelled": "errors",
    "LeaseLost": "errors",
    "PayloadTooLarge": "errors",
    "UnknownTask": "errors",
    "UnstorableResult": "errors",
    "cancel": "control",
    "requeue": "control",
    "task": "tasks",
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
