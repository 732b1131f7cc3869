"""What one turn of a worker costs: outcomes of a batch and the claim of the next, without any handlers.

`python -m benchmarks.turn`: by `conveyor_django.pipeline` and by psycopg's own pipeline, in alternating rounds. Empties
the tables.
"""

from __future__ import annotations

import argparse
import os
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.clocks import Clock

if TYPE_CHECKING:
    from conveyor_django.db import Connection

TURNS = 40
LEASE = 60.0

Run = Callable[[Sequence[tuple[str, Any]]], list[Any]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What one turn of a worker costs.")
    parser.add_argument("--batch", type=int, default=16, help="jobs in a turn (16)")
    parser.add_argument("--rounds", type=int, default=9, help=f"rounds of {TURNS} turns each (9)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from conveyor_django.db import connect
    from conveyor_django.pipeline import Pipeline

    call_command("migrate", verbosity=0)
    connection = connect("default", "benchmark", lease_seconds=LEASE)
    ways = {"conveyor_django.pipeline": Pipeline(connection).run, "psycopg's pipeline": _psycopgs(connection)}
    clocks = {name: Clock() for name in ways}
    for _ in range(options.rounds):
        for name, run in ways.items():
            _round(run, options.batch, clocks[name], connection.info.backend_pid)
    for name, clock in clocks.items():
        print(f"{name:25} {options.batch} jobs a turn: {clock}")


def _psycopgs(connection: Connection) -> Run:
    from conveyor_django.sql import statement

    def run(requests: Sequence[tuple[str, Any]]) -> list[Any]:
        with connection.pipeline():
            cursors = [connection.execute(statement(name), params) for name, params in requests]
        return [cursor.fetchall() for cursor in cursors]

    return run


def _round(run: Run, batch: int, clock: Clock, backend_pid: int) -> None:
    from conveyor_django.managers.exchange import claim_from, claim_params, succeed_params
    from conveyor_django.outcomes import Succeed

    _fill(batch * (TURNS + 1))
    owner = uuid.uuid4()
    params = claim_params(owner, {"default": LEASE}, batch)
    del params["park"]
    claim = ("claim_plain_jobs", params)
    claimed = claim_from(run([claim, ("list_leases", {})])[0]).jobs
    with clock.round(backend_pid, TURNS):
        for _ in range(TURNS):
            outcomes = [Succeed(id=job.id, version=job.version, result=None) for job in claimed]
            claimed = claim_from(run([("succeed_jobs", succeed_params(outcomes, owner)), claim])[1]).jobs


def _fill(jobs: int) -> None:
    """Have so many jobs ready, and no others."""
    from django.db import connection

    from conveyor_django.managers.jobs import NewJob
    from conveyor_django.models import Job

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE conveyor_job, conveyor_payload, conveyor_ledger, conveyor_attempt CASCADE")
    new = NewJob(queue="default", task="benchmarks.tasks.noop", args="[1]", kwargs="{}", max_attempts=1)
    Job.objects.enqueue_jobs([new] * jobs)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE conveyor_job")


if __name__ == "__main__":
    main()
