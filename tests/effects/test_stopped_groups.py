"""Members of a group that are too slow or cancelled, and those that wait behind slow ones."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from conveyor_django.models import Job

from ..support.bench import attempts
from ..support.connections import scalar
from ..support.groups import Crew, calls, commits, crew, hooks, member, scripts, states
from ..support.waits import PATIENCE, wait_until
from .conftest import Effects

pytestmark = pytest.mark.django_db(transaction=True)


def sleep_in_the_database() -> None:
    scalar(connection, "SELECT pg_sleep(60)")


def sleep_in_python() -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        time.sleep(0.001)  # the handler's work, which the test interrupts


def is_active(watcher: Any, sql: str) -> bool:
    """Say whether a session runs this statement."""
    query = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query = %s AND state = 'active')"
    return bool(scalar(watcher, query, (sql,)))


@pytest.mark.parametrize("slow", [sleep_in_the_database, sleep_in_python])
def test_one_whose_time_is_over_is_interrupted_alone(
    one: Crew, effects: Effects, slow: Callable[[], None], watcher: Any
) -> None:
    entered = threading.Event()

    def enter() -> None:
        entered.set()
        slow()

    scripts["b"] = enter
    held = one.run("a", "b", "c", "d")
    assert entered.wait(PATIENCE)
    if slow is sleep_in_the_database:
        wait_until(lambda: is_active(watcher, "SELECT pg_sleep(60)"), "it waits in the database")
    wait_until(lambda: held["a"].resting, "the first one waits for the commit")
    held["b"].due_at = time.monotonic()
    wait_until(lambda: bool(one.deadlines.look()) or held["b"].overdue, "its time is over")
    one.finish(held)
    assert [attempt[:2] for attempt in attempts()] == [("retry", "conveyor_django.errors.TaskTimeout")]
    assert sorted(set(effects())) == ["a", "c", "d", "first"]
    assert len(effects()) == 4
    assert "b" not in hooks


def test_one_that_is_cancelled_while_it_waits_for_the_commit_is_undone(one: Crew, effects: Effects) -> None:
    entered, go_on = threading.Event(), threading.Event()

    def enter() -> None:
        entered.set()
        go_on.wait(PATIENCE)

    scripts["b"] = enter
    held = one.run("a", "b")
    assert entered.wait(PATIENCE)
    Job.objects.cancel_job(held["a"].claimed.id, on=one.bench.connection)
    held["a"].cancel()
    held["a"].stop()
    # Nothing of it runs that could end of it.
    assert one.deadlines.look() == []
    go_on.set()
    one.finish(held)
    assert (effects(), hooks) == (["b", "first"], ["b"])
    assert states() == {"first": "succeeded", "a": "cancelled", "b": "succeeded"}


def test_what_waits_behind_slow_ones_is_given_to_others(bench: Any, effects: Effects) -> None:
    go_on = threading.Event()
    with crew(bench.connection, threads=3) as made:
        made.paces.seconds = 0.0
        scripts["a"] = scripts["b"] = lambda: go_on.wait(PATIENCE)
        held = made.run(*"abcdefghijklmnopq")
        wait_until(lambda: calls["a"] == calls["b"] == 1, "two have begun, and no third serves the line")
        assert calls["c"] == 0
        wait_until(lambda: made.executor.relieve() or made.ends.qsize() == 15, "the others have ended")
        assert not held["a"].ended
        assert not held["b"].ended
        go_on.set()
        made.finish(held)
    assert len(effects()) == 18


def test_a_task_that_is_not_quick_runs_alone(one: Crew, effects: Effects) -> None:
    one.paces.keep_alone(member.module_path, time.monotonic())
    one.run_all("a", "b")
    assert commits() == [{"first"}, {"a"}, {"b"}]
