"""The tables: job and payload (hot), ledger and attempt (append-only), the others small.

Rows are written by the statements in `sql/` through the managers; the models give Django's migrations, admin
and queries a view of them.
"""

from .attempt import Attempt
from .cron import Cron
from .job import Job, Payload
from .ledger import Ledger
from .permit import PausedTask, Permit
from .queue import Queue
from .token import ApiToken
from .worker import Worker
from .workflow import Dependency, Workflow

__all__ = [
    "ApiToken", "Attempt", "Cron", "Dependency", "Job", "Ledger", "PausedTask", "Payload", "Permit", "Queue", "Worker",
    "Workflow",
]  # fmt: skip
