"""Prepared statements on Django's own connection: where they are safe; and nothing of it is left changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import DatabaseError, DataError, IntegrityError, connection, connections, transaction
from django.db.backends.postgresql.base import Cursor
from django.test.utils import CaptureQueriesContext
from psycopg.errors import CheckViolation

from conveyor_django import enqueue_many, preparing, store
from conveyor_django.models import Job
from conveyor_django.outcomes import Answer, Succeed
from conveyor_django.transactions import read_committed, set_savepoint

from ..support.connections import scalar
from ..support.factories import new_job
from ..support.produce import anything
from ..support.samples import OWNER

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fresh_connection() -> Iterator[None]:
    """Begin and end with a connection on which nothing has been prepared."""
    connection.close()
    yield
    connection.close()


def prepared() -> list[str]:
    """Return Conveyor's statements that are prepared in the session."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%conveyor%'")
        return [text for [text] in cursor.fetchall()]


def plans_of(connection: Any) -> tuple[str, str]:
    return scalar(connection, "SHOW plan_cache_mode"), scalar(connection, "SHOW enable_seqscan")


def enqueue_until_prepared() -> None:
    for _ in range(preparing.USES_BEFORE + 1):
        anything.enqueue()


def test_a_connection_that_is_used_again_and_again_prepares() -> None:
    for _ in range(2):
        anything.enqueue()
    assert prepared() == []
    enqueue_until_prepared()
    assert [text for text in prepared() if "INSERT INTO conveyor_job" in text]
    anything.enqueue("last")
    assert Job.objects.count() == preparing.USES_BEFORE + 4
    assert Job.objects.select_related("payload").latest("id").payload.args == ["last"]


def test_nothing_of_the_connection_is_left_changed() -> None:
    enqueue_until_prepared()
    raw = connection.connection
    assert (raw.cursor_factory, raw.prepare_threshold) == (Cursor, None)
    with pytest.raises((ValueError, DataError), match="NUL"):
        Job.objects.enqueue_job(new_job(task="a\x00b"))
    assert (raw.cursor_factory, raw.prepare_threshold) == (Cursor, None)


def test_in_a_transaction_nothing_is_prepared() -> None:
    with transaction.atomic():
        for _ in range(2 * preparing.USES_BEFORE):
            anything.enqueue()
        enqueue_many([anything.bind(1)])
    assert prepared() == []
    assert Job.objects.count() == 2 * preparing.USES_BEFORE + 1


@pytest.mark.parametrize("discard", ["DISCARD ALL", "DEALLOCATE ALL"])
def test_a_session_that_was_reset_serves_on(discard: str) -> None:
    enqueue_until_prepared()
    with connection.cursor() as cursor:
        cursor.execute(discard)
    before = Job.objects.count()
    with transaction.atomic():
        anything.enqueue()
    for _ in range(2):
        anything.enqueue()
    assert Job.objects.count() == before + 3
    assert len(prepared()) == 1


def test_a_name_that_is_taken_is_no_harm() -> None:
    # As another client's session behind a pooler would have it.
    with connection.cursor() as cursor:
        cursor.execute("PREPARE enqueue_job AS SELECT 1")
    enqueue_until_prepared()
    assert Job.objects.count() == preparing.USES_BEFORE + 1
    assert prepared() == []


@pytest.mark.parametrize(
    "forbid",
    [
        pytest.param(lambda patch: patch.setattr(preparing, "is_pooled", lambda _: True), id="pooler"),
        pytest.param(
            lambda patch: patch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True), id="server side"
        ),
        pytest.param(
            lambda patch: patch.setitem(
                connection.settings_dict, "OPTIONS", connection.settings_dict["OPTIONS"] | {"prepare_threshold": None}
            ),
            id="threshold",
        ),
        pytest.param(lambda patch: patch.setattr(connections["default"], "force_debug_cursor", True), id="logged"),
    ],
)
def test_where_it_is_not_to_be_nothing_is_prepared(
    monkeypatch: pytest.MonkeyPatch, forbid: Callable[[pytest.MonkeyPatch], None]
) -> None:
    forbid(monkeypatch)
    enqueue_until_prepared()
    anything.enqueue()
    assert prepared() == []
    assert Job.objects.count() == preparing.USES_BEFORE + 2


def test_in_an_encoding_that_somebody_has_set_texts_stay_what_they_are() -> None:
    anything.enqueue("é")
    with connection.cursor() as cursor:
        cursor.execute("SET client_encoding TO 'LATIN1'")
    for _ in range(preparing.USES_BEFORE + 2):
        anything.enqueue("é")
    enqueue_many([anything.bind("é") for _ in range(store.CHUNK + 1)])
    assert Job.objects.exclude(payload__args=["é"]).count() == 0


def test_the_driver_s_cursor_of_somebody_else_stays() -> None:
    seen: list[str] = []

    class Watching(Cursor):
        def execute(self, query: Any, *args: Any, **options: Any) -> Any:
            seen.append(query)
            return super().execute(query, *args, **options)

    connection.ensure_connection()
    connection.connection.cursor_factory = Watching
    enqueue_until_prepared()
    enqueue_many([anything.bind(1)])
    assert len([query for query in seen if "INSERT INTO conveyor_job" in query]) == preparing.USES_BEFORE + 2
    assert prepared() == []


def begun_until_prepared() -> None:
    for _ in range(preparing.USES_BEFORE + 1):
        with read_committed("default", timeout=60.0):
            pass


@pytest.mark.parametrize("bound", ["0", "2min", "10s"])
def test_a_transaction_that_begins_prepared_is_bounded_all_the_same(bound: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        cursor.execute(f"SET statement_timeout = '{bound}'")
    begun_until_prepared()
    with read_committed("default", timeout=60.0):
        assert scalar(connection, "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'session/%'") == 2
        assert scalar(connection, "SHOW transaction_isolation") == "read committed"
        assert scalar(connection, "SHOW statement_timeout") == ("10s" if bound == "10s" else "1min")
        if connection.pg_version >= 170_000:
            assert scalar(connection, "SHOW transaction_timeout") == "1min"
        effect = anything.enqueue()
    assert scalar(connection, "SHOW transaction_isolation") == "serializable"
    assert scalar(connection, "SHOW statement_timeout") == bound
    assert [f"default:{job.pk}" for job in Job.objects.all()] == [effect.id]


def test_the_last_statement_s_plan_is_pinned_until_the_transaction_ends() -> None:
    begun_until_prepared()
    with read_committed("default", timeout=60.0):
        assert Job.objects.succeed_lastly([Succeed(id=404, version=1)], owner=OWNER) == {(404, 1): Answer.LOST}
        assert plans_of(connection) == ("force_generic_plan", "off")
        assert scalar(connection, "SELECT count(*) FROM pg_prepared_statements WHERE name = 'succeed_jobs'") == 1
    assert plans_of(connection) == ("auto", "on")


def test_where_the_driver_prepares_too_nothing_is_prepared_within_a_transaction() -> None:
    """After a rollback to a savepoint it discards all that a session has."""
    begun_until_prepared()
    connection.connection.prepare_threshold = 1
    with read_committed("default", timeout=60.0):
        assert Job.objects.succeed_lastly([Succeed(id=404, version=1)], owner=OWNER) == {(404, 1): Answer.LOST}
        assert plans_of(connection) == ("auto", "on")


def test_what_is_discarded_within_a_transaction_fails_that_one_alone() -> None:
    for _ in range(2):
        begun_until_prepared()
        with read_committed("default", timeout=60.0):
            Job.objects.succeed_lastly([Succeed(id=404, version=1)], owner=OWNER)
    with read_committed("default", timeout=60.0), connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
        with pytest.raises(preparing.StatementsGone, match="pin_plans"):
            Job.objects.succeed_lastly([Succeed(id=404, version=1)], owner=OWNER)
    with read_committed("default", timeout=60.0):
        assert Job.objects.succeed_lastly([Succeed(id=404, version=1)], owner=OWNER) == {(404, 1): Answer.LOST}
        assert plans_of(connection) == ("auto", "on")


def test_a_savepoint_that_cannot_be_set_is_django_s_error() -> None:
    connection.ensure_connection()
    with pytest.raises(DatabaseError, match="transaction block"):
        set_savepoint(connections["default"])


def test_what_a_rollback_leaves_is_used_on() -> None:
    enqueue_until_prepared()
    with pytest.raises(DataError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")
    assert len(prepared()) == 1
    anything.enqueue()
    assert Job.objects.count() == preparing.USES_BEFORE + 2


def test_the_server_s_errors_are_django_s() -> None:
    enqueue_until_prepared()
    with pytest.raises(IntegrityError) as caught:
        Job.objects.enqueue_job(new_job(max_attempts=0))
    assert isinstance(caught.value.__cause__, CheckViolation)
    anything.enqueue()
    assert Job.objects.count() == preparing.USES_BEFORE + 2


def test_a_connection_of_another_thread_is_refused() -> None:
    enqueue_until_prepared()
    with ThreadPoolExecutor(1) as pool, pytest.raises(DatabaseError, match="thread"):
        pool.submit(preparing.run_prepared, connections["default"], [("list_leases", {})]).result()


def test_logged_queries_show_their_values() -> None:
    enqueue_until_prepared()
    with CaptureQueriesContext(connection) as queries:
        anything.enqueue("one of its kind")
        enqueue_many([anything.bind("and another")])
    shown = "".join(query["sql"] for query in queries)
    assert "one of its kind" in shown
    assert "and another" in shown


def test_wrappers_of_django_s_execute_see_every_statement() -> None:
    enqueue_until_prepared()
    seen: list[str] = []

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        seen.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        anything.enqueue()
        enqueue_many([anything.bind(1)])
    assert len([sql for sql in seen if "INSERT INTO conveyor_job" in sql]) == 2
