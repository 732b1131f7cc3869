"""The admin: jobs to look at, queues, pauses and cron entries to set, workers to look at.

`base.py` is what the pages have in common, `paginator.py` and `filters.py` keep a list of millions of jobs
cheap, `search.py` finds jobs by index, `render.py` makes values readable and safe. `dashboard.py` is the page of
everything at a glance, `charts.py` and `dashrows.py` make its parts.

`drawn.py` has pages that a template draws. That of a job is `jobpage.py`: `rows.py`, `relations.py` and
`surroundings.py` read what it shows, `jsonview.py` makes payloads readable, `life.py` puts the rows in the order of
time and `timeline.py` draws them by `scale.py`, `graph.py` draws its workflow by `layout.py`, `trace.py` links to its
trace.

What can be done is in `buttons.py`, to jobs in `jobbuttons.py`, `edit.py` and `matching.py`. The list of jobs is
`joblist.py`, with `candidates.py`, `periods.py` and `typed.py` for its filters.
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
