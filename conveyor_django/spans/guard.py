"""Errors of tracing: a sampler or a processor of the project's may raise, and no job or enqueue is to feel that."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from ..log import event, get_logger

P = ParamSpec("P")
R = TypeVar("R")

logger = get_logger("spans")

_told: Final[set[str]] = set()


def guarded(function: Callable[P, R]) -> Callable[P, R | None]:
    """Have a function log what it raises, and return None then. Not what interrupts a handler: that is no Exception."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not the job's
            tell(function.__qualname__, error)
            return None

    return call


def tell(where: str, error: BaseException) -> None:
    """Log an error of tracing: once for each place in a process, since it may come with every job."""
    if where in _told:
        return
    _told.add(where)
    event(
        logger, logging.ERROR, "spans.failed",
        where=where, error=_shown(error), more="further errors of this place are not logged", exc_info=error,
    )  # fmt: skip


def _shown(error: BaseException) -> Any:
    try:
        return repr(error)
    except Exception:  # noqa: BLE001 - the project's code
        return type(error).__qualname__
