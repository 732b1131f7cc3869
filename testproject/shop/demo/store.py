"""What the demo does to the database and asks of it."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.core.management.base import CommandError
from django.db import connection, transaction
from django.db.models import Count

from conveyor_django.models import Attempt, Job, Ledger, Payload, Worker
from conveyor_django.states import TERMINAL, JobState, Verb

from ..models import Account, Payment
from ..orders import Order
from ..tasks import settle_order

# Orders fall due in waves of so many: enough to fill the 32 slots of the worker, and some to wait.
WAVE: Final = 50


@dataclass(frozen=True, slots=True)
class Child:
    """A child process of the worker, as the database knows it."""

    pid: int
    owner: uuid.UUID


@dataclass(frozen=True, slots=True)
class View:
    """One look at the database."""

    jobs: int
    ended: int
    children: list[Child]
    # Owner → jobs that it has in work.
    running: dict[uuid.UUID, int]
    # Owner → leases that it has lost.
    lost: dict[uuid.UUID, int]

    def running_of(self, child: Child) -> int:
        """Return how many jobs a child has in work."""
        return self.running.get(child.owner, 0)

    def lost_of(self, child: Child) -> int:
        """Return how many leases a child has lost."""
        return self.lost.get(child.owner, 0)


def empty_tables() -> None:
    """Begin afresh: no jobs, no accounts, no payments.

    Raises CommandError if there are other jobs than the demo's: then this is not a database to empty.
    """
    foreign = Job.objects.exclude(task=settle_order.module_path).count()
    if foreign:
        name = connection.settings_dict["NAME"]
        raise CommandError(
            f"The database {name!r} holds {foreign} jobs that are not the demo's, and the demo empties its "
            f"tables. Point DATABASE_URL at another database, or unset it."
        )
    tables = [model._meta.db_table for model in (Job, Payload, Ledger, Attempt, Worker, Payment, Account)]
    with connection.cursor() as cursor:
        # Not DELETE: the ledger's trigger refuses it.
        cursor.execute(f"TRUNCATE {', '.join(tables)} RESTART IDENTITY")


def open_accounts(orders: Sequence[Order]) -> int:
    """Open an empty account for every customer; return how many there are."""
    customers = sorted({order.customer for order in orders})
    return len(Account.objects.bulk_create(Account(customer=customer) for customer in customers))


def enqueue_orders(orders: Sequence[Order], *, opening: dt.datetime, seconds: float) -> int:
    """Enqueue a job per order, keyed by the order, due in waves over `seconds`; return how many were new."""
    before = Job.objects.count()
    waves = max(1, len(orders) // WAVE)
    with transaction.atomic():
        for place, order in enumerate(orders):
            due = opening + dt.timedelta(seconds=seconds * (place // WAVE) / waves)
            settle_order.using(idempotency_key=order.order, run_after=due).enqueue(
                order=order.order, customer=order.customer, cents=order.cents
            )
    return Job.objects.count() - before


def database_time() -> dt.datetime:
    """Return the database's clock: orders are due by it, whatever this machine's clock says."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        row: tuple[dt.datetime] = cursor.fetchone()
    return row[0]


def look(supervisor_pid: int) -> View:
    """Look at the jobs and at the children of one worker."""
    states = dict(Job.objects.values_list("state").annotate(Count("pk")))
    running = Job.objects.filter(state=JobState.RUNNING).values_list("lease_owner")
    lost = Attempt.objects.filter(verb=Verb.RESCUE).values_list("owner")
    children = Worker.objects.filter(supervisor_pid=supervisor_pid).values_list("pid", "incarnation")
    return View(
        jobs=sum(states.values()),
        ended=sum(states.get(state, 0) for state in TERMINAL),
        children=[Child(pid, owner) for pid, owner in children],
        running=dict(running.annotate(Count("pk"))),
        lost=dict(lost.annotate(Count("pk"))),
    )
