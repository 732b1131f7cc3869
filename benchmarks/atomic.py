"""What the parts of an atomic run cost: begin, a write, the fenced success, commit; beside the write by itself.

`python -m benchmarks.atomic`: on one of Django's connections, as an executor's thread has it. `--group` has so many
runs share a transaction, each behind a savepoint; `--cursors` has nothing prepared, as where somebody watches Django's
queries. Empties the tables. The commit's wait for the disk is left out (`synchronous_commit = off`): it is nobody's
processor time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conveyor_django.outcomes import Claimed

LEASE = 600.0


class Parts:
    """Collects the processor time of each part, of this thread and of its server process (Linux, proc(5))."""

    def __init__(self, backend_pid: int) -> None:
        self._schedule = Path(f"/proc/{backend_pid}/schedstat")
        self._costs: dict[str, list[tuple[float, float]]] = defaultdict(list)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure a part."""
        server, client = self._server(), time.thread_time()
        yield
        client, server = time.thread_time() - client, self._server() - server
        self._costs[name].append((1e6 * client, 1e6 * server))

    def print(self) -> None:
        """Print the median of each part, and what a look at the clocks adds to it."""
        with self.part("the clocks"):
            pass
        for name, costs in self._costs.items():
            client, server = (statistics.median(side) for side in zip(*costs, strict=True))
            print(f"{name:20} client {client:5.0f} µs, server {server:5.0f} µs")

    def _server(self) -> float:
        return int(self._schedule.read_text().split()[0]) / 1e9


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What the parts of an atomic run cost.")
    parser.add_argument("--group", type=int, default=1, help="runs of a transaction (1)")
    parser.add_argument("--rounds", type=int, default=200, help="transactions (200)")
    parser.add_argument("--cursors", action="store_true", help="prepare nothing")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    # With DEBUG Django logs queries, and nothing is prepared.
    os.environ["DEBUG"] = "0"
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("CREATE TEMP TABLE written (id bigint)")
    if options.cursors:
        connection.execute_wrappers.append(lambda execute, *given: execute(*given))
    parts = Parts(connection.connection.info.backend_pid)
    owner = uuid.uuid4()
    claimed = _claimed(owner, options.group * options.rounds)
    for start in range(0, len(claimed), options.group):
        _transaction(parts, owner, claimed[start : start + options.group])
    for job in claimed:
        with parts.part("the write, alone"):
            _write(job)
    parts.print()


def _transaction(parts: Parts, owner: uuid.UUID, jobs: list[Claimed]) -> None:
    """Run jobs as a worker's thread does."""
    from conveyor_django.models import Job
    from conveyor_django.outcomes import Committed
    from conveyor_django.transactions import read_committed, set_savepoint

    transaction = read_committed("default", timeout=60.0)
    with parts.part("begin"):
        transaction.__enter__()
    for job in jobs:
        if len(jobs) > 1:
            with parts.part("savepoint"):
                set_savepoint(_connection())
        with parts.part("the write"):
            _write(job)
    with parts.part("success"):
        Job.objects.succeed_lastly([Committed(id=job.id, version=job.version) for job in jobs], owner=owner)
    with parts.part("commit"):
        transaction.__exit__(None, None, None)


def _connection() -> Any:
    from django.db import connections

    return connections["default"]


def _write(job: Claimed) -> None:
    with _connection().cursor() as cursor:
        cursor.execute("INSERT INTO written VALUES (%s)", (job.id,))


def _claimed(owner: uuid.UUID, jobs: int) -> list[Claimed]:
    """Return so many claimed jobs; there are no others."""
    from conveyor_django.managers.jobs import NewJob
    from conveyor_django.models import Job

    with _connection().cursor() as cursor:
        cursor.execute("TRUNCATE conveyor_job, conveyor_payload, conveyor_ledger, conveyor_attempt CASCADE")
    Job.objects.enqueue_jobs([NewJob("default", "benchmarks.tasks.noop", "[1]", "{}", 1)] * jobs)
    return Job.objects.claim_jobs(owner=owner, queues={"default": LEASE}, limit=jobs)


if __name__ == "__main__":
    main()
