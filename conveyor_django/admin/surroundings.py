"""What is around a job in its workflow: what it waits for, what waits for it, and the picture of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import Workflow
from .graph import Graph, Picture, draw_nearby, read_picture
from .places import page_of
from .relations import SHOWN, Listing, Relative, Tie, read_members, read_relatives, read_ties
from .rows import alias_of

if TYPE_CHECKING:
    from ..models import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """An edge with the job at its other end."""

    job: Relative
    on_failure: str
    resolved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The workflow of a job, and the jobs around it there."""

    workflow: Workflow | None
    url: str
    needs: Listing
    dependants: Listing
    picture: Picture
    # Of a workflow that is too large to draw: the part of it around the job.
    nearby: Graph | None


def read_surroundings(job: Job, workflow_id: int, name: str | None) -> Surroundings:
    """Read what is around a job of a workflow, in which it is called `name`. Eight queries, or nine."""
    alias = alias_of(job)
    workflow = Workflow.objects.using(alias).filter(pk=workflow_id).first()
    needs, dependants = read_ties(alias, job.pk)
    around = read_relatives(alias, [*(tie.needs for tie in needs), *(tie.job for tie in dependants)])
    picture = read_picture(alias, workflow_id, read_members(alias, workflow_id), here=job.pk)
    here = Relative(id=job.pk, state=job.state, task=job.task, name=name)
    is_alone = not needs and not dependants
    return Surroundings(
        workflow=workflow,
        url=page_of(workflow) if workflow else "",
        needs=_listing(needs, [tie.needs for tie in needs], around),
        dependants=_listing(dependants, [tie.job for tie in dependants], around),
        picture=picture,
        nearby=None if picture.graph or is_alone else draw_nearby(here, needs, dependants, around),
    )


def _listing(ties: Sequence[Tie], others: Sequence[int], around: Mapping[int, Relative]) -> Listing:
    rows = [
        Related(job=around[other], on_failure=tie.on_failure, resolved=tie.resolved)
        for tie, other in zip(ties[:SHOWN], others, strict=False)
    ]
    return Listing(rows=rows, has_more=len(ties) > SHOWN)
