"""A backlog by SQL: a million jobs in seconds, each a copy of one that was enqueued in the usual way."""

from __future__ import annotations

from typing import Any, Final

# What a copy has of its own.
_JOB: Final = {
    "id": "fresh.id",
    "ready_seq": "nextval('conveyor_ready_seq')",
    "idempotency_key": "job.idempotency_key || '-' || fresh.id",
}
# The ids of the copies are remembered in between, so that each gets its payload.
_DRAW: Final = """
CREATE TEMPORARY TABLE fresh AS
SELECT nextval(pg_get_serial_sequence('conveyor_job', 'id')) AS id FROM generate_series(1, %s)
"""


def copy_jobs(key: str, count: int) -> None:
    """Make `count` copies of the job with this key, in the order of their ids, and look anew at the statistics."""
    from django.db import connection

    from conveyor_django.models import Job, Payload

    with connection.cursor() as cursor:
        cursor.execute(_DRAW, [count])
        cursor.execute(_copies(Job, _JOB), [key])
        cursor.execute(_copies(Payload, {"job_id": "fresh.id"}), [key])
        cursor.execute("ANALYZE")


def _copies(model: Any, own: dict[str, str]) -> str:
    """Return the INSERT of a table's copies; its columns are the model's, so it goes with a new one."""
    table = model._meta.model_name  # noqa: SLF001 - how a model is asked
    columns = [field.column for field in model._meta.concrete_fields]  # noqa: SLF001
    values = [own.get(column, f"{table}.{column}") for column in columns]
    return (
        f"INSERT INTO conveyor_{table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM conveyor_job AS job "
        "JOIN conveyor_payload AS payload ON payload.job_id = job.id CROSS JOIN fresh "
        "WHERE job.idempotency_key = %s ORDER BY fresh.id"
    )
