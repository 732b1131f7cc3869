"""What a worker does about caps after a turn."""

from __future__ import annotations

import logging
import uuid

import pytest

from conveyor_django.managers.exchange import Claim
from conveyor_django.models import Job, Permit
from conveyor_django.worker.finisher import Turn
from conveyor_django.worker.limits import CAREFUL_SECONDS, MAX_DELAY_SECONDS, PATIENCE, Limits
from tests.support.factories import JobFactory, PermitFactory

pytestmark = pytest.mark.django_db(transaction=True)

KEY = ("default", "k")


@pytest.fixture
def limits() -> Limits:
    return Limits(alias="default")


def claimed(*jobs: Job):
    """Claim jobs for a worker."""
    return Job.objects.claim_jobs(owner=uuid.uuid4(), queues={"default": 30.0}, limit=len(jobs))


def test_nothing_to_do_costs_nothing_and_is_no_reason_to_look(limits, connect, django_assert_num_queries):
    [run] = claimed(JobFactory())
    with django_assert_num_queries(0):
        assert limits.attend(Turn(), [run], connect(), 0.0) is None


def test_missing_permits_are_made(limits, connect):
    turn = Turn(claim=Claim(unprovided=[("default", "", 2), ("a", "k", 1)]))
    assert limits.attend(turn, [], connect(), 0.0) == 0.0
    assert Permit.objects.count() == 3


def test_a_key_whose_run_has_ended_has_its_next_job_back_in_line(limits, connect):
    PermitFactory()
    [run] = claimed(JobFactory(concurrency_key="k"))
    Job.objects.update(state="failed", lease_owner=None, lease_expires_at=None, finished_at="2031-01-01T00:00Z")
    waiting = JobFactory(parked_by_key=True)
    turn = Turn()
    assert limits.attend(turn, [run], connect(), 0.0) == 0.0
    waiting.refresh_from_db()
    assert waiting.parked is None
    # The other workers of the queue hear of it.
    assert turn.ready == {"default"}


def test_jobs_that_were_parked_are_a_reason_to_look_for_others(limits, connect):
    turn = Turn(claim=Claim(parked=[("default", None)]))
    assert limits.attend(turn, [], connect(), 0.0) == 0.0
    assert turn.ready == set()


def test_parking_and_unparking_the_same_again_and_again_slows_down(limits, connect):
    """As long as somebody's claim, in flight or frozen, has the permit locked."""
    JobFactory(parked_by_key=True)
    connection = connect()
    delays = []
    for _ in range(PATIENCE + 12):
        delays.append(limits.attend(Turn(claim=Claim(parked=[KEY])), [], connection, 0.0))
        Job.objects.update(parked="key")
    assert delays[:PATIENCE] == [0.0] * PATIENCE
    assert 0 < delays[PATIENCE] < 0.01
    assert MAX_DELAY_SECONDS / 2 <= delays[-1] <= MAX_DELAY_SECONDS
    # A look that only parks makes progress, and so does one that brings something.
    Job.objects.update(parked=None)
    assert limits.attend(Turn(claim=Claim(parked=[KEY])), [], connection, 0.0) == 0.0


def test_an_error_is_logged_and_slows_the_looks_down(limits, connect, caplog):
    connection = connect()
    turn = Turn(claim=Claim(unprovided=[("default", "k", -1), ("default", "\x00", 1)]))
    with caplog.at_level(logging.ERROR, "conveyor"):
        delays = [limits.attend(turn, [], connection, 0.0) for _ in range(PATIENCE + 12)]
    assert delays[0] == 0.0
    assert delays[-1] >= MAX_DELAY_SECONDS / 2
    assert {record.conveyor["event"] for record in caplog.records} == {"limits.failed"}


def test_a_plain_claim_that_met_a_cap_is_followed_by_whole_ones_for_a_while(limits, connect):
    assert limits.are_far(0.0)
    assert limits.attend(Turn(claim=Claim(capped=True)), [], connect(), 10.0) == 0.0
    assert not limits.are_far(10.0)
    assert not limits.are_far(10.0 + CAREFUL_SECONDS / 2)
    assert limits.are_far(10.0 + CAREFUL_SECONDS)
