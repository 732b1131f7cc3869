"""make_permits: the places of exact caps, each once."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job, Permit

from ..support.factories import JobFactory, PermitFactory
from .conftest import NOW

pytestmark = pytest.mark.django_db


def places() -> list[tuple[str, str, int]]:
    """Return (queue, key, number) of every permit."""
    return list(Permit.objects.order_by("queue", "key", "number").values_list("queue", "key", "number"))


def test_a_row_for_each_place_and_all_are_free() -> None:
    assert Job.objects.make_permits([("a", "", 2), ("b", "k", 1)], now=NOW) == 3
    assert places() == [("a", "", 1), ("a", "", 2), ("b", "k", 1)]
    assert set(Permit.objects.values_list("job_id", "lease_version", "taken_at")) == {(0, 0, NOW)}


def test_what_is_there_stays_as_it_is() -> None:
    holder = JobFactory(running=True)
    taken = PermitFactory(run=holder)
    assert Job.objects.make_permits([("default", "k", 3)]) == 2
    taken.refresh_from_db()
    assert (taken.job_id, taken.number) == (holder.pk, 1)
    assert Job.objects.make_permits([("default", "k", 3)]) == 0


def test_a_cap_that_is_given_twice() -> None:
    assert Job.objects.make_permits([("a", "k", 1), ("a", "k", 2)]) == 2


def test_nothing() -> None:
    assert Job.objects.make_permits([]) == 0
