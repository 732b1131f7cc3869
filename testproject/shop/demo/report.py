"""What came of it: the figures, the table, and whether the demo has shown what it should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Count, Sum

from conveyor_django.models import Job, Ledger

from ..models import Account, Payment
from ..orders import Order

_JOBS = """
SELECT count(*), count(*) FILTER (WHERE state = 'succeeded'), sum(lease_version), sum(lost_count),
       count(*) / nullif(extract(epoch FROM max(finished_at) - min(started_at)), 0),
       percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP (
           ORDER BY 1000 * extract(epoch FROM started_at - greatest(run_at, created_at)))
FROM conveyor_job
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What the database says at the end; money in cents, latencies in milliseconds."""

    jobs: int
    succeeded: int
    attempts: int
    lost: int
    ledger_rows: int
    payments: int
    balances: int
    jobs_per_second: float
    # p50, p95 and p99 of the time from "due" to the first start.
    latencies: tuple[float, float, float]
    # Orders that have no payment, or more than one.
    wrong_orders: list[str]


def measure(orders: Sequence[Order]) -> Figures:
    """Ask the database for the figures."""
    with connection.cursor() as cursor:
        cursor.execute(_JOBS)
        jobs, succeeded, attempts, lost, rate, latencies = cursor.fetchone()
    paid = dict(Payment.objects.values_list("order").annotate(Count("pk")))
    return Figures(
        jobs=jobs,
        succeeded=succeeded,
        attempts=int(attempts or 0),
        lost=int(lost or 0),
        ledger_rows=Ledger.objects.filter(step="").count(),
        payments=sum(paid.values()),
        balances=Account.objects.aggregate(total=Sum("balance"))["total"] or 0,
        jobs_per_second=float(rate or 0),
        latencies=tuple(latencies or (0.0, 0.0, 0.0)),
        wrong_orders=sorted(order.order for order in orders if paid.get(order.order, 0) != 1),
    )


def table(figures: Figures, *, expected: int, refused: int, killed: int, frozen: int) -> Iterator[str]:
    """Yield the lines of the table."""
    p50, p95, p99 = figures.latencies
    rows = [
        ("jobs", f"{figures.jobs}", f"{figures.succeeded} succeeded"),
        ("attempts", f"{figures.attempts}", ""),
        ("lost leases", f"{figures.lost}", f"{killed} to kill -9, {frozen} to the freeze"),
        ("stale outcomes refused", f"{refused}", ""),
        ("ledger rows", f"{figures.ledger_rows}", ""),
        ("payments", f"{figures.payments}", ""),
        ("sum of the accounts", f"{figures.balances / 100:,.2f}", ""),
        ("sum of the CSV", f"{expected / 100:,.2f}", ""),
        ("jobs/s", f"{figures.jobs_per_second:.0f}", "faults and waiting for orders included"),
        ("start latency p50/p95/p99", f"{p50:.0f}/{p95:.0f}/{p99:.0f} ms", "from due to started"),
    ]
    for name, value, note in rows:
        yield f"  {name:<26}{value:>15}  {note}".rstrip()


def judge(
    figures: Figures, *, orders: Sequence[Order], new_rows: int, refused: int, killed: int, frozen: int
) -> Iterator[str]:
    """Yield what is not as it should be; nothing if all is well."""
    expected = sum(order.cents for order in orders)
    if figures.jobs != len(orders) or figures.succeeded != len(orders):
        yield f"{figures.succeeded} of {figures.jobs} jobs succeeded, but there are {len(orders)} orders"
    if new_rows:
        yield f"enqueuing everything again made {new_rows} new rows"
    if figures.wrong_orders:
        yield f"these orders were not paid exactly once: {', '.join(figures.wrong_orders[:10])}"
    if figures.ledger_rows != len(orders) or figures.payments != len(orders):
        yield f"{figures.ledger_rows} ledger rows and {figures.payments} payments for {len(orders)} orders"
    if figures.balances != expected:
        yield f"the accounts hold {figures.balances} cents, the CSV has {expected}"
    if not killed:
        yield "kill -9 cost no lease: nothing was shown"
    if not frozen or not refused:
        yield f"the freeze cost {frozen} leases and {refused} stale outcomes were refused: nothing was shown"


def waiting_jobs() -> str:
    """Describe the jobs that have not ended, for the message of a demo that timed out."""
    counts = Job.objects.exclude(state="succeeded").values_list("state").annotate(Count("pk"))
    return ", ".join(f"{count} {state}" for state, count in counts) or "none"
