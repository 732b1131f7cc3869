"""The admin: jobs to look at, queues, pauses and cron entries to set, workers to look at.

`base.py` is what the pages have in common, `paginator.py` and `filters.py` keep a list of millions of jobs
cheap, `search.py` finds jobs by index, `render.py` makes values readable and safe. `dashboard.py` is the page of
everything at a glance, `charts.py` and `dashrows.py` make its parts.
"""

from .cron import CronAdmin
from .dashboard import DashboardAdmin
from .jobs import JobAdmin
from .queues import QueueAdmin
from .tasks import PausedTaskAdmin
from .tokens import ApiTokenAdmin
from .workers import WorkerAdmin
from .workflows import WorkflowAdmin

__all__ = [
    "ApiTokenAdmin", "CronAdmin", "DashboardAdmin", "JobAdmin", "PausedTaskAdmin", "QueueAdmin", "WorkerAdmin",
    "WorkflowAdmin",
]  # fmt: skip
