"""The jobs around a job, and those of a workflow: bounded, without their payloads, a fixed number of queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.db.models import F

from ..models import Dependency, Job
from .places import page_of

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Rows that a table shows, and jobs that are counted exactly; a workflow may have thousands.
SHOWN: Final = 200
COUNTED: Final = 10_000
# Past so many, a drawing says nothing any more.
NODES: Final = 200
EDGES: Final = 600

GONE: Final = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """A job as others see it; one whose row is gone has a state that says so, and no page."""

    id: int
    state: str
    task: str = ""
    name: str | None = None
    role: str | None = None
    # Of a blocked job: how many others it waits for still.
    waits_for: int = 0
    url: str = ""

    @property
    def label(self) -> str:
        """What people call it: its name in the workflow, or its task's last part."""
        return self.name or self.task.rpartition(".")[2] or f"job {self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """An edge: `job` needs `needs`."""

    job: int
    needs: int
    on_failure: str
    resolved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Rows for a table, at most SHOWN of them."""

    rows: list[Any]
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many jobs of a workflow are in which state; of COUNTED jobs at most."""

    states: dict[str, int]
    has_more: bool

    @property
    def total(self) -> int:
        """All that were counted."""
        return sum(self.states.values())


def read_ties(alias: str, job_id: int) -> tuple[list[Tie], list[Tie]]:
    """Return what a job needs and what needs it: of each at most SHOWN and one more, those that are open first."""
    edges = Dependency.objects.using(alias)
    needs = edges.filter(job_id=job_id).order_by("resolved", "needs_id")
    dependants = edges.filter(needs_id=job_id).order_by("resolved", "job_id")
    return _ties(needs[: SHOWN + 1]), _ties(dependants[: SHOWN + 1])


def read_relatives(alias: str, ids: Collection[int]) -> dict[int, Relative]:
    """Return these jobs; also those whose rows are gone."""
    found = {each.id: each for each in _relatives(alias, Job.objects.using(alias).filter(pk__in=ids))} if ids else {}
    return {job_id: found.get(job_id) or Relative(id=job_id, state=GONE) for job_id in ids}


def read_members(alias: str, workflow_id: int) -> list[Relative]:
    """Return the oldest SHOWN jobs of a workflow and one more, if there is one; by two queries.

    Of a workflow of more than COUNTED jobs they are the oldest of those that are read.
    """
    ids = sorted(_some_of(alias, workflow_id).values_list("pk", flat=True))[: SHOWN + 1]
    return list(_relatives(alias, Job.objects.using(alias).filter(pk__in=ids).order_by("pk")))


def read_ties_among(alias: str, ids: Collection[int]) -> list[Tie]:
    """Return the edges of these jobs to what they need: EDGES of them and one more, if there is one."""
    edges = Dependency.objects.using(alias).filter(job_id__in=ids).order_by("job_id", "needs_id")
    return _ties(edges[: EDGES + 1])


def count_states(alias: str, workflow_id: int) -> Counts:
    """Count the jobs of a workflow by state."""
    counted = Counter(_some_of(alias, workflow_id).values_list("state", flat=True))
    return Counts(states=dict(sorted(counted.items())), has_more=counted.total() > COUNTED)


def _some_of(alias: str, workflow_id: int) -> QuerySet[Job]:
    """Return COUNTED jobs of a workflow and one more, if there is one, in no order.

    Sorted or joined by the database, a plan may look for them among all jobs, from the oldest on.
    """
    return Job.objects.using(alias).filter(workflow_id=workflow_id).order_by()[: COUNTED + 1]


def _ties(edges: QuerySet[Dependency]) -> list[Tie]:
    return [
        Tie(job=job, needs=needs, on_failure=on_failure, resolved=resolved)
        for job, needs, on_failure, resolved in edges.values_list("job_id", "needs_id", "on_failure", "resolved")
    ]


def _relatives(alias: str, jobs: QuerySet[Job]) -> Iterable[Relative]:
    names = {"role": F("workflow_role"), "waits_for": F("pending_dependencies"), "name": F("payload__name")}
    for row in jobs.values("id", "state", "task", **names):
        yield Relative(**row, url=url_of(alias, row["id"]))


def url_of(alias: str, job_id: int) -> str:
    """Return the address of a job's page."""
    job = Job(pk=job_id)
    job._state.db = alias  # noqa: SLF001 - documented, despite its name
    return page_of(job)
