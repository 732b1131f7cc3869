"""Small atomic jobs in one transaction: each as if it had been alone, whatever becomes of its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction

from conveyor_django import Cancel, Fail, Retry, Snooze
from conveyor_django.models import Attempt, Job
from conveyor_django.outcomes import Committed, Release
from conveyor_django.worker import group

from ..support.bench import attempts, delete_jobs
from ..support.connections import Connect, scalar
from ..support.groups import Crew, calls, commits, crew, hooks, scripts, states
from ..support.jobs import insert_effect
from .conftest import Effects

pytestmark = pytest.mark.django_db(transaction=True)

ABC = ("a", "b", "c")


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def test_they_commit_together_and_their_hooks_come_after_that(one: Crew, effects: Effects) -> None:
    seen = []
    scripts["a"] = lambda: transaction.on_commit(lambda: seen.append(dict(states())))
    names = "abcdefghijklmnopqr"
    ends = one.run_all(*names)
    assert commits() == [{"first"}, set(names[:16]), set(names[16:])]
    assert seen[0]["b"] == "succeeded"
    assert hooks == list(names)
    assert effects() == sorted([*names, "first"])
    assert {type(end.outcome) for end in ends.values()} == {Committed}
    assert Job.objects.get(pk=ends["b"].held.claimed.id).ledger.get().result == "b"


def test_a_group_has_a_size(bench: Any, effects: Effects) -> None:
    with crew(bench.connection, group_size=3) as made:
        made.run_all(*"abcdefg")
    assert commits() == [{"first"}, set("abc"), set("def"), {"g"}]


def test_groups_can_be_turned_off(bench: Any, effects: Effects) -> None:
    with crew(bench.connection, group_size=1) as made:
        made.run_all(*ABC)
    assert [len(names) for names in commits()] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("end", "verb", "state"),
    [
        (ValueError("no"), "retry", "ready"), (Retry(60), "retry", "scheduled"), (Snooze(60), "snooze", "scheduled"),
        (Cancel("gone"), "cancel", "cancelled"), (Fail("gone"), "fail", "failed"), (SystemExit(), "retry", "ready"),
    ],
    ids=repr,
)  # fmt: skip
def test_one_that_raises_is_undone_alone(
    one: Crew, effects: Effects, end: BaseException, verb: str, state: str
) -> None:
    def ends() -> None:
        with transaction.atomic():
            insert_effect("inside")
            raise end

    scripts["a"] = ends
    one.run_all("a", "b")
    assert (effects(), hooks) == (["b", "first"], ["b"])
    assert [attempt[0] for attempt in attempts()] == [verb]
    assert states() == {"first": "succeeded", "a": state, "b": "succeeded"}
    assert calls == {"a": 1, "b": 1}


def test_the_last_one_may_raise_too_and_all_of_them(one: Crew, effects: Effects) -> None:
    scripts["b"] = scripts["c"] = scripts["d"] = lambda: 1 / 0
    one.run_all("a", "b")
    assert (effects(), hooks) == (["a", "first"], ["a"])
    one.run_all("c", "d")
    assert (effects(), hooks) == (["a", "first"], ["a"])


def test_a_result_that_cannot_be_stored_fails_its_own_job(one: Crew, effects: Effects) -> None:
    scripts["a"] = object
    one.run_all("a", "b")
    assert states() == {"first": "succeeded", "a": "failed", "b": "succeeded"}
    assert effects() == ["b", "first"]


def test_a_hook_that_raises_keeps_no_neighbours_hook_from_running(
    one: Crew, effects: Effects, caplog: pytest.LogCaptureFixture
) -> None:
    scripts["a"] = lambda: transaction.on_commit(lambda: 1 / 0)
    one.run_all("a", "b")
    assert hooks == ["a", "b"]
    assert caplog.text.count("job.hook_failed") == 1
    assert states() == dict.fromkeys(["first", "a", "b"], "succeeded")


# -- what undoes the whole of it ----------------------------------------------------------------------------


def test_a_lease_that_was_lost_undoes_all_and_the_others_run_again(one: Crew, effects: Effects) -> None:
    def lose() -> None:
        if calls["b"] == 1:
            rescue_one(one, "a")

    scripts["b"] = lose
    ends = one.run_all("a", "b")
    assert (effects(), hooks) == (["b", "first"], ["b"])
    assert calls == {"a": 1, "b": 2}
    assert isinstance(ends["a"].outcome, Release)
    assert states() == {"first": "succeeded", "a": "ready", "b": "succeeded"}
    assert Job.objects.get(pk=ends["b"].held.claimed.id).attempt == 1


def rescue_one(one: Crew, name: str) -> None:
    """Take away the lease of one job, as a rescuer does whose clock says that it has lapsed."""
    one.bench.connection.execute(
        "UPDATE conveyor_job SET state = 'ready', lease_owner = NULL, lease_expires_at = NULL, claimed_at = NULL,"
        " lost_count = 1 WHERE id = (SELECT job_id FROM conveyor_payload WHERE args->>0 = %s)",
        (name,),
    )


def test_a_violation_at_the_commit_is_its_own_jobs_alone(one: Crew, effects: Effects) -> None:
    execute("CREATE TABLE test_deferred (x int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)")
    try:
        scripts["b"] = lambda: execute("INSERT INTO test_deferred VALUES (1), (1)")
        one.run_all("a", "b")
        assert states() == {"first": "succeeded", "a": "succeeded", "b": "ready"}
        assert (effects(), hooks) == (["a", "first"], ["a"])
        assert attempts()[0][1] == "django.db.utils.IntegrityError"
    finally:
        execute("DROP TABLE test_deferred")


def test_a_session_that_is_lost_loses_nothing(one: Crew, effects: Effects, watcher: Any) -> None:
    def cut() -> None:
        if calls["b"] == 1:
            watcher.execute("SELECT pg_terminate_backend(%s)", (connection.connection.info.backend_pid,))
            insert_effect("more")

    scripts["b"] = cut
    one.run_all("a", "b")
    assert (effects(), hooks) == (["a", "b", "first"], ["a", "b"])
    assert calls == {"a": 2, "b": 2}
    assert not Attempt.objects.exists()


def test_what_cannot_begin_together_begins_alone(one: Crew, effects: Effects, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def refused(*_: object, **__: object) -> Iterator[None]:
        raise OperationalError("the connection is closed")
        yield

    monkeypatch.setattr(group, "read_committed", refused)
    one.run_all("a", "b")
    assert commits() == [{"first"}, {"a"}, {"b"}]
    assert calls == {"a": 1, "b": 1}


# -- what is to be alone ------------------------------------------------------------------------------------


def test_a_setting_reaches_no_neighbour(one: Crew, effects: Effects) -> None:
    seen = []
    scripts["a"] = lambda: execute("SET LOCAL work_mem = '3MB'")
    scripts["b"] = lambda: seen.append(scalar(connection, "SELECT current_setting('work_mem')"))
    one.run_all("a", "b")
    assert commits() == [{"first"}, {"a"}, {"b"}]
    assert "3MB" not in seen
    # The statement was not even tried in the group, so only the one that makes it was called again.
    assert calls == {"a": 2, "b": 1}
    one.run_all("a", "b")
    assert calls == {"a": 3, "b": 2}, "it is remembered, and runs alone at once"


def test_a_handler_that_swallows_that_runs_alone_too(one: Crew, effects: Effects) -> None:
    def greedy() -> None:
        try:
            execute("SET LOCAL work_mem = '3MB'")
        except BaseException:  # noqa: BLE001 - handlers do such things
            return

    scripts["a"] = greedy
    one.run_all("a", "b")
    assert (calls["a"], effects()) == (2, ["a", "b", "first"])


def leave_a_block_open() -> None:
    transaction.atomic().__enter__()


def swallow_an_error() -> None:
    try:
        execute("SELECT 1 / 0")
    except DatabaseError:
        return


def set_rollback() -> None:
    transaction.set_rollback(True)


@pytest.mark.parametrize("odd", [leave_a_block_open, swallow_an_error, set_rollback])
def test_an_odd_end_is_the_same_as_alone(one: Crew, effects: Effects, odd: Callable[[], None]) -> None:
    scripts["a"] = odd
    one.run_all("a", "b")
    assert (effects(), hooks) == (["b", "first"], ["b"])
    [together] = attempts()
    delete_jobs(one.bench.connection)
    with crew(one.bench.connection, group_size=1) as alone:
        scripts["a"] = odd
        alone.run_all("a")
    assert attempts() == [together]


def test_a_lock_that_a_neighbour_may_keep_is_tried_again_alone(one: Crew, effects: Effects, connect: Connect) -> None:
    other = connect()
    execute("INSERT INTO test_effect VALUES ('locked')")

    with other.transaction():
        other.execute("SELECT name FROM test_effect WHERE name = 'locked' FOR UPDATE")
        scripts["a"] = lambda: execute("SELECT name FROM test_effect WHERE name = 'locked' FOR UPDATE NOWAIT")
        one.run_all("a", "b")
    assert (calls, states()["a"]) == ({"a": 2, "b": 1}, "ready")
    assert [attempt[:2] for attempt in attempts()] == [("retry", "django.db.utils.OperationalError")]


def test_an_integrity_error_is_the_handlers_own(one: Crew, effects: Effects) -> None:
    def twice() -> None:
        raise IntegrityError("its own")

    scripts["a"] = twice
    one.run_all("a", "b")
    assert calls == {"a": 1, "b": 1}
