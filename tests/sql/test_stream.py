"""Pipeline.stream: each request is made while the server runs the one before; whatever fails, the session goes on."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from conveyor_django.db import Connection
from conveyor_django.pipeline import Pipeline, Request

from ..support.connections import Connect

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_statements")]

LOCK = 20_261_130


@pytest.fixture
def used(connect: Connect) -> Pipeline:
    return Pipeline(connect())


def number(given: int) -> Request:
    return (f"SELECT {given}", {})


def goes_on(used: Pipeline) -> bool:
    return list(used.stream([number(7)])) == [[(7,)]]


def test_the_rows_of_each_in_their_order(used: Pipeline) -> None:
    requests = [("SELECT %(a)s::integer + n FROM generate_series(1, 2) AS n", {"a": a}) for a in (10, 20, 30)]
    assert list(used.stream(requests)) == [[(11,), (12,)], [(21,), (22,)], [(31,), (32,)]]
    assert list(used.stream([])) == []


def test_a_request_is_made_while_the_server_runs_the_one_before(used: Pipeline, connect: Connect) -> None:
    other = connect()
    other.execute("SELECT pg_advisory_lock(%s)", (LOCK,))

    def requests() -> Iterator[Request]:
        # It waits for the lock, until the next one is made.
        yield f"SELECT 1 FROM (SELECT pg_advisory_xact_lock({LOCK})) AS taken", {}
        other.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))
        yield number(2)

    assert list(used.stream(requests())) == [[(1,)], [(2,)]]


def test_what_fails_in_the_server_is_raised(used: Pipeline) -> None:
    answers = used.stream([number(1), ("SELECT 1 / %(by)s::integer", {"by": 0}), number(3)])
    assert next(answers) == [(1,)]
    with pytest.raises(psycopg.errors.DivisionByZero):
        next(answers)
    assert goes_on(used)


def test_what_making_a_request_raises_is_raised(used: Pipeline) -> None:
    def requests() -> Iterator[Request]:
        yield number(1)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(used.stream(requests()))
    assert goes_on(used)


def test_text_that_postgresql_cannot_hold_is_refused(used: Pipeline) -> None:
    with pytest.raises(psycopg.DataError, match="NUL"):
        list(used.stream([number(1), ("SELECT %(text)s::text", {"text": "a\0b"})]))
    assert goes_on(used)


def test_who_reads_no_further_leaves_nothing_behind(used: Pipeline) -> None:
    answers = used.stream([number(1), number(2), number(3)])
    assert next(answers) == [(1,)]
    answers.close()  # type: ignore[attr-defined]
    assert goes_on(used)


def test_a_session_that_is_ended_is_an_operational_error(used: Pipeline, watcher: Connection) -> None:
    def requests() -> Iterator[Request]:
        yield number(1)
        watcher.execute("SELECT pg_terminate_backend(%s, 10000)", (used.connection.info.backend_pid,))
        yield number(2)

    with pytest.raises(psycopg.OperationalError):
        list(used.stream(requests()))
    assert used.connection.closed
