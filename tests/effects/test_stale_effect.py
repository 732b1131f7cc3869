"""`with context.effect()` in a run that has lost its job or was told to stop: nothing is committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from conveyor_django import ConveyorContext
from conveyor_django.errors import JobCancelled, LeaseLost, TaskTimeout
from conveyor_django.models import Job
from conveyor_django.outcomes import Answer, Release

from ..support.bench import TOLD, Bench, scripted, steps
from ..support.jobs import insert_effect
from .conftest import Effects

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_stale_one_commits_nothing(bench: Bench, effects: Effects, isolation: str) -> None:
    scripted.enqueue()
    after = []

    def does(context: ConveyorContext) -> None:
        with context.effect():
            insert_effect("zombie")
            bench.take_over()
        after.append("reached")

    finished = bench.run(does)
    assert isinstance(finished.outcome, Release)
    assert (after, effects(), steps()) == ([], [], {})
    assert bench.finish(finished) is Answer.LOST
    assert Job.objects.get().state == "running"


def test_a_stale_one_may_catch_what_it_gets(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def becomes_stale(context: ConveyorContext) -> None:
        with context.effect():
            insert_effect("zombie")
            bench.take_over()

    def does(context: ConveyorContext) -> str:
        with pytest.raises(LeaseLost):
            becomes_stale(context)
        return "still nothing"

    assert bench.finish(bench.run(does)) is Answer.LOST
    assert (effects(), steps()) == ([], {})


def test_one_that_knows_that_its_lease_has_lapsed_does_not_begin(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        context._fence.lease.deadline = 0.0
        with context.effect():
            pytest.fail("it began")

    assert isinstance(bench.run(does).outcome, Release)


def test_one_that_knows_that_its_lease_is_gone_does_not_begin(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        context._fence.lease.lapsed_at = 1.0
        with context.effect():
            pytest.fail("it began")

    assert isinstance(bench.run(does).outcome, Release)


@pytest.mark.parametrize(("told", "kind", "ends"), TOLD)
@pytest.mark.parametrize("inside", [False, True], ids=["before", "inside"])
def test_one_of_a_run_that_was_told_to_stop_commits_nothing(
    bench: Bench, effects: Effects, told: Callable[[Any], None], kind: type[Exception], ends: str, inside: bool
) -> None:
    """A handler may catch its interruption, and go on."""
    scripted.enqueue()
    began, raised = [], []

    def does(context: ConveyorContext) -> None:
        if not inside:
            told(context._fence.lease)
        try:
            with context.effect():
                began.append("began")
                insert_effect("charge")
                told(context._fence.lease)
        except (JobCancelled, TaskTimeout) as error:
            raised.append(type(error))

    assert bench.complete(does).verb == ends
    assert (bool(began), raised) == (inside, [kind])
    assert (effects(), steps()) == ([], {})


@pytest.mark.parametrize(("told", "kind", "ends"), TOLD)
def test_one_that_has_committed_stands_whatever_the_run_is_told(
    bench: Bench, effects: Effects, told: Callable[[Any], None], kind: type[Exception], ends: str
) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with context.effect():
            insert_effect("charge")
            transaction.on_commit(lambda: told(context._fence.lease))

    assert bench.complete(does).verb == "succeed"
    assert effects() == ["charge"]
