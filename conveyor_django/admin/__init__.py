"""The admin: jobs to look at, queues, pauses and cron entries to set, workers to look at.

`base.py` is what the pages have in common, `paginator.py` and `filters.py` keep a list of millions of jobs
cheap, `search.py` finds jobs by index, `render.py` makes values readable and safe.

The page of a job is `jobpage.py`: `rows.py`, `relations.py` and `surroundings.py` read what it shows, `jsonview.py`
makes payloads readable, `life.py` puts the rows in the order of time and `timeline.py` draws them by `scale.py`,
`graph.py` draws its workflow by `layout.py`, `trace.py` links to its trace.
"""

from .cron import CronAdmin
from .jobs import JobAdmin
from .queues import QueueAdmin
from .tasks import PausedTaskAdmin
from .workers import WorkerAdmin
from .workflows import WorkflowAdmin

__all__ = ["CronAdmin", "JobAdmin", "PausedTaskAdmin", "QueueAdmin", "WorkerAdmin", "WorkflowAdmin"]
