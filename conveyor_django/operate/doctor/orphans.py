"""What has lost its other half."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from ...managers.looking import LookManager
from ...models import Job, Permit
from ...states import JobState
from ..fleet import Fleet
from ..wording import counted, listed
from .finding import Check, Finding, problem, warning

# Rows of each table that are looked at: the oldest, which are those that a prune has left behind.
LOOKED_AT: Final = 10_000
# Jobs that are counted at most.
_COUNTED: Final = 1000
# Permits that nobody has taken are deleted after an hour.
_IDLE: Final = dt.timedelta(days=1)
_TABLES: Final = {
    "payload": "conveyor_payload", "attempt": "conveyor_attempt", "ledger": "conveyor_ledger",
    "edge": "conveyor_dependency",
}  # fmt: skip


def running_without_owner(fleet: Fleet) -> Iterator[Finding]:
    """Find running jobs whose worker has no row, while their lease is still good."""
    owners = [worker.incarnation for worker in fleet.workers]
    jobs = Job.objects.using(fleet.alias).filter(state=JobState.RUNNING, lease_expires_at__gte=fleet.now)
    ids = sorted(jobs.exclude(lease_owner__in=owners).values_list("pk", flat=True)[:_COUNTED])
    if ids:
        yield warning(
            "owner_gone",
            f"{counted(len(ids), 'job', bound=_COUNTED)} run whose worker is not known any more: {listed(ids)}. They "
            "are rescued when their leases lapse.",
            f"Nothing. To take them back now: manage.py conveyor_explain {ids[0]} --database {fleet.alias} names the "
            "worker for manage.py conveyor_rescue.",
        )


def halves(fleet: Fleet) -> Iterator[Finding]:
    """Find rows of jobs that are gone, and jobs without their arguments."""
    look: LookManager = LookManager().db_manager(fleet.alias)
    found: dict[str, set[int]] = defaultdict(set)
    for kind, job_id in look.find_orphans(limit=LOOKED_AT):
        found[kind].add(job_id)
    if ids := sorted(found.pop("job", ())):
        yield problem(
            "job_without_payload",
            f"{counted(len(ids), 'job')} {'has' if len(ids) == 1 else 'have'} lost the arguments, which somebody has "
            f"deleted: {listed(ids)}.",
            f"They cannot be run: manage.py conveyor_cancel {fleet.alias}:{ids[0]}; then enqueue the work again.",
        )
    for kind, gone in sorted(found.items()):
        ids = sorted(gone)
        yield warning(
            f"{kind}_without_job",
            f"{_TABLES[kind]} has rows of {counted(len(ids), 'job')} that somebody has deleted: {listed(ids)}.",
            _removal(kind, ids[0]) + " Delete jobs by manage.py conveyor_prune alone, which takes all that is theirs.",
        )


def idle_permits(fleet: Fleet) -> Iterator[Finding]:
    """Find permits that prune should have deleted."""
    idle = Permit.objects.using(fleet.alias).filter(taken_at__lt=fleet.now - _IDLE)
    runs = dict(idle.values_list("job_id", "lease_version")[:_COUNTED])
    jobs = Job.objects.using(fleet.alias).filter(pk__in=runs, state=JobState.RUNNING)
    held = {job_id for job_id, version in jobs.values_list("pk", "lease_version") if runs[job_id] == version}
    if free := len(runs.keys() - held):
        yield warning(
            "permits_idle",
            f"permits of {counted(free, 'run')} that {'has' if free == 1 else 'have'} ended were not taken for a "
            "day, and not deleted: nobody prunes.",
            f"Start a scheduler: manage.py conveyor_scheduler --database {fleet.alias}; its log says what keeps it "
            "(see scheduler.error).",
        )


def _removal(kind: str, first: int) -> str:
    delete = f"DELETE FROM {_TABLES[kind]} WHERE job_id = {first};"  # noqa: S608 - for a person to read
    return f"BEGIN; SET LOCAL conveyor.pruning = 'on'; {delete} COMMIT;" if kind == "ledger" else delete


OWNERS: Final = Check("Every running job has a worker.", running_without_owner)
HALVES: Final = Check("Jobs and what belongs to them are together.", halves)
PERMITS: Final = Check("Idle permits are pruned.", idle_permits)
