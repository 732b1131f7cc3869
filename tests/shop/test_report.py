"""The demo's figures and its verdict."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from testproject.shop.demo import report
from testproject.shop.models import Account, Payment
from testproject.shop.orders import Order
from tests.support.factories import JobFactory

ORDERS = [Order("order-1", "Ada", 100), Order("order-2", "Ada", 200)]
GOOD = report.Figures(
    jobs=2, succeeded=2, attempts=3, lost=1, ledger_rows=2, payments=2, balances=300, jobs_per_second=10.0,
    latencies=(1.0, 2.0, 3.0), wrong_orders=[],
)  # fmt: skip
SHOWN = {"new_rows": 0, "refused": 1, "killed": 1, "frozen": 1}


def problems(figures: report.Figures = GOOD, **shown: int) -> list[str]:
    return list(report.judge(figures, orders=ORDERS, **SHOWN | shown))


def test_all_is_well_if_every_effect_is_there_once_and_the_faults_cost_leases() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"succeeded": 1}, "1 of 2 jobs succeeded, but there are 2 orders"),
        ({"jobs": 3}, "2 of 3 jobs succeeded"),
        ({"wrong_orders": ["order-2"]}, "not paid exactly once: order-2"),
        ({"ledger_rows": 1}, "1 ledger rows and 2 payments for 2 orders"),
        ({"payments": 3}, "2 ledger rows and 3 payments for 2 orders"),
        ({"balances": 301}, "the accounts hold 301 cents, the CSV has 300"),
    ],
)
def test_a_wrong_figure_is_named(change: dict[str, object], message: str) -> None:
    [problem] = problems(replace(GOOD, **change))  # type: ignore[arg-type]
    assert message in problem


@pytest.mark.parametrize(
    ("shown", "message"),
    [
        ({"new_rows": 1}, "made 1 new rows"),
        ({"killed": 0}, "kill -9 cost no lease"),
        ({"frozen": 0}, "the freeze cost 0 leases and 1 stale outcomes were refused"),
        ({"refused": 0}, "the freeze cost 1 leases and 0 stale outcomes were refused"),
    ],
)
def test_a_demo_that_showed_nothing_is_not_well(shown: dict[str, int], message: str) -> None:
    [problem] = problems(**shown)
    assert message in problem


@pytest.mark.django_db
def test_the_figures_come_from_the_tables() -> None:
    due = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    def after(seconds: float) -> dt.datetime:
        return due + dt.timedelta(seconds=seconds)

    JobFactory(
        succeeded=True, created_at=after(-9), run_at=due, started_at=after(0.1), finished_at=after(0.5),
        lease_version=3, lost_count=2,
    )  # fmt: skip
    JobFactory(succeeded=True, created_at=after(0), run_at=after(-9), started_at=after(0.3), finished_at=after(1.1))
    ada = Account.objects.create(customer="Ada", balance=300)
    Payment.objects.create(order="order-1", account=ada, cents=100)
    Payment.objects.create(order="order-1", account=ada, cents=100)
    figures = report.measure(ORDERS)
    assert figures == report.Figures(
        jobs=2, succeeded=2, attempts=4, lost=2, ledger_rows=2, payments=2, balances=300,
        jobs_per_second=pytest.approx(2.0), latencies=pytest.approx((200.0, 290.0, 298.0)),
        wrong_orders=["order-1", "order-2"],
    )  # fmt: skip


@pytest.mark.django_db
def test_an_empty_database_has_figures_too() -> None:
    figures = report.measure(ORDERS)
    assert (figures.jobs, figures.attempts, figures.jobs_per_second, figures.balances) == (0, 0, 0.0, 0)
    assert report.waiting_jobs() == "none"


def test_the_table_has_what_the_verdict_stands_on() -> None:
    lines = list(report.table(GOOD, expected=300, refused=4, killed=5, frozen=6))
    text = "\n".join(" ".join(line.split()) for line in lines)
    for expected in (
        "jobs 2 2 succeeded", "attempts 3", "lost leases 1 5 to kill -9, 6 to the freeze",
        "stale outcomes refused 4", "ledger rows 2", "sum of the accounts 3.00", "sum of the CSV 3.00",
        "jobs/s 10", "start latency p50/p95/p99 1/2/3 ms",
    ):  # fmt: skip
        assert expected in text
