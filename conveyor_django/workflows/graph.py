"""The graph of a workflow while it is built: who needs whom, by name or by hand; no database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from ..conf import MAX_ID
from ..errors import InvalidWorkflow, describe
from ..jsonrule import is_storable
from ..states import OnFailure

# Characters of the name of a job or a workflow.
MAX_NAME_LENGTH: Final = 200


@dataclass(frozen=True, slots=True)
class Need:
    """One job that another needs, and what becomes of the other where it fails; made by `needs()`."""

    job: Any
    on_failure: OnFailure


def needs(job: Any, *, on_failure: OnFailure | str) -> Need:
    """Return an entry for ``after=``: as the job itself, with a policy of its own.

    Raises InvalidWorkflow for a policy that is not one.
    """
    return Need(job, policy(on_failure))


def policy(given: Any) -> OnFailure:
    """Return a policy by its word. Raises InvalidWorkflow."""
    try:
        return OnFailure(given)
    except ValueError:
        words = ", ".join(repr(known.value) for known in OnFailure)
        raise InvalidWorkflow(f"on_failure must be one of {words}, not {describe(given)}.") from None


def as_needs(after: Any, default: OnFailure) -> list[Need]:
    """Return what ``after=`` names, one job or several, each with its policy. Raises InvalidWorkflow for one twice."""
    several = isinstance(after, Iterable) and not isinstance(after, str)
    found: list[Need] = []
    for entry in after if several else [after]:
        need = entry if isinstance(entry, Need) else Need(entry, default)
        if any(need.job is earlier.job or need.job == earlier.job for earlier in found):
            raise InvalidWorkflow(f"after= names {describe(need.job)} twice; once is enough.")
        found.append(need)
    return found


def check_name(given: Any, what: str) -> None:
    """Refuse what cannot be a name. Raises InvalidWorkflow."""
    if not isinstance(given, str) or not 1 <= len(given) <= MAX_NAME_LENGTH or not is_storable(given):
        raise InvalidWorkflow(
            f"the name of {what} must be text of 1 to {MAX_NAME_LENGTH} characters that PostgreSQL can store, "
            f"not {describe(given)}."
        )


def check_job_name(given: Any) -> None:
    """Refuse what cannot be the name of a job: a number is the id of one that has no name. Raises InvalidWorkflow."""
    check_name(given, "a job")
    if given.isdigit():
        raise InvalidWorkflow(f"the name of a job must not be a number, as {given!r} is: a job without one has its id.")


def is_id(given: Any) -> bool:
    """Say whether this can be the id of a stored job or workflow."""
    return isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MAX_ID


def in_order(needed: Sequence[Iterable[int]], names: Sequence[str]) -> list[int]:
    """Return the places of the jobs so that each comes after those that it needs.

    `needed` has the places that each job needs. Raises InvalidWorkflow with the names along a cycle.
    """
    sorter = TopologicalSorter({place: list(places) for place, places in enumerate(needed)})
    try:
        return list(sorter.static_order())
    except CycleError as error:
        # In the order of the needs: each of these is needed by the one behind it.
        path = " → ".join(names[place] for place in error.args[1])
        raise InvalidWorkflow(
            f"these jobs wait for each other in a circle, so that none could ever run: {path}. "
            f"Take one of them out of after=."
        ) from None
