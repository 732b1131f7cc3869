"""Whether a scheduler does what jobs wait for: promotes, rescues, ticks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ...models import Job
from ...states import JobState
from ..fleet import Fleet
from ..wording import counted, lasting, listed
from .finding import Check, Finding, problem, warning

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Late jobs that are counted at most.
COUNTED: Final = 1000


def schedulers(fleet: Fleet) -> Iterator[Finding]:
    """Find that no scheduler works, or that one stands still."""
    start = (
        f"Start one: manage.py conveyor_scheduler --database {fleet.alias}, or a worker without --no-scheduler, which "
        f"has one."
    )
    if fleet.has_scheduler is False and not fleet.frozen_schedulers:
        yield problem(
            "no_scheduler",
            "no scheduler is connected: scheduled jobs and retries are not made ready, cron does not tick, and nobody "
            "rescues the jobs of dead workers.",
            start,
        )
    for session in fleet.frozen_schedulers:
        yield (warning if fleet.schedulers else problem)(
            "scheduler_silent",
            f"{session.name.removeprefix('conveyor ')} (backend {session.pid}) has not asked the database anything "
            f"for {lasting(session.silent or 0.0)}: it is frozen, or its connection is half open.",
            f"Look at that process, and restart it. {start}",
        )


def late_work(fleet: Fleet) -> Iterator[Finding]:
    """Find what some scheduler should have done by now, whatever is known of schedulers."""
    late = fleet.now - dt.timedelta(seconds=fleet.scheduler_patience)
    due = Job.objects.using(fleet.alias).filter(state=JobState.SCHEDULED, run_at__lt=late).order_by("run_at")
    lapsed = Job.objects.using(fleet.alias).filter(state=JobState.RUNNING, lease_expires_at__lt=late)
    yield from _late(fleet, due, "promotion_late", "should have been made ready")
    yield from _late(fleet, lapsed, "rescue_late", "should have been rescued, since the lease has lapsed,")


def _late(fleet: Fleet, jobs: QuerySet[Job], code: str, what: str) -> Iterator[Finding]:
    ids = list(jobs.values_list("pk", flat=True)[:COUNTED])
    if ids:
        yield problem(
            code,
            f"{counted(len(ids), 'job', bound=COUNTED)} {what} more than {lasting(fleet.scheduler_patience)} ago: "
            f"{listed(ids)}. No scheduler works, or somebody holds their rows.",
            f"See why: manage.py conveyor_explain {ids[0]} --database {fleet.alias}",
        )


SCHEDULERS: Final = Check("A scheduler is at work.", schedulers)
LATE: Final = Check("Nothing waits for a scheduler.", late_work)
