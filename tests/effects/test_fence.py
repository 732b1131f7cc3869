"""`context.fence()`: the lease stays this run's until the handler's own transaction ends."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection, transaction

from conveyor_django import ConveyorContext
from conveyor_django.errors import LeaseLost, NotAllowedHere
from conveyor_django.models import Job
from conveyor_django.outcomes import Answer, Release, Retry, Succeed

from ..support.bench import LEASE, A, Bench, scripted, scripted_async, scripted_atomic
from ..support.connections import scalar
from ..support.factories import in_seconds
from ..support.jobs import insert_effect
from .conftest import Effects

pytestmark = pytest.mark.django_db(transaction=True)


def test_nobody_takes_the_job_before_the_transaction_ends(bench: Bench, effects: Effects, isolation: str) -> None:
    scripted.enqueue()
    rescued = []

    def does(context: ConveyorContext) -> None:
        with transaction.atomic():
            context.fence()
            rescued.extend(Job.objects.rescue_jobs(limit=1, max_lost=9, now=in_seconds(3600), on=bench.connection))
            insert_effect("fenced")

    assert isinstance(bench.complete(does), Succeed)
    assert (rescued, effects()) == ([], ["fenced"])


def test_renewals_wait_meanwhile(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    answers = []

    def does(context: ConveyorContext) -> None:
        def renew() -> None:
            leases = {context._fence.claimed.token: LEASE}
            answers.extend(Job.objects.renew_leases(leases, owner=A, on=bench.connection).values())

        with transaction.atomic():
            context.fence()
            renew()
        renew()

    bench.complete(does)
    assert answers == [(Answer.BUSY, False), (Answer.WON, False)]


def test_a_stale_one_commits_nothing(bench: Bench, effects: Effects, isolation: str) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        bench.take_over()
        with transaction.atomic():
            insert_effect("zombie")
            context.fence()

    finished = bench.run(does)
    assert isinstance(finished.run.error, LeaseLost)
    assert isinstance(finished.outcome, Release)
    assert effects() == []


@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_one_that_becomes_stale_after_its_snapshot_commits_nothing_either(
    bench: Bench, effects: Effects, level: str
) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            insert_effect("zombie")
            bench.take_over()
            context.fence()

    finished = bench.run(does)
    # Under a snapshot the database cannot say more than that the row has changed.
    assert type(finished.run.error) is (LeaseLost if level == "read committed" else OperationalError)
    assert isinstance(finished.outcome, Release if level == "read committed" else Retry)
    assert bench.finish(finished) is Answer.LOST
    assert effects() == []


def test_it_is_refused_outside_of_a_transaction(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    error = bench.run(lambda context: context.fence()).run.error
    assert isinstance(error, NotAllowedHere)
    assert "Open one with `with transaction.atomic(using='default'):`" in str(error)


def test_it_is_refused_in_a_coroutine(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()

    async def does(context: ConveyorContext) -> None:
        context.fence()

    error = bench.run(does).run.error
    assert isinstance(error, NotAllowedHere)
    assert "in the function that has the transaction" in str(error)


@pytest.mark.parametrize("how", ["atomic task", "effect", "atomic step"])
def test_inside_what_is_fenced_anyway_it_does_no_harm(bench: Bench, effects: Effects, how: str) -> None:
    (scripted_atomic if how == "atomic task" else scripted).enqueue()

    def does(context: ConveyorContext) -> None:
        def part() -> None:
            context.fence()
            insert_effect("part")

        if how == "effect":
            with context.effect():
                part()
        elif how == "atomic step":
            context.atomic_step("part", part)
        else:
            part()

    bench.complete(does)
    assert (effects(), scalar(connection, "SELECT state FROM conveyor_job")) == (["part"], "succeeded")
