"""A dead worker's runs: what had to end ends as it must, the rest is given back free."""

from __future__ import annotations

import uuid

import pytest

from conveyor_django.conf import conveyor_settings
from conveyor_django.managers.recovery import Takeover, take_over
from conveyor_django.managers.workers import application_name
from conveyor_django.models import Attempt, Job
from conveyor_django.outcomes import Succeed
from conveyor_django.states import Verb
from conveyor_django.worker import decide
from conveyor_django.worker.board import Limit
from tests.support.factories import ready_jobs

pytestmark = pytest.mark.django_db(transaction=True)

OVERDUE = Limit(due_at=1.0, verb=Verb.RETRY, delay=60.0, timeout=2.0)


@pytest.fixture
def owner() -> uuid.UUID:
    return uuid.uuid4()


@pytest.fixture
def held(owner):
    """Two jobs that a worker held when it died."""
    ready_jobs(2)
    return Job.objects.claim_jobs(owner=owner, queues={"default": 30.0}, limit=2)


@pytest.fixture
def take(owner, connect):
    on = connect()

    def take(*ended) -> Takeover:
        return take_over(
            alias="default", incarnation=owner, settings=conveyor_settings(), reason="it died", started=[], ended=ended,
            on=on,
        )  # fmt: skip

    return take


def test_a_run_whose_time_was_over_is_timed_out_and_its_neighbour_free(held, take):
    culprit, neighbour = held
    taken = take(decide.killed(culprit.token, OVERDUE))
    assert taken.done
    states = dict(Job.objects.values_list("id", "state"))
    assert states == {culprit.id: "scheduled", neighbour.id: "ready"}
    assert Job.objects.get(pk=culprit.id).attempt == 1
    assert Job.objects.get(pk=neighbour.id).attempt == 0
    ended = {row.job_id: row for row in Attempt.objects.all()}
    assert (ended[culprit.id].verb, ended[culprit.id].error_class) == ("retry", "conveyor_django.errors.TaskTimeout")
    assert "timeout of 2 s" in ended[culprit.id].message
    assert (ended[neighbour.id].verb, ended[neighbour.id].error_class) == ("release", "")
    assert "neighbour's run" in ended[neighbour.id].message


def test_a_cancelled_one_is_cancelled(held, take):
    take(decide.killed(held[0].token, Limit(due_at=1.0, verb=Verb.CANCEL)))
    assert Job.objects.get(pk=held[0].id).state == "cancelled"
    assert Attempt.objects.get(job=held[0].id).error_class == "conveyor_django.errors.JobCancelled"


def test_a_queue_is_woken_for_a_run_that_may_be_tried_again_at_once(held, take):
    taken = take(decide.killed(held[0].token, Limit(due_at=1.0, verb=Verb.RETRY, timeout=2.0)))
    assert taken.ready == {"default"}


def test_nothing_is_ended_while_the_dead_worker_has_a_session(owner, held, take, connect):
    """What it has sent may still commit."""
    session = connect()
    session.execute("SELECT set_config('application_name', %s, false)", (application_name(owner),))
    first = take(decide.killed(held[0].token, OVERDUE))
    assert (first.done, first.held, first.rescued) == (False, 2, [])
    assert not Attempt.objects.exists()
    while not (last := take(decide.killed(held[0].token, OVERDUE))).done:
        assert last.sessions
    assert Attempt.objects.count() == 2


def test_a_run_whose_row_is_locked_is_not_given_back_meanwhile(held, take, connect):
    other = connect()
    with other.transaction():
        other.execute("SELECT 1 FROM conveyor_job WHERE id = %s FOR UPDATE", (held[0].id,))
        assert not take(decide.killed(held[0].token, OVERDUE)).done
    assert set(Job.objects.values_list("state", flat=True)) == {"running"}
    assert take(decide.killed(held[0].token, OVERDUE)).done
    assert Attempt.objects.get(job=held[0].id).verb == "retry"


def test_a_success_that_was_first_stands(owner, held, take):
    Job.objects.succeed_jobs([Succeed(id=held[0].id, version=held[0].version)], owner=owner)
    assert take(decide.killed(held[0].token, OVERDUE)).done
    assert Job.objects.get(pk=held[0].id).state == "succeeded"
    assert not Attempt.objects.filter(job=held[0].id).exists()
