"""The finisher on a real connection: batches, a bad outcome among good ones, replies that were lost."""

from __future__ import annotations

import uuid

import psycopg
import pytest

from conveyor_django.conf import conveyor_settings
from conveyor_django.models import Attempt, Job, Ledger
from conveyor_django.outcomes import Answer, Committed, ErrorInfo, Retry, Succeed
from conveyor_django.worker.finisher import Finisher
from tests.support.factories import ready_jobs

pytestmark = pytest.mark.django_db(transaction=True)

QUEUES = {"default": 30.0}


@pytest.fixture
def owner() -> uuid.UUID:
    return uuid.uuid4()


@pytest.fixture
def finisher(owner) -> Finisher:
    return Finisher(owner=owner, settings=conveyor_settings())


def claim(finisher, connection, limit):
    return finisher.turn(connection, [], queues=QUEUES, limit=limit).claim.jobs


def succeeded(claimed, result=None):
    return (claimed, Succeed(id=claimed.id, version=claimed.version, result=result))


def retried(claimed):
    error = ErrorInfo(error_class="x.Y", message="m")
    return (claimed, Retry(id=claimed.id, version=claimed.version, error=error, delay=5.0))


def test_outcomes_of_both_kinds_and_the_next_claim_go_in_one_turn(finisher, connect):
    ready_jobs(4)
    connection = connect()
    first, second = claim(finisher, connection, 2)
    turn = finisher.turn(connection, [succeeded(first), retried(second)], queues=QUEUES, limit=2)
    assert turn.answers == {first.token: Answer.WON, second.token: Answer.WON}
    assert len(turn.claim.jobs) == turn.asked == 2
    assert sorted(Job.objects.values_list("state", flat=True)) == [
        "running",
        "running",
        "scheduled",
        "succeeded",
    ]


def test_an_outcome_that_the_database_refuses_fails_its_own_job_and_no_other(finisher, connect):
    ready_jobs(7)
    connection = connect()
    claimed = claim(finisher, connection, 7)
    outcomes = [succeeded(c, '"fine"') for c in claimed]
    # What the executor's scrubbing exists to prevent: text that jsonb refuses.
    outcomes[3] = succeeded(claimed[3], '"a\\u0000b"')
    turn = finisher.turn(connection, outcomes, queues=QUEUES, limit=5)
    assert set(turn.answers.values()) == {Answer.WON}
    assert len(turn.answers) == 7
    assert Ledger.objects.count() == 6
    bad = Job.objects.get(pk=claimed[3].id)
    assert bad.state == "failed"
    assert "u0000" in Attempt.objects.get(job=bad).message


def test_what_an_atomic_handler_committed_is_not_written_again(finisher, connect):
    ready_jobs(1)
    connection = connect()
    [claimed] = claim(finisher, connection, 1)
    turn = finisher.turn(connection, [(claimed, Committed(id=claimed.id, version=claimed.version))], queues={}, limit=0)
    assert turn.answers == {claimed.token: Answer.WON}
    assert not Ledger.objects.exists()


def test_a_turn_whose_reply_was_lost_is_answered_won_before(finisher, connect, watcher):
    """The connection is cut after the commit: the same outcomes are given again on the next one."""
    ready_jobs(2)
    connection = connect()
    first, second = claim(finisher, connection, 2)
    outcomes = [succeeded(first), retried(second)]
    finisher.turn(connection, outcomes, queues={}, limit=0)
    watcher.execute("SELECT pg_terminate_backend(%s)", (connection.info.backend_pid,))
    with pytest.raises(psycopg.OperationalError):
        finisher.turn(connection, outcomes, queues={}, limit=0)
    again = finisher.turn(connect(), outcomes, queues={}, limit=0)
    assert set(again.answers.values()) == {Answer.WON_BEFORE}
    assert Ledger.objects.count() == Attempt.objects.count() == 1


def test_a_locked_row_is_busy_and_its_neighbours_are_written(finisher, connect):
    ready_jobs(3)
    connection, other = connect(), connect()
    claimed = claim(finisher, connection, 3)
    with other.transaction():
        other.execute("SELECT 1 FROM conveyor_job WHERE id = %s FOR UPDATE", (claimed[1].id,))
        turn = finisher.turn(connection, [succeeded(c) for c in claimed], queues=QUEUES, limit=1)
    assert [turn.answers[c.token] for c in claimed] == [Answer.WON, Answer.BUSY, Answer.WON]
    turn = finisher.turn(connection, [succeeded(claimed[1])], queues={}, limit=0)
    assert turn.answers == {claimed[1].token: Answer.WON}
