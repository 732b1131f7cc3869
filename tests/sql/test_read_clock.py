"""read_clock: the database's time."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def test_the_database_s_own(clock: Clock) -> None:
    with clock() as window:
        now = Job.objects.read_clock()
    assert now in window


def test_a_given_one() -> None:
    assert Job.objects.read_clock(now=NOW) == NOW
