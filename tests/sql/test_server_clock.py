"""server_clock: the one clock."""

from __future__ import annotations

import pytest

from conveyor_django.managers.looking import LookManager

from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def test_the_database_s_clock_rules(clock: Clock) -> None:
    with clock() as window:
        now = LookManager().server_clock()
    assert now in window


def test_a_test_s_clock() -> None:
    assert LookManager().server_clock(now=NOW) == NOW
