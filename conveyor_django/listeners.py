"""Whether anybody would hear a log line: to make one costs more than to run a small job."""

from __future__ import annotations

import logging

from django.conf import settings
from django.utils.log import RequireDebugTrue


def is_heard(logger: logging.Logger, level: int) -> bool:
    """Say whether a line of that level may get to anybody; True where that cannot be told.

    Of Django's default LOGGING the level says yes to INFO, and its only handler for that no where DEBUG is off.
    """
    if not logger.isEnabledFor(level):
        return False
    # Somebody may listen in between, as Sentry's breadcrumbs do.
    if type(logger) is not logging.Logger or logger.callHandlers.__module__ != logging.__name__:
        return True
    has_handler = False
    here: logging.Logger | None = logger
    while here is not None:
        for handler in here.handlers:
            has_handler = True
            if level >= handler.level and not _is_closed(handler):
                return True
        here = here.parent if here.propagate else None
    return not has_handler and logging.lastResort is not None and level >= logging.lastResort.level


def _is_closed(handler: logging.Handler) -> bool:
    """Say whether its filter lets nothing through."""
    return any(type(each) is RequireDebugTrue for each in handler.filters) and not settings.DEBUG
