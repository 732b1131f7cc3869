"""count_states: how many jobs of each queue are in the states that have an index of their own."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db

STATES = ("running", "scheduled", "blocked", "failed")


def counts(limit: int = 1000) -> dict[tuple[str, str], int]:
    return {(state, queue): jobs for state, queue, jobs in Job.objects.count_states(limit=limit)}


@pytest.mark.parametrize("state", STATES)
def test_by_queue(state: str) -> None:
    JobFactory.create_batch(2, **{state: True}, queue="a")
    JobFactory(**{state: True}, queue="b")
    assert counts() == {(state, "a"): 2, (state, "b"): 1}


@pytest.mark.parametrize("reason", ["parked_by_key", "parked_by_task"])
def test_what_is_parked_for_either_reason(reason: str) -> None:
    JobFactory.create_batch(2, **{reason: True}, queue="a")
    assert counts() == {("parked", "a"): 2}


@pytest.mark.parametrize("state", ["succeeded", "cancelled"])
def test_others_do_not_count(state: str) -> None:
    JobFactory(**{state: True})
    JobFactory()
    assert counts() == {}


@pytest.mark.parametrize("state", STATES)
def test_each_state_has_the_limit_for_itself(state: str) -> None:
    JobFactory.create_batch(3, **{state: True}, queue="a")
    JobFactory(queue="a", parked_by_key=True)
    assert counts(limit=2) == {(state, "a"): 2, ("parked", "a"): 1}
