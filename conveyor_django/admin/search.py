"""Finding jobs by what people have of them: an id, or an idempotency key."""

from __future__ import annotations

import re
from typing import Final

from django.db import connections

from ..conf import MAX_ID

_ID: Final = re.compile(r"[0-9]{1,19}", re.ASCII)

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
    """Return the ids of the jobs that `term` names.

    It may be a job's id, the id of its task result (``alias:id``), or its idempotency key in any queue.
    """
    return _by_id(term.removeprefix(f"{alias}:")) + _by_key(term, alias)


def _by_id(term: str) -> list[int]:
    return [int(term)] if _ID.fullmatch(term) and int(term) <= MAX_ID else []


def _by_key(key: str, alias: str) -> list[int]:
    with connections[alias].cursor() as cursor:
        cursor.execute(_BY_KEY, (key,))
        return [row[0] for row in cursor.fetchall()]
