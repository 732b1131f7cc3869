"""What may be stored as JSON: refused by name before, scrubbed after."""

from __future__ import annotations

import datetime as dt
import enum
import json
from collections import OrderedDict
from decimal import Decimal
from typing import Any

import pytest
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from conveyor_django import jsonrule
from conveyor_django.errors import InvalidArguments


class Colour(str, enum.Enum):  # noqa: UP042 - as older code has it: str(Colour.RED) is not "red"
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def containing_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (None, None),
        (True, True),
        (1, 1),
        (-1.5, -1.5),
        ("é 😀", "é 😀"),
        ((1, (2,)), [1, [2]]),
        (range(2), [0, 1]),
        (b"text", "text"),
        ({"a": (1,)}, {"a": [1]}),
        (OrderedDict(b=1), {"b": 1}),
        (Colour.RED, "red"),
        ({Colour.RED: Level.HIGH}, {"red": 3}),
        (mark_safe("<b>"), "<b>"),
        (nested(jsonrule.MAX_DEPTH), nested(jsonrule.MAX_DEPTH)),
        (2**10_000, 2**10_000),
        (1e23, int(1e23)),
        (-1.7976931348623157e308, -int(1.7976931348623157e308)),
    ],
    ids=repr,
)
def test_what_json_can_hold(value: Any, stored: Any) -> None:
    normal = jsonrule.normalize(value, "x")
    assert json.loads(jsonrule.dumps(normal)) == stored


@pytest.mark.parametrize("value", [Colour.RED, Level.HIGH, mark_safe("a"), True])
def test_what_is_kept_is_a_plain_type(value: Any) -> None:
    assert type(jsonrule.normalize(value, "x")) in {str, int, bool}


@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        (float("nan"), "x", "nan"),
        ([float("inf")], "x[0]", "inf"),
        (float("-inf"), "x", "-inf"),
        ("a\x00b", "x", "u0000"),
        ({"k": "a\ud800"}, "x['k']", "lone surrogate"),
        (b"\xff", "x", "not UTF-8"),
        (b"a\x00", "x", "u0000"),
        (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "x", "isoformat"),
        (dt.date(2026, 1, 2), "x", "isoformat"),
        ({1, 2}, "x", "set"),
        (Decimal("1.5"), "x", "Decimal"),
        (object(), "x", "object"),
        (bytearray(b"a"), "x", "bytearray"),
        (memoryview(b"a"), "x", "memoryview"),
        (gettext_lazy("text"), "x", "proxy"),
        (1j, "x", "complex"),
        ([1, {"a": {3: 4}}], "x[1]['a']", "the key 3"),
        ({None: 1}, "x", "the key None"),
        ({("a",): 1}, "x", "the key ('a',)"),
        ({"a\x00": 1}, "a key of x", "u0000"),
        (nested(jsonrule.MAX_DEPTH + 1), "x[0]", "levels deep"),
        (containing_itself(), "x[0]", "contains itself"),
        (10**5000, "x", "16,610 bits"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_or_postgresql_cannot_hold(value: Any, path: str, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        jsonrule.normalize(value, "x")
    assert str(caught.value).startswith(path)
    assert says in str(caught.value)


def test_an_error_of_a_long_value_is_short() -> None:
    with pytest.raises(InvalidArguments) as caught:
        jsonrule.normalize("\x00" * 10_000, "x")
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("text", "storable"), [("", True), ("é😀", True), ("\x00", False), ("\udfff", False)])
def test_storable_text(text: str, storable: bool) -> None:
    assert jsonrule.is_storable(text) is storable


def test_scrub_replaces_what_postgresql_refuses() -> None:
    value = {"a\x00": ["\ud800x", float("nan"), float("inf"), 1.5, 1e23, None, True]}
    assert jsonrule.scrub(value) == {"a�": ["�x", None, None, 1.5, int(1e23), None, True]}


def test_scrub_text_cuts_the_middle_out() -> None:
    text = jsonrule.scrub_text("a" * 60 + "\x00" + "z" * 60, 20)
    assert text.startswith("a" * 10 + "\n… 101 characters")
    assert text.endswith("z" * 10)
    assert "\x00" not in text


def test_scrub_text_keeps_what_fits() -> None:
    assert jsonrule.scrub_text("short", 20) == "short"
