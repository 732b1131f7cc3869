"""The newest jobs that match, found within a moment on a table of any size, or the place to look on from.

No index serves every combination of filters, and one for each would cost every job at every step of its life. So the
jobs are walked, from the newest on, in windows that are as large as the time that is left allows: what is common is in
the first window, what is rare takes some, and what would take longer is looked for at the next click. No statement
depends on what the planner believes of how the matches are spread.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from django.db.models import QuerySet

# Jobs of the first window, and how much larger than the one before the next may be.
FIRST: Final = 2_000
GROWTH: Final = 8
# Seconds after which no further window is begun.
PATIENCE: Final = 0.2


@dataclass(frozen=True, slots=True)
class Found:
    """Ids of jobs, the newest first; `before` is the id below which to look on, None where nothing is left to look at.

    `gave_up` says that there was no time to look at all: below `before` may be more, or nothing.
    """

    ids: list[int]
    before: int | None = None
    gave_up: bool = False


def walk(
    jobs: QuerySet[Any], *, among: QuerySet[Any], before: int | None, limit: int, patience: float = PATIENCE
) -> Found:
    """Return up to `limit` of `jobs`, the newest below `before`; all are `among` those, which an index has by id.

    Gives up after `patience` seconds, but not before the first window. Database errors pass through.
    """
    deadline = time.monotonic() + patience
    size, found = FIRST, list[int]()
    while True:
        began = time.monotonic()
        floor = _floor(among, before, size)
        found += _window(jobs, before, floor, limit + 1 - len(found))
        if len(found) > limit:
            return Found(found[:limit], before=found[limit - 1])
        if floor is None:
            return Found(found)
        before = floor
        left = deadline - time.monotonic()
        if left <= 0:
            return Found(found, before=before, gave_up=True)
        # At the pace of this window the next one ends in time.
        pace = (time.monotonic() - began) / size
        size = max(FIRST, min(size * GROWTH, int(left / pace)))


def newest(jobs: QuerySet[Any], *, before: int | None, limit: int) -> Found:
    """Return the newest `limit` of `jobs` below `before`, where they are all there are, or an index has them by id."""
    ids = _window(jobs, before, None, limit + 1)
    return Found(ids[:limit], before=ids[limit - 1] if len(ids) > limit else None)


def pick(jobs: QuerySet[Any], *, before: int | None, limit: int) -> Found:
    """Return up to `limit` of `jobs`, the newest below `before`, where they are few: they are sorted here."""
    ids = sorted(jobs.order_by().values_list("pk", flat=True), reverse=True)
    older = [job_id for job_id in ids if before is None or job_id < before]
    return Found(older[:limit], before=older[limit - 1] if len(older) > limit else None)


def _floor(among: QuerySet[Any], before: int | None, size: int) -> int | None:
    """Return the id of the last of the next `size` jobs; None if there are not so many."""
    ids: QuerySet[Any] = _below(among, before).order_by("-pk").values_list("pk", flat=True)
    return next(iter(ids[size - 1 : size]), None)


def _window(jobs: QuerySet[Any], before: int | None, floor: int | None, most: int) -> list[int]:
    """Return the first matches of a window, the newest first."""
    window = _below(jobs, before)
    if floor is not None:
        window = window.filter(pk__gte=floor)
    return list(window.order_by("-pk").values_list("pk", flat=True)[:most])


def _below(jobs: QuerySet[Any], before: int | None) -> QuerySet[Any]:
    return jobs if before is None else jobs.filter(pk__lt=before)
