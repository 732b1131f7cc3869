"""Findings of one kind together, so that forty queues that are behind do not hide the one thing that is the cause."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .findings import Finding

SHOWN: Final = 3


class Group(NamedTuple):
    """The first findings with one code, and how many more there are."""

    shown: list[Finding]
    more: int


def grouped(findings: Iterable[Finding], *, shown: int = SHOWN) -> list[Group]:
    """Return the findings by code, in the order in which the codes come."""
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.code, []).append(finding)
    return [Group(kind[:shown], len(kind[shown:])) for kind in kinds.values()]
