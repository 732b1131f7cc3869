"""What an enqueue costs: one by one and in bulk, beside a bare INSERT by Django's cursor.

`python -m benchmarks.acceptance`: alternating rounds on one connection, each job with 600 bytes of payload and a key.
Empties the tables. The commit's wait for the disk is left out (`synchronous_commit = off`): it is nobody's processor
time.
"""

from __future__ import annotations

import argparse
import os
import uuid
from collections.abc import Callable
from typing import Any

from benchmarks.clocks import Clock

SINGLE = 500
BULK = 5_000
PAD = "x" * 600


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="What an enqueue costs.")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (5)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute("CREATE TEMP TABLE bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, args jsonb)")
    ways: dict[str, tuple[Callable[[int], object], int]] = {
        "bare INSERT": (_insert, SINGLE), "task.enqueue()": (_enqueue, SINGLE), "enqueue_many()": (_enqueue_many, BULK),
    }  # fmt: skip
    clocks = {name: Clock() for name in ways}
    for _ in range(options.rounds):
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE bare, conveyor_job, conveyor_payload, conveyor_ledger, conveyor_attempt CASCADE")
        for name, (work, count) in ways.items():
            # What is prepared or remembered at its first use is no part of a round.
            work(10)
            with clocks[name].round(connection.connection.info.backend_pid, count):
                work(count)
    for name, clock in clocks.items():
        print(f"{name:15} per job: {clock}")


def _insert(count: int) -> None:
    from django.db import connection

    for _ in range(count):
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO bare (args) VALUES (%s)", (f'[1, "{PAD}"]',))


def _keyed() -> Any:
    from benchmarks.tasks import padded

    return padded.using(idempotency_key=uuid.uuid4().hex)


def _enqueue(count: int) -> None:
    for number in range(count):
        _keyed().enqueue(number, PAD)


def _enqueue_many(count: int) -> None:
    from conveyor_django import enqueue_many

    enqueue_many([_keyed().bind(number, PAD) for number in range(count)])


if __name__ == "__main__":
    main()
