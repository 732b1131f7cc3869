"""A handler's own word on its end, through a real worker's hands: raised, returned, in every kind of handler."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.utils import timezone

from conveyor_django import Cancel, ConveyorContext, Fail, Fixed, Retry, Snooze, task
from conveyor_django.compat import FRAMEWORK, TaskResult
from conveyor_django.endings import Ending
from conveyor_django.models import Job
from conveyor_django.tasks import ConveyorTask

from ..support import bench as scripts
from ..support.bench import Bench, attempts, scripted, scripted_async, scripted_atomic, steps
from ..support.jobs import insert_effect
from .conftest import Effects

pytestmark = pytest.mark.django_db(transaction=True)

ENDINGS = [Retry(60, "busy"), Snooze(60, "busy"), Cancel("gone"), Fail("gone")]
# By verb: the state, and what the attempt counts.
ENDED = {"retry": ("scheduled", 1), "snooze": ("scheduled", 0), "cancel": ("cancelled", 1), "fail": ("failed", 1)}


@pytest.mark.parametrize("how", ["raised", "returned"])
@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: type(ending).__name__)
@pytest.mark.parametrize("handler", [scripted, scripted_atomic, scripted_async], ids=["plain", "atomic", "async"])
def test_what_it_does(
    bench: Bench, effects: Effects, handler: ConveyorTask[..., Any], ending: Ending, how: str
) -> None:
    result = handler.enqueue()

    def ends() -> Ending:
        if handler is scripted_atomic:
            insert_effect("undone")
        if how == "raised":
            raise ending
        return ending

    async def ends_async() -> Ending:
        return ends()

    before = timezone.now()
    bench.complete(lambda _: ends_async() if handler is scripted_async else ends())
    verb = type(ending).__name__.lower()
    job = Job.objects.get()
    assert (job.state, job.attempt) == ENDED[verb]
    if ending.in_ is not None:
        assert 60 <= (job.run_at - before).total_seconds() < 120
    assert attempts() == [(verb, f"conveyor_django.endings.{type(ending).__name__}", ending.reason)]
    assert (effects(), steps()) == ([], {})
    result.refresh()
    # A snooze is no error.
    assert [error.exception_class for error in result.errors] == ([] if verb == "snooze" else [type(ending)])


def test_a_retry_without_a_delay_takes_the_tasks_backoff(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    bench.complete(lambda _: Retry())
    assert Job.objects.get().state == "ready"


def test_a_retry_beyond_the_budget_fails(bench: Bench, effects: Effects) -> None:
    scripted.using(max_attempts=2).enqueue()
    for _ in range(2):
        bench.complete(lambda _: Retry(0))
    assert [verb for verb, _, _ in attempts()] == ["retry", "fail"]
    assert Job.objects.get().state == "failed"


def test_snoozes_cost_no_attempt_however_many(bench: Bench, effects: Effects) -> None:
    scripted.using(max_attempts=1).enqueue()
    for _ in range(5):
        bench.complete(lambda _: Snooze(0))
    bench.complete(lambda _: "at last")
    job = Job.objects.get()
    assert (job.state, job.attempt, job.lease_version) == ("succeeded", 1, 6)


def test_an_impossible_delay_is_a_failed_run(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    bench.complete(lambda _: Snooze(-1))
    [(verb, error_class, message)] = attempts()
    assert (verb, error_class) == ("retry", "builtins.ValueError")
    assert "Snooze(in_=…) must be" in message


# -- options ----------------------------------------------------------------------------------------

asked: list[Any] = []


def ask(error: BaseException, result: TaskResult[..., Any]) -> float:
    """Note that it was asked."""
    asked.append((type(error), result.attempts))
    return 60.0


@task(takes_context=True, retry_on=(OSError,), discard_on=(LookupError,), backoff=Fixed(60))
def choosy(context: ConveyorContext) -> Any:
    return scripts.script(context)


@task(backoff=ask)
def asks() -> None:
    raise ValueError("always")


@task(backoff=Fixed(60))
def follows_a_policy() -> None:
    raise ValueError("always")


@task(backoff=ask)
def says_for_itself() -> None:
    raise Retry(5)


@pytest.mark.parametrize(
    ("error", "state", "verb"),
    [
        (TimeoutError("x"), "scheduled", "retry"),
        (KeyError("x"), "cancelled", "cancel"),
        (ValueError("x"), "failed", "fail"),
    ],
)
def test_lists_of_exceptions(bench: Bench, effects: Effects, error: Exception, state: str, verb: str) -> None:
    result = choosy.enqueue()

    def does(context: ConveyorContext) -> None:
        raise error

    bench.complete(does)
    assert Job.objects.get().state == state
    assert attempts() == [(verb, f"builtins.{type(error).__name__}", str(error))]
    result.refresh()
    assert [each.exception_class for each in result.errors] == [type(error)]


def test_a_policy_costs_no_query_and_a_callable_gets_the_result(
    bench: Bench, effects: Effects, django_assert_num_queries: Any, caplog: pytest.LogCaptureFixture
) -> None:
    asked.clear()
    # The framework's line about a start, which newer releases of it write, needs the result too.
    caplog.set_level(logging.ERROR, logger=FRAMEWORK)
    for each, queries in ((follows_a_policy, 0), (asks, 1)):
        Job.objects.all().delete()
        each.enqueue()
        bench.complete(lambda _: None)
        Job.objects.filter(state="scheduled").update(state="ready", ready_seq=1)
        with django_assert_num_queries(1 + queries):
            # The claim is made on the worker's connection; one query is that of the script's own look.
            bench.run(lambda _: None)
            Job.objects.exists()
    assert asked == [(ValueError, 1), (ValueError, 2)]


def test_a_callable_is_not_asked_where_the_handler_says_for_itself(bench: Bench, effects: Effects) -> None:
    asked.clear()
    says_for_itself.enqueue()
    bench.complete(lambda _: None)
    assert asked == []
