"""The admin: jobs to look at, queues to set, workers to look at.

`base.py` is what the pages have in common, `paginator.py` and `filters.py` keep a list of millions of jobs
cheap, `search.py` finds jobs by index, `render.py` makes values readable and safe.
"""

from .jobs import JobAdmin
from .queues import QueueAdmin
from .workers import WorkerAdmin

__all__ = ["JobAdmin", "QueueAdmin", "WorkerAdmin"]
