"""Answers as JSON data."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def as_json(answer: Any) -> Any:
    """Return a frozen answer as what `json.dumps` takes: instants in ISO 8601, in UTC; sets of fields as objects.

    Raises TypeError for a value of which it does not know what it would be.
    """
    if answer is None or isinstance(answer, (bool, int, float, str)):
        return answer
    if isinstance(answer, dt.datetime):
        return answer.astimezone(dt.UTC).isoformat()
    if isinstance(answer, uuid.UUID):
        return str(answer)
    if isinstance(answer, Mapping):
        return {str(name): as_json(value) for name, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [as_json(value) for value in answer]
    if is_dataclass(answer) and not isinstance(answer, type):
        return {field.name: as_json(getattr(answer, field.name)) for field in fields(answer)}
    raise TypeError(f"{answer!r} of type {type(answer).__name__} has no form in JSON here. Give it one in as_json().")


class Answer:
    """A frozen dataclass that can be asked for its JSON."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        data: dict[str, Any] = as_json(self)
        return data
