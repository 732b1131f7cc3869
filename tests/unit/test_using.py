"""What using() makes of a task, and tasks that are pickled."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import pickle
from typing import Any

import pytest
from pytest_django import Settings

from conveyor_django import ConveyorTask
from conveyor_django.errors import UnknownTask

from ..support.produce import FOREIGN, plain_add, renamed, with_options


def handler(order: int) -> int:
    return order


def test_using_changes_what_it_is_given_and_keeps_the_rest() -> None:
    later = dt.datetime(2030, 1, 2, tzinfo=dt.UTC)
    changed = with_options.using(priority=5, queue_name="orders", run_after=later, idempotency_key="k", max_attempts=9)
    assert (changed.priority, changed.queue_name, changed.run_after) == (5, "orders", later)
    assert (changed.idempotency_key, changed.max_attempts) == ("k", 9)
    assert (changed.timeout, changed.atomic, changed.backoff) == (1.5, True, with_options.backoff)
    assert changed.using() == changed
    assert with_options.idempotency_key is None


def test_using_another_backend(settings: Settings) -> None:
    settings.TASKS = FOREIGN
    assert with_options.using(backend="foreign").backend == "foreign"


def test_nobody_can_change_a_task() -> None:
    with pytest.raises(AttributeError):
        with_options.atomic = False  # type: ignore[misc]
    assert copy.deepcopy(with_options) is with_options


@pytest.mark.parametrize("changed", [with_options, with_options.using(priority=5, idempotency_key="k"), plain_add])
def test_a_task_can_be_pickled(changed: ConveyorTask[..., Any]) -> None:
    assert pickle.loads(pickle.dumps(changed)) == changed  # noqa: S301


def test_a_task_that_nobody_finds_again_cannot_be_pickled() -> None:
    with pytest.raises(UnknownTask):
        pickle.dumps(renamed)


@pytest.mark.parametrize(
    "changes",
    [
        {"priority": 5}, {"queue_name": "orders"}, {"run_after": dt.datetime(2030, 1, 1, tzinfo=dt.UTC)},
        {"idempotency_key": "k", "on_conflict": "keep"}, {"concurrency_key": "c", "max_attempts": 3}, {},
    ],
)  # fmt: skip
def test_using_makes_what_replace_makes(settings: Settings, changes: dict[str, Any]) -> None:
    settings.TASKS = {"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend", "QUEUES": []}}
    assert with_options.using(**changes) == dataclasses.replace(with_options, **changes)


def test_a_task_class_of_the_project_s_own_is_made_its_own_way() -> None:
    made: list[Any] = []

    class Own(ConveyorTask):  # type: ignore[type-arg]
        def __post_init__(self) -> None:
            made.append(self)
            ConveyorTask.__post_init__(self)

    own = Own(func=handler, priority=0, queue_name="default", backend="default", takes_context=False, run_after=None)
    assert type(own.using(idempotency_key="k")) is Own
    assert len(made) == 2
