"""What breaks in the midst of a group, or around it: no neighbour pays for it, and nobody for what Conveyor did."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from conveyor_django.preparing import USES_BEFORE, run_command
from conveyor_django.worker import group

from ..support.bench import attempts
from ..support.groups import Crew, calls, crew, hooks, scripts, states
from ..support.waits import PATIENCE, wait_until
from .conftest import Effects

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def one(bench: Any, effects: Effects) -> Iterator[Crew]:
    """One thread, whose connection prepares."""
    with crew(bench.connection) as made:
        for number in range(USES_BEFORE):
            made.run_all(f"before-{number}")
        hooks.clear()
        calls.clear()
        yield made


@pytest.fixture
def at_the_second_savepoint(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], None]], None]:
    """Do something before the second savepoint of a group is set."""
    real, seen = group.set_savepoint, []

    def have(act: Callable[[Any], None]) -> None:
        def patched(wrapper: Any) -> None:
            seen.append(1)
            if len(seen) == 2:
                act(wrapper)
            real(wrapper)

        monkeypatch.setattr(group, "set_savepoint", patched)

    return have


def bound_runs(one: Crew, seconds: float) -> None:
    """Give the task a timeout, as if it had been declared with it."""
    definitions = one.executor._handlers._definitions
    for path, definition in definitions.items():
        definitions[path] = dataclasses.replace(definition, timeout=seconds)


def with_effect(effects: Effects) -> list[str]:
    return [name for name in effects() if name != "first" and not name.startswith("before")]


def test_a_session_that_is_cut_between_two_runs_fails_nobody(
    one: Crew, effects: Effects, watcher: Any, at_the_second_savepoint: Any
) -> None:
    def cut(wrapper: Any) -> None:
        watcher.execute("SELECT pg_terminate_backend(%s, 5000)", (wrapper.connection.info.backend_pid,))

    at_the_second_savepoint(cut)
    one.run_all("a", "b", "c")
    assert (with_effect(effects), attempts()) == (["a", "b", "c"], [])


def test_a_savepoint_that_cannot_be_set_fails_nobody(one: Crew, effects: Effects, at_the_second_savepoint: Any) -> None:
    at_the_second_savepoint(lambda wrapper: run_command(wrapper, "SELECT 1 / 0"))
    one.run_all("a", "b", "c")
    assert (with_effect(effects), attempts()) == (["a", "b", "c"], [])


def test_one_that_waits_for_the_commit_has_no_time_that_ends(one: Crew, effects: Effects) -> None:
    """Or the supervisor would take it for overdue when the process dies of something else."""
    go_on = threading.Event()
    bound_runs(one, 60.0)
    scripts["b"] = lambda: go_on.wait(PATIENCE)
    held = one.run("a", "b")
    wait_until(lambda: calls["b"] == 1, "the second one runs")
    overdue = set(one.board.overdue(time.monotonic() + 3600))
    go_on.set()
    one.finish(held)
    assert overdue == {held["b"].token}


def test_hooks_take_no_time_of_their_neighbours(one: Crew, effects: Effects) -> None:
    due: list[set[str]] = []
    bound_runs(one, 60.0)
    held = {}
    hooked = threading.Event()

    def look() -> None:
        assert hooked.wait(PATIENCE)
        due.append({name for name, each in held.items() if each.due_at is not None and not each.ended})

    scripts["a"] = scripts["b"] = lambda: transaction.on_commit(look)
    held = one.run("a", "b")
    hooked.set()
    one.finish(held)
    assert due == [{"a"}, {"b"}]


def test_a_hook_that_leaves_a_block_open_keeps_no_other_from_running(one: Crew, effects: Effects) -> None:
    scripts["a"] = lambda: transaction.on_commit(lambda: transaction.atomic().__enter__())
    one.run_all("a", "b")
    assert hooks == ["a", "b"]


def test_an_error_that_is_its_own_cause_is_the_handlers(one: Crew, effects: Effects) -> None:
    def raises() -> None:
        error = ValueError("its own")
        raise error from error

    scripts["a"] = raises
    one.run_all("a", "b")
    assert [(verb, error) for verb, error, *_ in attempts()] == [("retry", "builtins.ValueError")]
    assert with_effect(effects) == ["b"]


@pytest.mark.parametrize("names", ["a", "ab"])
def test_what_was_prepared_may_be_discarded(one: Crew, effects: Effects, names: str) -> None:
    def discard() -> None:
        if calls["a"] == 1:
            with connection.cursor() as cursor:
                cursor.execute("DEALLOCATE ALL")

    scripts["a"] = discard
    held = one.run(*names)
    one.finish(held)
    assert {verb for verb, *_ in attempts()} <= {"release"}
    assert states()["a"] in {"ready", "succeeded"}
    assert with_effect(effects) == [name for name in names if states()[name] == "succeeded"]


def test_a_wait_for_a_server_that_stands_still_can_be_interrupted(one: Crew, effects: Effects) -> None:
    frozen: list[int] = []

    def freeze() -> None:
        frozen.append(connection.connection.info.backend_pid)
        os.kill(frozen[0], signal.SIGSTOP)

    scripts["a"] = lambda: transaction.on_commit(freeze)
    one.run_all("a")
    bound_runs(one, 0.1)
    held = one.run("b")
    try:
        wait_until(lambda: one.deadlines.look() or not one.ends.empty(), "the run has ended")
        wait_until(lambda: not one.ends.empty(), "the run has ended")
    finally:
        os.kill(frozen[0], signal.SIGCONT)
    one.finish(held)
    assert with_effect(effects) == ["a"]
