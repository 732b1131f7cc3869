"""The states of jobs that are named by their results' ids."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from ..compat import TaskResultDoesNotExist
from ..models import Job
from ..results import place_of, result_id
from ..states import JobState

if TYPE_CHECKING:
    from collections.abc import Iterable


def states_of(names: Iterable[str]) -> dict[str, JobState | None]:
    """Return the state of each job, by the id of its result (``default:42``); None where there is none.

    Raises ValueError for what is no such id, as `control.cancel` does.
    """
    ids: dict[str, list[int]] = defaultdict(list)
    wanted = list(names)
    for name in wanted:
        job_id, alias = _place_of(name)
        ids[alias].append(job_id)
    found = {
        result_id(alias, job_id): JobState(state)
        for alias, job_ids in ids.items()
        for job_id, state in Job.objects.using(alias).filter(pk__in=job_ids).values_list("pk", "state")
    }
    return {name: found.get(name) for name in wanted}


def _place_of(name: str) -> tuple[int, str]:
    try:
        return place_of(name)
    except TaskResultDoesNotExist:
        raise ValueError(
            f"{name!r} names no job: pass its id, such as 42, or its result's, such as default:42."
        ) from None
