"""Prepared statements on Django's own connection: where they are safe; and nothing of it is left changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import DataError, connection, connections, transaction
from django.db.backends.postgresql.base import Cursor
from django.test.utils import CaptureQueriesContext

from conveyor_django import enqueue_many
from conveyor_django.managers import cursors
from conveyor_django.models import Job

from ..support.factories import new_job
from ..support.produce import anything

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


def enqueue_until_prepared() -> None:
    for _ in range(cursors.USES_BEFORE + 1):
        anything.enqueue()


def test_a_connection_that_is_used_again_and_again_prepares() -> None:
    for _ in range(2):
        anything.enqueue()
    assert prepared() == []
    enqueue_until_prepared()
    assert [text for text in prepared() if "INSERT INTO conveyor_job" in text]
    anything.enqueue("last")
    assert Job.objects.count() == cursors.USES_BEFORE + 4
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
        for _ in range(2 * cursors.USES_BEFORE):
            anything.enqueue()
        enqueue_many([anything.bind(1)])
    assert prepared() == []
    assert Job.objects.count() == 2 * cursors.USES_BEFORE + 1


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
    assert prepared() == []


def test_a_name_that_is_taken_is_no_harm() -> None:
    # The driver's own numbering, as another client's session behind a pooler would have it.
    with connection.cursor() as cursor:
        cursor.execute("PREPARE _pg3_0 AS SELECT 1")
    enqueue_until_prepared()
    assert Job.objects.count() == cursors.USES_BEFORE + 1
    assert prepared() == []


@pytest.mark.parametrize(
    "forbid",
    [
        pytest.param(lambda patch: patch.setattr(cursors, "is_pooled", lambda _: True), id="pooler"),
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
    assert Job.objects.count() == cursors.USES_BEFORE + 2


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
    assert len([query for query in seen if "INSERT INTO conveyor_job" in query]) == cursors.USES_BEFORE + 2
    assert prepared() == []


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
