"""A call that is not made yet: what `enqueue_many` and workflows take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

if TYPE_CHECKING:
    from .compat import Task

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call(Generic[P, R]):
    """A task and the arguments to call it with; made by ``task.bind(...)``, and checked where it is enqueued."""

    task: Task[P, R]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
