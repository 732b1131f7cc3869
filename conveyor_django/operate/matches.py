"""The first of the jobs that a query finds, in a line each: what a person looks at before many are changed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from ..models import Attempt
from ..results import result_id
from .answers import Answer
from .explain.error import with_error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from django.db.models import QuerySet

    from ..models import Job

SHOWN: Final = 20
# Characters of a message, of which the first line is shown.
_MESSAGE: Final = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Match(Answer):
    """A job, and what last ended a run of it with an error: "" for both where none is kept. `message` is cut short."""

    job: str
    queue: str
    task: str
    state: str
    error_class: str
    message: str


def first_matches(found: Iterable[QuerySet[Job]], most: int = SHOWN) -> list[Match]:
    """Return the first jobs of the queries, `most` of them, in the order in which they would be changed."""
    return list(islice((match for jobs in found for match in _first(jobs, most)), most))


def _first(jobs: QuerySet[Job], most: int) -> Iterator[Match]:
    rows = list(jobs.order_by("pk").values_list("pk", "queue", "task", "state")[:most])
    attempts = with_error(Attempt.objects.using(jobs.db).filter(job_id__in=[row[0] for row in rows]))
    newest = attempts.order_by("job_id", "-lease_version").distinct("job_id")
    errors = {job_id: error for job_id, *error in newest.values_list("job_id", "error_class", "message")}
    for job_id, queue, task, state in rows:
        error_class, message = errors.get(job_id, ("", ""))
        yield Match(
            job=result_id(jobs.db, job_id), queue=queue, task=task, state=state, error_class=error_class,
            message=_cut(message),
        )  # fmt: skip


def _cut(message: str) -> str:
    line = next(iter(message.strip().splitlines()), "")
    return line if len(line) <= _MESSAGE else f"{line[: _MESSAGE - 1]}…"
