"""add_workflow: a row with its name."""

from __future__ import annotations

import pytest

from conveyor_django.models import Workflow

from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def test_it_begins_unfinished() -> None:
    first = Workflow.objects.add_workflow("order-42", now=NOW)
    second = Workflow.objects.add_workflow("order-42", now=NOW)
    assert second > first
    stored = Workflow.objects.get(pk=first)
    assert (stored.name, stored.created_at, stored.finished_at) == ("order-42", NOW, None)


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    with clock() as window:
        made = Workflow.objects.add_workflow("order-42")
    assert Workflow.objects.get(pk=made).created_at in window
