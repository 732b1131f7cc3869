"""Inside the transaction that Django's TestCase has around a test, a handler may do what it may with a worker."""

from __future__ import annotations

from collections import Counter

import pytest
from django.db import connection

from conveyor_django.models import Ledger
from conveyor_django.testing import drain

from ..zombies.lives import LIVES, Life

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", LIVES)
def test_it_lives(name: str, effects: None) -> None:
    life: Life = LIVES[name]
    life.enqueue()
    ended = list(drain())
    succeeded = [result for result in ended if result.status == "SUCCESSFUL"]
    assert succeeded
    assert len(ended) - len(succeeded) == life.failures
    assert sum(len(result.errors) for result in succeeded) == life.failures
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM test_effect")
        counts = Counter(effect for (effect,) in cursor.fetchall())
    assert counts == dict.fromkeys([*life.once, *life.repeated], 1)
    assert set(Ledger.objects.values_list("step", flat=True)) == {"", *life.steps}
