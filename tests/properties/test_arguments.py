"""Whatever is given as an argument comes back as itself, or is refused by name, and then nothing is stored."""

from __future__ import annotations

import json
import math
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conveyor_django.errors import InvalidArguments
from conveyor_django.models import Job, Payload

from ..support.produce import anything

pytestmark = pytest.mark.django_db


class Refused(Exception):
    """What JSON or PostgreSQL cannot hold."""


numbers = (
    st.integers()
    | st.integers(2**13_990, 2**14_010).map(lambda number: -number)
    | st.floats()
    | st.floats(1e15, 1e30)
    | st.floats(-1e-300, 1e-300)
)
# With lone surrogates and NUL, often enough.
texts = st.text(st.characters(exclude_categories=()) | st.sampled_from("\x00\ud800\udfff\\\"'é"), max_size=8)
leaves = st.none() | st.booleans() | numbers | texts | st.binary(max_size=4) | st.just(object())
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(texts | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


def as_stored(value: Any) -> Any:
    """Return what Django's rule makes of a value (tuples are lists, bytes text). Raises Refused for what cannot be."""
    match value:
        case bytes():
            return as_stored(_decoded(value))
        case list() | tuple():
            return [as_stored(item) for item in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {as_stored(key): as_stored(item) for key, item in value.items()}
        case _ if value is None or _is_storable(value):
            return value
    raise Refused


def _is_storable(value: Any) -> bool:
    match value:
        case int():
            return value.bit_length() <= 14_000
        case float():
            return math.isfinite(value)
        case str():
            return not any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in value)
    return False


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Refused from None


def is_same(one: Any, other: Any) -> bool:
    """Say whether two values are equal, and of one type; a float that is whole may have become an int."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    return one == other and (type(one) is type(other) or {type(one), type(other)} == {int, float})


@given(value=values)
def test_it_comes_back_or_is_refused(value: Any) -> None:
    before = Job.objects.count(), Payload.objects.count()
    try:
        expected = as_stored(value)
    except Refused:
        with pytest.raises(InvalidArguments, match=r"anything: (a key of )?args\[1\]"):
            anything.enqueue(0, value)
        with pytest.raises(InvalidArguments, match=r"anything: (a key of )?kwargs\['named'\]"):
            anything.enqueue(named=value)
        assert (Job.objects.count(), Payload.objects.count()) == before
        return
    anything.enqueue(0, value, named=value)
    [job] = Job.objects.claim_jobs(owner=uuid.uuid4(), queues={"default": 30.0}, limit=2)
    args, kwargs = json.loads(job.args), json.loads(job.kwargs)
    assert is_same(args, [0, expected])
    assert is_same(kwargs, {"named": expected})
