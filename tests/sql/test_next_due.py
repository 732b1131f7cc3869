"""next_due: how long until the next scheduled job."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def test_none_without_scheduled_jobs() -> None:
    JobFactory()
    assert Job.objects.next_due(now=NOW) is None


@pytest.mark.parametrize("ahead", [-5.5, 0.0, 2.25])
def test_seconds_to_the_earliest(ahead: float) -> None:
    for seconds in (ahead + 1, ahead, ahead + 2):
        JobFactory(scheduled=True, run_at=NOW + dt.timedelta(seconds=seconds))
    assert Job.objects.next_due(now=NOW) == ahead


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    JobFactory(scheduled=True, run_at=NOW)
    with clock() as window:
        ahead = Job.objects.next_due()
    assert ahead is not None
    assert NOW - dt.timedelta(seconds=ahead) in window
