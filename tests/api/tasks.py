"""Tasks of the tests of the HTTP API; `secret` was not declared for it."""

from __future__ import annotations

from typing import Any

from conveyor_django import task


@task(http=True)
def note(*args: Any, **kwargs: Any) -> Any:
    """Takes whatever JSON can hold."""
    return {"args": list(args), "kwargs": kwargs}


@task(http=True, queue_name="orders", priority=5, max_attempts=3)
def settle(order: int, *, cents: int = 0) -> int:
    """Takes one order, and nothing else."""
    return order + cents


@task
def secret(*args: Any) -> None:
    """Is for this project's own code."""
