"""pace_token: so many requests in so many seconds, and no more, whoever asks at once."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connections

from conveyor_django.models import ApiToken

from ..support.barriers import at_once
from ..support.factories import utc_now
from .conftest import NOW


def new_token() -> ApiToken:
    return ApiToken.objects.create(name="test", prefix="conveyor_test", digest="", created_at=utc_now())


def waits(token: ApiToken, *seconds: float) -> list[float]:
    """Charge the token at each of these instants, for 3 requests in 6 seconds."""
    return [
        ApiToken.objects.pace_token(token.pk, requests=3, seconds=6.0, now=NOW + dt.timedelta(seconds=after))
        for after in seconds
    ]


@pytest.mark.django_db
def test_all_may_come_at_once_and_then_one_at_a_time() -> None:
    token = new_token()
    assert waits(token, 0, 0, 0) == [0, 0, 0]
    assert waits(token, 0, 0.5, 1.5) == [2.0, 1.5, 0.5]
    # What was refused was not charged.
    assert waits(token, 2, 2, 4) == [0, 2.0, 0]
    assert waits(token, 60, 60, 60, 60) == [0, 0, 0, 2.0]


@pytest.mark.django_db
def test_a_clock_that_is_behind_waits_for_the_rest() -> None:
    token = new_token()
    assert waits(token, 10, 10, 10) == [0, 0, 0]
    assert waits(token, 9) == [3.0]


@pytest.mark.django_db
def test_a_token_that_is_gone_waits_for_nothing() -> None:
    assert ApiToken.objects.pace_token(1, requests=1, seconds=60.0) == 0.0


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_so_many_pass_and_no_more() -> None:
    token = new_token()

    def charge() -> float:
        try:
            return ApiToken.objects.pace_token(token.pk, requests=3, seconds=3600.0)
        finally:
            connections["default"].close()

    results = at_once(*[charge] * 8)
    assert sorted(wait == 0 for wait in results) == [False] * 5 + [True] * 3
