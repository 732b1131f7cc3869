"""prune_permits: places that nobody asks for go."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.models import Job, Permit

from ..support.factories import JobFactory, PermitFactory
from .conftest import NOW

pytestmark = pytest.mark.django_db

LONG_AGO = NOW - dt.timedelta(hours=2)


def prune(limit: int = 10) -> int:
    """Prune what was idle for an hour."""
    return Job.objects.prune_permits(limit=limit, idle=3600.0, now=NOW)


def test_free_and_idle_ones_go_whatever_freed_them() -> None:
    ended, again = JobFactory(succeeded=True), JobFactory(running=True)
    PermitFactory(key="never taken", taken_at=LONG_AGO)
    PermitFactory(key="ended", run=ended, taken_at=LONG_AGO)
    # Its run was rescued, and the job runs again, under another version.
    PermitFactory(key="older run", run=again, lease_version=again.lease_version - 1, taken_at=LONG_AGO)
    assert prune() == 3
    assert not Permit.objects.exists()


def test_held_ones_stay_however_long_the_run_takes() -> None:
    PermitFactory(run=JobFactory(running=True), taken_at=LONG_AGO)
    assert prune() == 0


def test_ones_taken_lately_stay() -> None:
    PermitFactory(taken_at=NOW - dt.timedelta(minutes=59))
    assert prune() == 0


def test_the_limit() -> None:
    for number in range(1, 4):
        PermitFactory(number=number, taken_at=LONG_AGO)
    assert prune(2) == 2
    assert prune(2) == 1
