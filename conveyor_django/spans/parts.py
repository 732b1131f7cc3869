"""Parts of a run: a span for a step or an effect, or nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .otel import PartSpan, Spans


class NoPart:
    """Stands for a span where none is made."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_error: object) -> None:
        """Do nothing."""

    def remembered(self) -> None:
        """Do nothing."""


NO_PART: Final = NoPart()


def part(spans: Spans | None, kind: str, name: object = None) -> PartSpan | NoPart:
    """Begin the span of a part of the run that is current here: a context manager for its time."""
    span = None if spans is None else spans.part(kind, name)
    return NO_PART if span is None else span
