"""What a shape says fits, `inspect.Signature.bind` binds; and of what binds it says so, unless names are odd."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

from conveyor_django.signatures import shape_of, signature_of

# ruff: noqa: ARG005 - their parameters are what they are for
FUNCTIONS: list[Callable[..., Any]] = [
    lambda: None,
    lambda a: None,
    lambda a, b=0: None,
    lambda a, /, b, c=0: None,
    lambda a=0, /: None,
    lambda *args: None,
    lambda a, *args: None,
    lambda a, *, c: None,
    lambda a, *, c, d=0: None,
    lambda **rest: None,
    lambda a, /, **rest: None,
    lambda a, b=0, *args, c, d=0, **rest: None,
]
NAMES = ("a", "b", "c", "d", "e", "")


def binds(function: Callable[..., Any], count: int, names: tuple[str, ...]) -> bool:
    try:
        signature_of(function).bind(*range(count), **dict.fromkeys(names))
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("place", range(len(FUNCTIONS)))
def test_what_fits_binds(place: int) -> None:
    function, answers = FUNCTIONS[place], set()
    for count in range(4):
        for names in (names for size in range(4) for names in combinations(NAMES, size)):
            fits, bound = shape_of(function).fits(count, names), binds(function, count, names)
            assert bound or not fits, (count, names)
            # A parameter without a name may share that of a keyword, which is left to bind().
            assert fits or not bound or place == 10, (count, names)
            answers.add(fits)
    assert answers == {True, False} or place in {5, 9}


def test_wrapped_functions_have_the_signature_that_they_show() -> None:
    def outer(*args: Any) -> None: ...

    outer.__wrapped__ = lambda a: None  # type: ignore[attr-defined]
    assert not shape_of(outer).fits(2, ())
    assert shape_of(outer).fits(1, ())
