"""Finding jobs by what people have of them: an id, an idempotency key, or the trace of the request behind them."""

from __future__ import annotations

import re
from typing import Final

from django.db import connections
from django.db.models.functions import Substr

from ..conf import MAX_ID
from ..models import Payload
from ..models.job import TRACE_ID

# Jobs of one trace that are found: a request may have enqueued many.
MOST: Final = 10_000

_ID: Final = re.compile(r"[0-9]{1,19}", re.ASCII)
# A trace id, alone or in a traceparent; as people copy it, so in either case.
_TRACE: Final = re.compile(r"(?:[0-9a-f]{2}-)?([0-9a-f]{32})(?:-[0-9a-f]{16}-[0-9a-f]{2})?", re.ASCII | re.IGNORECASE)

# The index of keys begins with the queue: one probe finds each queue that has keys ("loose index scan",
# PostgreSQL wiki), one more the job.
_BY_KEY: Final = """
WITH RECURSIVE found (queue) AS (
    (SELECT queue FROM conveyor_job WHERE idempotency_key IS NOT NULL ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT job.queue FROM conveyor_job AS job
            WHERE job.idempotency_key IS NOT NULL AND job.queue > found.queue
            ORDER BY job.queue LIMIT 1)
    FROM found
    WHERE found.queue IS NOT NULL
)
SELECT job.id
FROM found
CROSS JOIN LATERAL (
    SELECT keyed.id FROM conveyor_job AS keyed
    WHERE keyed.queue = found.queue AND keyed.idempotency_key = %s
    LIMIT 1
) AS job
"""


def find_job_ids(term: str, *, alias: str) -> list[int]:
    """Return the ids of the jobs that `term` names, any text.

    It may be a job's id, the id of its task result (``alias:id``), its idempotency key in any queue, or a trace id or
    traceparent, of which the first MOST jobs are found.
    """
    # What PostgreSQL cannot store, no row has.
    if "\x00" in term:
        return []
    return _by_id(term.removeprefix(f"{alias}:")) + _by_key(term, alias) + _by_trace(term, alias)


def _by_id(term: str) -> list[int]:
    return [int(term)] if _ID.fullmatch(term) and int(term) <= MAX_ID else []


def _by_key(key: str, alias: str) -> list[int]:
    with connections[alias].cursor() as cursor:
        cursor.execute(_BY_KEY, (key,))
        return [row[0] for row in cursor.fetchall()]


def _by_trace(term: str, alias: str) -> list[int]:
    named = _TRACE.fullmatch(term)
    if named is None:
        return []
    traced = Payload.objects.using(alias).filter(traceparent__isnull=False)
    of_trace = traced.annotate(trace=Substr("traceparent", *TRACE_ID)).filter(trace=named[1].lower())
    return list(of_trace.values_list("pk", flat=True)[:MOST])
