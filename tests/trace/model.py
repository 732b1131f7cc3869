"""The transition system that logs are held against: what a database of the protocol may look like, and become.

`World` is the database after some transactions. `Transaction` applies one more, change by change: each is handed to the
guards of its table (`jobs.py`, `rows.py`), which raise `Forbidden` where no verb of `states.TRANSITIONS` allows it, and
what one change owes to another (a success its ledger row, a lowered count its edges) is settled at the commit.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from conveyor_django.conf import ConveyorSettings
from conveyor_django.states import TERMINAL

from .log import Change, Row, Step

ENDED: Final = frozenset(state.value for state in TERMINAL)

BEGINNING: Final = dt.datetime.min.replace(tzinfo=dt.UTC)
_DEFAULTS: Final = ConveyorSettings()


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The settings of the run that was logged."""

    max_lost: int = _DEFAULTS.max_lost
    max_releases: int = _DEFAULTS.max_releases
    max_attempt_rows: int = _DEFAULTS.max_attempt_rows
    # Whether the run went by the database's clock alone (P5); tests of single statements pass instants of their own.
    real_clock: bool = False


class Forbidden(Exception):
    """A guard of the model refuses a change; None where it is the transaction as a whole."""

    def __init__(self, guard: str, change: Change | None, job: int | None = None) -> None:
        super().__init__(guard)
        self.guard = guard
        self.change = change
        self.job = job


@dataclass(frozen=True, slots=True)
class Caps:
    """The exact caps of a queue; every claim that begins at `since` or later sees them, one before may."""

    queue: float = math.inf
    key: float = 1
    since: dt.datetime = BEGINNING


@dataclass
class World:
    """The database after the transactions so far, as far as the protocol goes."""

    rules: Rules = field(default_factory=Rules)
    # Rows by table and identity; `IDENTITY` says what that is.
    rows: dict[str, dict[Any, Row]] = field(default_factory=lambda: defaultdict(dict))
    # Every effect that ever committed, (job, step), and the highest version of every job, also after it was pruned.
    effects: set[tuple[int, str]] = field(default_factory=set)
    versions: dict[int, int] = field(default_factory=dict)
    # Jobs that somebody has made ready by hand although they wait for others.
    by_hand: set[int] = field(default_factory=set)
    # Of each queue that has settings, oldest first; and those that the last step set.
    caps: dict[str, list[Caps]] = field(default_factory=dict)
    new_caps: list[tuple[str, Caps]] = field(default_factory=list)
    # What runs, and the edges of each job by their ids.
    running_jobs: set[int] = field(default_factory=set)
    edges: dict[int, dict[int, Row]] = field(default_factory=lambda: defaultdict(dict))

    @property
    def jobs(self) -> dict[int, Row]:
        """The rows of jobs."""
        return self.rows["conveyor_job"]

    def unresolved(self, job: int) -> int:
        """Return how many edges a job waits for."""
        return sum(not edge["resolved"] for edge in self.edges[job].values())

    def has_ended(self, job: int) -> bool:
        """Say whether a job has ended, or is gone."""
        return job not in self.jobs or self.jobs[job]["state"] in ENDED

    def see_caps(self, at: dt.datetime) -> None:
        """Note that who begins from now on sees what the last step set: it was over when this one was numbered."""
        for queue, caps in self.new_caps:
            self.caps.setdefault(queue, [Caps()]).append(replace(caps, since=at))
        self.new_caps = []

    def running(self, queue: str, key: str | None = None) -> int:
        """Return how many jobs of a queue, or of a key in it, run."""
        return sum(
            job["queue"] == queue and (key is None or job["concurrency_key"] == key)
            for job in (self.jobs[number] for number in self.running_jobs)
        )


IDENTITY: Final[dict[str, tuple[str, ...]]] = {
    "conveyor_job": ("id",),
    "conveyor_ledger": ("job_id", "step"),
    "conveyor_attempt": ("job_id", "lease_version"),
    "conveyor_dependency": ("id",),
    "conveyor_permit": ("id",),
    "conveyor_queue": ("name",),
    "conveyor_workflow": ("id",),
    "conveyor_cron": ("name",),
}


@dataclass
class Transaction:
    """A transaction that is being applied: the world as it sees it, and what it still owes."""

    world: World
    step: Step
    # Ledger and Attempt rows that it inserted, by (job, version, step) and (job, version), and those that were used.
    ledger: dict[tuple[int, int, str], Change] = field(default_factory=dict)
    attempts: dict[tuple[int, int], Change] = field(default_factory=dict)
    used: set[tuple[Any, ...]] = field(default_factory=set)
    # Jobs that it touched, claimed as (job, version), lowered below what they waited for, started again, deleted.
    touched: dict[int, Change] = field(default_factory=dict)
    claimed: dict[tuple[int, int], Change] = field(default_factory=dict)
    requeued: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)
    # Permits that it took: (job, version) → their keys.
    permits: dict[tuple[int, int], list[str]] = field(default_factory=lambda: defaultdict(list))
    # Workflows that it finished, or opened again.
    finished: dict[int, Change] = field(default_factory=dict)
    reopened: dict[int, Change] = field(default_factory=dict)
    # Jobs that an edge to a failed or cancelled one cancels.
    condemned: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        for change in self.step.changes:
            if change.op == "INSERT" and change.new is not None:
                if change.table == "conveyor_ledger":
                    new = change.new
                    self.ledger[new["job_id"], new["lease_version"], new["step"]] = change
                elif change.table == "conveyor_attempt":
                    self.attempts[change.new["job_id"], change.new["lease_version"]] = change
            if change.table == "conveyor_workflow" and change.old and change.new:
                ended = change.new["finished_at"] is not None
                (self.finished if ended else self.reopened)[change.new["id"]] = change
            if change.table == "conveyor_job" and change.op == "DELETE" and change.old is not None:
                self.deleted.add(change.old["id"])

    def replace(self, change: Change) -> None:
        """Write the change into the world; refuse one that does not begin with what is there."""
        row = change.new or change.old
        assert row is not None
        rows = self.world.rows[change.table]
        place = place_of(change)
        if rows.get(place) != change.old:
            refuse(
                "a change begins with the row as the commits before have left it", change,
                row.get("id") if change.table == "conveyor_job" else row.get("job_id"),
            )  # fmt: skip
        if change.new is None:
            del rows[place]
        else:
            rows[place] = change.new
        if change.table == "conveyor_job":
            runs = change.new is not None and change.new["state"] == "running"
            (self.world.running_jobs.add if runs else self.world.running_jobs.discard)(place)


def place_of(change: Change) -> Any:
    """Return the identity of the row that the change is of, None in a table where rows have none."""
    row = change.new or change.old
    assert row is not None
    identity = tuple(row[column] for column in IDENTITY.get(change.table, ()))
    return identity[0] if len(identity) == 1 else identity or None


def in_order(world: World, changes: Iterable[Change]) -> Iterator[Change]:
    """Give a transaction's changes so that those of one row follow one another.

    A statement's triggers fire after all of its changes: where one of them changes a row that the statement has changed
    too, the later change is logged first. A change for which there is no such order keeps its place.
    """
    waiting = list(changes)
    rows: dict[tuple[str, Any], Row | None] = {}
    while waiting:
        first = waiting[0]
        row = (first.table, place_of(first))
        now = rows.get(row, world.rows[first.table].get(row[1]))
        following = (
            place for place, change in enumerate(waiting)
            if (change.table, place_of(change)) == row and change.old == now
        )  # fmt: skip
        change = waiting.pop(next(following, 0))
        rows[row] = change.new
        yield change


def refuse(guard: str, change: Change | None, job: int | None = None) -> NoReturn:
    """Raise Forbidden."""
    raise Forbidden(guard, change, job)


def require(condition: bool, guard: str, change: Change | None, job: int | None = None) -> None:
    """Raise Forbidden unless the condition holds."""
    if not condition:
        refuse(guard, change, job)


def instant(value: str | None) -> dt.datetime:
    """Return a row's instant. Raises ValueError where it has none."""
    if value is None:
        raise ValueError("there is no instant")
    return dt.datetime.fromisoformat(value)
