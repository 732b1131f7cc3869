"""Whether jobs fail, more than now and then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ...models import Job
from ..fleet import Fleet
from ..overview.moment import ENDED_COUNTED
from ..overview.rates import Ends, lately
from .finding import Check, Finding, warning

# The share from which on docs/alerts.yml tells too; and what a single bad job is not.
SHARE: Final = 0.1
FEW: Final = 3


def failing(ended: Mapping[str, Ends], alias: str) -> Iterator[Finding]:
    """Find queues of which more than a SHARE of the jobs that ended lately have failed, and no FEW."""
    for queue, each in sorted(ended.items()):
        failed, jobs = each.failed.jobs, each.succeeded.jobs + each.failed.jobs + each.cancelled.jobs
        if failed >= FEW and failed > SHARE * jobs:
            yield warning(
                "jobs_fail",
                f"jobs of queue {queue!r} fail: {failed:,} of the {jobs:,} that ended in the last 15 minutes.",
                f"See which, and of what: manage.py conveyor_retry --queue {queue} --dry-run --database {alias}. Until "
                f"that is mended, this keeps more from failing: manage.py conveyor_pause {queue}",
            )


def failing_queues(fleet: Fleet) -> Iterator[Finding]:
    """Find them by the newest jobs that ended."""
    jobs = Job.objects.db_manager(fleet.alias)
    yield from failing(
        lately(jobs.count_ended(limit=ENDED_COUNTED, failures=ENDED_COUNTED, now=fleet.now)), fleet.alias
    )


FAILURES: Final = Check("Of the newest jobs that ended, at most one in ten has failed in every queue.", failing_queues)
