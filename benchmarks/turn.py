"""What one turn of a worker costs: outcomes of a batch and the claim of the next, without any handlers.

`python -m benchmarks.turn`: processor time of the client's thread and of the server's process, in microseconds a turn,
by `conveyor_django.pipeline` and by psycopg's own pipeline, in alternating rounds. Empties the tables.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conveyor_django.db import Connection

TURNS = 40
LEASE = 60.0

Run = Callable[["Connection", Sequence[tuple[str, Any]]], list[Any]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What one turn of a worker costs.")
    parser.add_argument("--batch", type=int, default=16, help="jobs in a turn (16)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of 40 turns each (9)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from conveyor_django.db import connect
    from conveyor_django.pipeline import Pipeline

    call_command("migrate", verbosity=0)
    connection = connect("default", "benchmark", lease_seconds=LEASE)
    pipeline = Pipeline(connection)
    ways: dict[str, Run] = {"conveyor_django.pipeline": lambda _, r: pipeline.run(r), "psycopg's pipeline": by_psycopg}
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, run in ways.items():
            figures[name].append(one_round(connection, run, options.batch))
    for name, costs in figures.items():
        client, server = ([1e6 * cost[side] for cost in costs] for side in (0, 1))
        print(
            f"{name:25} {options.batch} jobs a turn:"
            f" client {min(client):.0f} least, {statistics.median(client):.0f} median;"
            f" server {min(server):.0f} least, {statistics.median(server):.0f} median (µs)"
        )


def by_psycopg(connection: Connection, requests: Sequence[tuple[str, Any]]) -> list[Any]:
    """Run the statements through psycopg's cursors."""
    from conveyor_django.sql import statement

    with connection.pipeline():
        cursors = [connection.execute(statement(name), params) for name, params in requests]
    return [cursor.fetchall() for cursor in cursors]


def one_round(connection: Connection, run: Run, batch: int) -> tuple[float, float]:
    """Return the client's and the server's seconds a turn, over one round of turns."""
    from conveyor_django.managers.exchange import claim_from, claim_params, succeed_params
    from conveyor_django.outcomes import Succeed

    fill(batch * (TURNS + 1))
    owner = uuid.uuid4()
    params = claim_params(owner, {"default": LEASE}, batch)
    del params["park"]
    claim = ("claim_plain_jobs", params)
    claimed = claim_from(run(connection, [claim, ("list_leases", {})])[0]).jobs
    schedule = Path(f"/proc/{connection.info.backend_pid}/schedstat")
    server, client = _seconds(schedule), time.thread_time()
    for _ in range(TURNS):
        outcomes = [Succeed(id=job.id, version=job.version, result=None) for job in claimed]
        claimed = claim_from(run(connection, [("succeed_jobs", succeed_params(outcomes, owner)), claim])[1]).jobs
    return (time.thread_time() - client) / TURNS, (_seconds(schedule) - server) / TURNS


def fill(jobs: int) -> None:
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


def _seconds(schedule: Path) -> float:
    """Return the seconds that a process has been on a processor (Linux, proc(5))."""
    return int(schedule.read_text().split()[0]) / 1e9


if __name__ == "__main__":
    main()
