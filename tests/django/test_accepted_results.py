"""The result that an enqueue returns, made without the framework's second look at plain arguments."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from conveyor_django.compat import TaskResult, TaskResultStatus
from conveyor_django.managers.jobs import Accepted
from conveyor_django.results import accepted_result
from conveyor_django.states import JobState

from ..support.produce import anything


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1, "a", 2.5, None, True), {"b": False}),
        (([1, (2, 3)], {"a": (b"x",)}), {}),
        ((), {"a": (1,)}),
        ((b"text",), {}),
    ],
)
def test_the_result_of_an_enqueue_is_as_the_framework_makes_it(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    accepted = Accepted(7, timezone.now(), JobState.READY)
    made = accepted_result(anything, accepted, args, kwargs, alias="default")
    assert made == TaskResult(
        task=anything, id="default:7", status=TaskResultStatus.READY, enqueued_at=accepted.created_at, started_at=None,
        last_attempted_at=None, finished_at=None, args=list(args), kwargs=kwargs, backend="default", errors=[],
        worker_ids=[],
    )  # fmt: skip
    assert made.args is not args
    assert made.kwargs is not kwargs
    assert repr(made)
