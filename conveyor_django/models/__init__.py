"""The tables: job and payload (hot), ledger and attempt (append-only), queue and worker (small).

Rows are written by the statements in `sql/` through the managers; the models give Django's migrations, admin
and queries a view of them. Cron, Dependency and Workflow will stand beside these.
"""

from .attempt import Attempt
from .job import Job, Payload
from .ledger import Ledger
from .queue import Queue
from .worker import Worker

__all__ = ["Attempt", "Job", "Ledger", "Payload", "Queue", "Worker"]
