"""How PostgreSQL runs the hot path: the plans of enqueue, claim and success, with times, buffers and WAL.

`python -m benchmarks.explain`: each as a worker has it, prepared and with its plans pinned, after so many runs that all
is in memory; the success as the outcome of the claim before it. Empties the tables.
"""

from __future__ import annotations

import argparse
import os
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conveyor_django.db import Connection

WARM = 20
LEASE = 60.0
PAD = "x" * 600


def main() -> None:
    """Explain and print."""
    parser = argparse.ArgumentParser(description="How PostgreSQL runs the hot path.")
    parser.add_argument("--batch", type=int, default=16, help="jobs of a claim, and of the success after it (16)")
    parser.add_argument("--backlog", type=int, default=20_000, help="jobs that are ready (20,000)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from conveyor_django.db import connect

    call_command("migrate", verbosity=0)
    connection = connect("default", "benchmark", lease_seconds=LEASE)
    connection.prepare_threshold = None
    _fill(connection, options.backlog)
    for _ in range(WARM):
        plans = _explained(connection, options.batch)
    for name, plan in plans.items():
        print(f"{name}\n{plan}\n")


def _explained(connection: Connection, batch: int) -> dict[str, str]:
    """Run each statement once, and return what the server says of it."""
    from conveyor_django.managers.exchange import claim_params, succeed_params
    from conveyor_django.models import Job
    from conveyor_django.outcomes import Succeed

    owner = uuid.uuid4()
    params = claim_params(owner, {"default": LEASE}, batch)
    del params["park"]
    plans = {
        "enqueue_job": _explain(connection, "enqueue_job", _enqueue_params()),
        "claim_plain_jobs": _explain(connection, "claim_plain_jobs", params),
    }
    # EXPLAIN runs a statement, and keeps its rows to itself.
    held = Job.objects.filter(lease_owner=owner).values_list("id", "lease_version")
    outcomes = [Succeed(id=job_id, version=version) for job_id, version in held]
    return plans | {"succeed_jobs": _explain(connection, "succeed_jobs", succeed_params(outcomes, owner))}


def _explain(connection: Connection, name: str, params: dict[str, Any]) -> str:
    import psycopg

    from conveyor_django.sql import positional

    text, order = positional(name)
    if not connection.execute("SELECT FROM pg_prepared_statements WHERE name = %s", (name,)).fetchall():
        connection.execute(f"PREPARE {name} AS {text}".encode())
    # What is explained takes no parameters of the protocol's: they are written into the text.
    cursor = psycopg.ClientCursor(connection)
    given = ", ".join(["%s"] * len(order))
    cursor.execute(
        f"EXPLAIN (ANALYZE, BUFFERS, WAL, COSTS OFF) EXECUTE {name} ({given})".encode(),
        [params[parameter] for parameter in order],
    )
    return "\n".join(line for [line] in cursor.fetchall())


def _enqueue_params() -> dict[str, Any]:
    from conveyor_django.managers.accepting import NewJob, enqueue_params

    job = NewJob("default", "benchmarks.tasks.padded", f'[1, "{PAD}"]', "{}", 5, idempotency_key=str(uuid.uuid4()))
    return enqueue_params(job, None)


def _fill(connection: Connection, jobs: int) -> None:
    """Have so many jobs ready, and no others."""
    from conveyor_django.managers.jobs import NewJob
    from conveyor_django.models import Job

    connection.execute("TRUNCATE conveyor_job, conveyor_payload, conveyor_ledger, conveyor_attempt CASCADE")
    new = NewJob("default", "benchmarks.tasks.padded", f'[1, "{PAD}"]', "{}", 5)
    for start in range(0, jobs, 5_000):
        batch = [new._replace(idempotency_key=str(number)) for number in range(start, min(jobs, start + 5_000))]
        Job.objects.enqueue_jobs(batch, on=connection)
    connection.execute("VACUUM ANALYZE conveyor_job")


if __name__ == "__main__":
    main()
