"""`with context.effect()` where it cannot be one commit with the success: the error says where it can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction

from conveyor_django import ConveyorContext
from conveyor_django.errors import NotAllowedHere
from conveyor_django.models import Ledger
from conveyor_django.outcomes import Committed

from ..support.bench import Bench, scripted, scripted_async, scripted_atomic
from .conftest import Effects
from .handlers import charges

pytestmark = pytest.mark.django_db(transaction=True)


def refused(bench: Bench, does: Callable[[ConveyorContext], Any]) -> str:
    """Run that; return the message of the NotAllowedHere that it ended with."""
    error = bench.run(does).run.error
    assert isinstance(error, NotAllowedHere)
    return str(error)


def test_in_an_atomic_task(bench: Bench, effects: Effects) -> None:
    scripted_atomic.enqueue()
    assert "effect() cannot be used in an atomic=True task" in refused(bench, charges)
    assert effects() == []


def test_inside_another(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with context.effect(), context.effect():
            pytest.fail("it began")

    assert "inside a transaction on database 'default'" in refused(bench, does)


def test_inside_a_transaction_on_the_jobs_database(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        with transaction.atomic():
            charges(context)

    assert "could still roll it back. Call it outside" in refused(bench, does)
    assert effects() == []


def test_with_autocommit_off(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()

    def does(context: ConveyorContext) -> None:
        connection.set_autocommit(False)
        try:
            charges(context)
        finally:
            connection.rollback()
            connection.set_autocommit(True)

    assert "inside a transaction" in refused(bench, does)
    assert effects() == []


def test_twice(bench: Bench, effects: Effects) -> None:
    scripted.enqueue()
    messages = []

    def does(context: ConveyorContext) -> None:
        charges(context)
        with pytest.raises(NotAllowedHere) as caught, context.effect():
            pytest.fail("it began")
        messages.append(str(caught.value))

    assert isinstance(bench.complete(does), Committed)
    assert "was called again after it had committed" in messages[0]
    assert (effects(), Ledger.objects.count()) == (["charge"], 1)


def test_in_a_coroutine_but_not_in_its_functions(bench: Bench, effects: Effects) -> None:
    scripted_async.enqueue()
    messages = []

    async def does(context: ConveyorContext) -> None:
        with pytest.raises(NotAllowedHere) as caught, context.effect():
            pytest.fail("it began")
        messages.append(str(caught.value))
        await sync_to_async(charges)(context)

    assert isinstance(bench.complete(does), Committed)
    assert "await sync_to_async(function)(...)" in messages[0]
    assert effects() == ["charge"]
