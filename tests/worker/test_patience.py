"""No statement on a dedicated connection is waited for without end: a half-open one would stop its loop for good."""

from __future__ import annotations

import time

import pytest

from conveyor_django.db import LEAST_PATIENCE, Unanswered, is_transient
from tests.support.connections import scalar
from tests.support.waits import wait_until

FOREVER = "SELECT pg_sleep(600)"


def impatient(connect):
    """Return a connection that gives up before the server does, and a server that then gives up soon."""
    connection = connect()
    connection.execute("SET statement_timeout = '1s'")
    connection.patience = 0.2
    return connection


def test_what_is_not_answered_raises_and_closes_the_connection(connect):
    connection = impatient(connect)
    began = time.monotonic()
    with pytest.raises(Unanswered) as caught:
        connection.execute(FOREVER)
    assert time.monotonic() - began >= 0.2
    assert connection.closed
    # So that a loop reconnects.
    assert is_transient(caught.value)


def test_nothing_is_waited_for_again_at_the_end_of_a_pipeline_or_transaction(connect):
    connection = impatient(connect)
    with pytest.raises(Unanswered), connection.pipeline(), connection.transaction():
        connection.execute(FOREVER).fetchall()
    assert connection.closed


def test_an_answer_in_time_is_like_any_other(connect):
    connection = connect()
    connection.patience = 30.0
    assert scalar(connection, "SELECT 'answer' FROM pg_sleep(0.2)") == "answer"


@pytest.mark.parametrize(("lease", "expected"), [(30.0, "30s"), (1.0, f"{LEAST_PATIENCE:g}s")])
def test_the_server_ends_it_first(connect, lease, expected):
    connection = connect(lease_seconds=lease)
    assert scalar(connection, "SHOW statement_timeout") == expected
    assert lease < connection.patience


@pytest.mark.parametrize(("given", "expected"), [("1s", "1s"), ("0", "30s"), ("1h", "30s")])
def test_a_tighter_limit_of_the_project_stays(connect, monkeypatch, given, expected):
    monkeypatch.setenv("PGOPTIONS", f"-c statement_timeout={given}")
    assert scalar(connect(lease_seconds=30.0), "SHOW statement_timeout") == expected


def test_the_session_that_was_given_up_ends_too(connect, watcher):
    connection = impatient(connect)
    pid = connection.info.backend_pid
    with pytest.raises(Unanswered):
        connection.execute(FOREVER)
    wait_until(
        lambda: scalar(watcher, "SELECT count(*) FROM pg_stat_activity WHERE pid = %s", (pid,)) == 0,
        "the server's side has ended",
    )
