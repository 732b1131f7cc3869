"""The admin: jobs to look at, queues, pauses and cron entries to set, workers to look at.

`base.py` is what the pages have in common, `paginator.py` and `filters.py` keep a list of millions of jobs
cheap, `search.py` finds jobs by index, `render.py` makes values readable and safe.
"""

from .cron import CronAdmin
from .jobs import JobAdmin
from .queues import QueueAdmin
from .tasks import PausedTaskAdmin
from .tokens import ApiTokenAdmin
from .workers import WorkerAdmin
from .workflows import WorkflowAdmin

__all__ = [
    "ApiTokenAdmin", "CronAdmin", "JobAdmin", "PausedTaskAdmin", "QueueAdmin", "WorkerAdmin", "WorkflowAdmin",
]  # fmt: skip
