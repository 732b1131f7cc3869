"""Whether spans are made: where the project has set up OpenTelemetry in this process, and has not said no."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from .guard import tell

if TYPE_CHECKING:
    from ..conf import ConveyorSettings
    from .otel import Spans

# Nobody can have set it up without this one.
_OPENTELEMETRY: Final = "opentelemetry.trace"


class _Switch:
    """What was found: how to look, spans, or that there never will be any."""

    find: Callable[[], tuple[bool, Spans | None]] | None = None
    spans: Spans | None = None
    is_off: bool = False


def spans_in_use(settings: ConveyorSettings) -> Spans | None:
    """Return what makes spans, None where none are made.

    A set-up that comes after the first enqueue is found too. Once it has, it is final, as it is for OpenTelemetry.
    """
    if _Switch.is_off or _OPENTELEMETRY not in sys.modules or settings.spans == "off":
        return None
    if _Switch.spans is None:
        _look()
    return _Switch.spans


def forget() -> None:
    """Look anew, as after a test that has set up spans of its own."""
    _Switch.spans, _Switch.is_off = None, False


def _look() -> None:
    try:
        if _Switch.find is None:
            from .otel import find

            _Switch.find = staticmethod(find)
        _Switch.is_off, _Switch.spans = _Switch.find()
    except Exception as error:  # noqa: BLE001 - an OpenTelemetry that does not fit must not keep jobs from being enqueued
        tell("switch", error)
        _Switch.is_off = True
