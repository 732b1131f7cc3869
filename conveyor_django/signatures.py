"""Whether a function can be called with given arguments: `inspect` says why not, and is asked only then."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter
from typing import Any, Final

# Functions that are remembered.
_KEPT: Final = 1024
_BY_PLACE: Final = frozenset({Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD})

signature_of = lru_cache(maxsize=_KEPT)(inspect.signature)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the parameters of a function are like."""

    # The parameters that can be passed by place, in order; None for one that can be passed in no other way.
    places: tuple[str | None, ...]
    # How many of them have no default: the first ones.
    required: int
    keywords: frozenset[str]
    required_keywords: frozenset[str]
    takes_more: bool
    takes_any: bool

    def fits(self, count: int, names: Collection[str]) -> bool:
        """Say whether `count` positional arguments and keywords of these names surely fit.

        Where it says yes, `Signature.bind` binds them; it is some ten times as fast.
        """
        if count > len(self.places) and not self.takes_more:
            return False
        if not names:
            return count >= self.required and not self.required_keywords
        given = set(names)
        return (
            given.isdisjoint(self.places[:count])
            and given.issuperset(self.places[count : self.required])
            and given >= self.required_keywords
            and (self.takes_any or given <= self.keywords.union(self.places[count:]))
        )


@lru_cache(maxsize=_KEPT)
def shape_of(function: Callable[..., Any]) -> Shape:
    """Return the shape of a function. Raises what `inspect.signature` raises."""
    parameters = signature_of(function).parameters.values()
    places = [parameter for parameter in parameters if parameter.kind in _BY_PLACE]
    keywords = [parameter for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY]
    kinds = {parameter.kind for parameter in parameters}
    return Shape(
        places=tuple(None if each.kind is Parameter.POSITIONAL_ONLY else each.name for each in places),
        required=sum(each.default is Parameter.empty for each in places),
        keywords=frozenset(each.name for each in keywords),
        required_keywords=frozenset(each.name for each in keywords if each.default is Parameter.empty),
        takes_more=Parameter.VAR_POSITIONAL in kinds,
        takes_any=Parameter.VAR_KEYWORD in kinds,
    )
