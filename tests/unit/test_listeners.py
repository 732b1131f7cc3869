"""Whether a log line would get to anybody."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.utils.log import RequireDebugFalse, RequireDebugTrue

from conveyor_django.listeners import is_heard


def logger_with(*handlers: logging.Handler, kind: type[logging.Logger] = logging.Logger) -> logging.Logger:
    """Return a logger at INFO below one that has the handlers."""
    parent, logger = kind("parent", logging.INFO), kind("parent.child")
    for handler in handlers:
        parent.addHandler(handler)
    logger.parent = parent
    return logger


def handler_at(level: int, *filters: Any) -> logging.Handler:
    handler = logging.Handler(level)
    handler.filters.extend(filters)
    return handler


def test_a_handler_of_a_parent_hears_a_line():
    logger = logger_with(handler_at(logging.INFO))
    assert is_heard(logger, logging.INFO)
    logger.propagate = False
    assert not is_heard(logger, logging.INFO)


def test_nobody_hears_what_is_below_the_loggers_level_or_the_handlers():
    assert not is_heard(logger_with(handler_at(logging.NOTSET)), logging.DEBUG)
    assert not is_heard(logger_with(handler_at(logging.ERROR)), logging.INFO)


def test_djangos_console_hears_while_debug_is_on(settings):
    logger = logger_with(handler_at(logging.INFO, RequireDebugTrue()), handler_at(logging.ERROR))
    settings.DEBUG = False
    assert not is_heard(logger, logging.INFO)
    assert is_heard(logger, logging.ERROR)
    settings.DEBUG = True
    assert is_heard(logger, logging.INFO)


@pytest.mark.parametrize(
    "unknown", [RequireDebugFalse(), lambda _record: False, type("Own", (RequireDebugTrue,), {})()]
)
def test_a_filter_that_is_not_known_may_let_a_line_pass(settings, unknown):
    settings.DEBUG = False
    assert is_heard(logger_with(handler_at(logging.INFO, unknown)), logging.INFO)


def test_without_handlers_pythons_last_resort_hears_warnings(monkeypatch):
    assert is_heard(logger_with(), logging.WARNING)
    assert not is_heard(logger_with(handler_at(logging.ERROR)), logging.WARNING)
    assert not is_heard(logger_with(), logging.INFO)
    monkeypatch.setattr(logging, "lastResort", None)
    assert not is_heard(logger_with(), logging.WARNING)


def test_who_puts_himself_before_the_handlers_hears_everything(monkeypatch):
    class Own(logging.Logger):
        pass

    deaf = handler_at(logging.ERROR)
    assert is_heard(logger_with(deaf, kind=Own), logging.INFO)
    # As Sentry's SDK does it.
    monkeypatch.setattr(logging.Logger, "callHandlers", lambda _logger, _record: None)
    assert is_heard(logger_with(deaf), logging.INFO)
