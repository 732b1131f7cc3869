"""succeed_jobs in the handler's own transaction: its writes commit with the success or not at all (P2)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection, transaction

from conveyor_django.db import Connection
from conveyor_django.models import Job, Ledger, Queue
from conveyor_django.outcomes import Answer, Claimed, Succeed

from ..support.connections import Connect
from ..support.factories import in_seconds, new_job
from ..support.races import A, B

pytestmark = pytest.mark.django_db(transaction=True)


class NotWon(Exception):
    """The success was not won, so that the transaction rolls back."""


def handle(run: Claimed, effect: str, before_success: Callable[[], object] = lambda: None) -> Answer:
    """Run an atomic handler of worker A that writes one row; return what its success was answered."""
    answer = Answer.LOST
    try:
        with transaction.atomic():
            Queue.objects.create(name=effect)
            before_success()
            answer = succeed(run)
            if answer != Answer.WON:
                raise NotWon
    except NotWon:
        pass
    return answer


def succeed(run: Claimed) -> Answer:
    """Report success on Django's connection."""
    return Job.objects.succeed_jobs([Succeed(id=run.id, version=run.version)], owner=A)[run.token]


def effects() -> set[str]:
    """Return what the handlers wrote."""
    return set(Queue.objects.values_list("name", flat=True))


@pytest.fixture
def run() -> Claimed:
    """A job that A runs."""
    Job.objects.enqueue_job(new_job())
    [claimed] = Job.objects.claim_jobs(owner=A, queues={"default": 30.0}, limit=1)
    return claimed


@pytest.fixture
def elsewhere(connect: Connect) -> Connection:
    """Another worker's connection."""
    return connect()


def take_over(on: Connection) -> Claimed:
    """Rescue the job and claim it for B."""
    Job.objects.rescue_jobs(limit=1, max_lost=3, now=in_seconds(3600), on=on)
    [claimed] = Job.objects.claim_jobs(owner=B, queues={"default": 30.0}, limit=1, on=on)
    return claimed


def test_won_commits_all_at_once(run: Claimed, elsewhere: Connection) -> None:
    with transaction.atomic():
        Queue.objects.create(name="effect")
        assert succeed(run) == Answer.WON
        assert elsewhere.execute("SELECT count(*) FROM conveyor_ledger").fetchone() == (0,)
        assert elsewhere.execute("SELECT count(*) FROM conveyor_queue").fetchone() == (0,)
    assert effects() == {"effect"}
    assert (Job.objects.get().state, Ledger.objects.get().owner) == ("succeeded", A)


def test_lost_rolls_all_back(run: Claimed, elsewhere: Connection) -> None:
    theirs = take_over(elsewhere)
    assert handle(run, "zombie") == Answer.LOST
    assert effects() == set()
    assert Job.objects.get().lease_owner == B
    answers = Job.objects.succeed_jobs([Succeed(id=theirs.id, version=theirs.version)], owner=B, on=elsewhere)
    assert answers == {theirs.token: Answer.WON}
    assert Ledger.objects.get().owner == B


def test_lost_after_the_handler_s_transaction_began(run: Claimed, elsewhere: Connection) -> None:
    assert handle(run, "zombie", before_success=lambda: take_over(elsewhere)) == Answer.LOST
    assert effects() == set()
    assert not Ledger.objects.exists()


def test_a_take_over_that_is_not_yet_committed_makes_it_busy(run: Claimed, elsewhere: Connection) -> None:
    with elsewhere.transaction():
        take_over(elsewhere)
        assert handle(run, "zombie") == Answer.BUSY
    assert handle(run, "zombie") == Answer.LOST
    assert effects() == set()


def test_a_rescuer_leaves_a_job_whose_success_is_not_yet_committed(run: Claimed, elsewhere: Connection) -> None:
    with transaction.atomic():
        Queue.objects.create(name="effect")
        assert succeed(run) == Answer.WON
        assert Job.objects.rescue_jobs(limit=1, max_lost=3, now=in_seconds(3600), on=elsewhere) == []
    assert Job.objects.get().state == "succeeded"
    assert effects() == {"effect"}


def test_a_rollback_after_the_success_takes_the_success_too(run: Claimed) -> None:
    with transaction.atomic():
        assert handle(run, "effect") == Answer.WON
        transaction.set_rollback(True)
    assert effects() == set()
    assert not Ledger.objects.exists()
    assert handle(run, "effect") == Answer.WON


def test_repeated_it_was_won_before_and_adds_nothing(run: Claimed) -> None:
    assert [handle(run, "effect"), handle(run, "again")] == [Answer.WON, Answer.WON_BEFORE]
    assert effects() == {"effect"}
    assert connection.in_atomic_block is False
