"""Altering a log: a real one is taken, and one thing in it is made as a broken protocol would have made it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from conveyor_django.managers.workers import application_name

from .log import Change, Row, Step

Log = list[Step]


class Place(NamedTuple):
    """A change in a log: the indexes of its step and in its step."""

    step: int
    change: int


def find(log: Log, table: str, nth: int = 0, op: str = "", **new: Any) -> Place:
    """Return the place of the nth change of a table whose new row has these values; `old_…` are of its old row."""
    places = [
        Place(at, index)
        for at, step in enumerate(log)
        for index, change in enumerate(step.changes)
        if change.table == table and (not op or change.op == op) and all(_has(change, *item) for item in new.items())
    ]
    return places[nth]


def _has(change: Change, column: str, value: Any) -> bool:
    row, name = (change.old, column.removeprefix("old_")) if column.startswith("old_") else (change.new, column)
    return row is not None and row.get(name) == value


def at(log: Log, place: Place) -> Change:
    """Return the change at a place."""
    return log[place.step].changes[place.change]


def altered(log: Log, place: Place, *, old: Row | None = None, session: uuid.UUID | None = None, **new: Any) -> Log:
    """Return the log with values of one change replaced, and perhaps the session that made it."""
    change = at(log, place)
    changed = replace(
        change,
        old=change.old | (old or {}) if change.old is not None else None,
        new=change.new | new if change.new is not None else None,
        application=application_name(session, "test") if session else change.application,
    )
    return _with_changes(log, place.step, lambda changes: _put(changes, place.change, [changed]))


def everywhere(log: Log, table: str, **values: Any) -> Log:
    """Return the log with values replaced in every row of a table."""

    def alter(change: Change) -> Change:
        if change.table != table:
            return change
        return replace(change, old=change.old and change.old | values, new=change.new and change.new | values)

    return [replace(step, changes=tuple(map(alter, step.changes))) for step in log]


def dropped(log: Log, *places: Place) -> Log:
    """Return the log without these changes of one step."""
    gone = {place.change for place in places}
    return _with_changes(log, places[0].step, lambda changes: [c for i, c in enumerate(changes) if i not in gone])


def moved_first(log: Log, place: Place) -> Log:
    """Return the log with one change as the first of its step."""
    return _with_changes(
        log, place.step,
        lambda changes: [changes[place.change], *changes[: place.change], *changes[place.change + 1 :]],
    )  # fmt: skip


def repeated(log: Log, place: Place, **values: Any) -> Log:
    """Return the log with one change made again at once, with some values of it replaced in both of its rows."""
    change = at(log, place)
    again = replace(change, old=change.old and change.old | values, new=change.new and change.new | values)
    return _with_changes(log, place.step, lambda changes: _put(changes, place.change, [change, again]))


def with_step(log: Log, index: int, *changes: Change) -> Log:
    """Return the log with one more step, of these changes, at an index."""
    return renumbered([*log[:index], replace(log[index - 1], changes=changes), *log[index:]])


def without_step(log: Log, index: int) -> Log:
    """Return the log without a step."""
    return [*log[:index], *log[index + 1 :]]


def swapped(log: Log, index: int) -> Log:
    """Return the log with a step and the next one in the other order."""
    return renumbered([*log[:index], log[index + 1], log[index], *log[index + 2 :]])


def torn(log: Log, place: Place) -> Log:
    """Return the log with a step torn in two behind a change."""
    step = log[place.step]
    first, rest = step.changes[: place.change + 1], step.changes[place.change + 1 :]
    assert rest
    return renumbered([
        *log[: place.step], replace(step, changes=first), replace(step, changes=rest), *log[place.step + 1 :]
    ])  # fmt: skip


def renumbered(log: Log) -> Log:
    """Return the log with its steps numbered anew."""
    return [replace(step, number=number) for number, step in enumerate(log, 1)]


def _put(changes: list[Change], index: int, these: list[Change]) -> list[Change]:
    return [*changes[:index], *these, *changes[index + 1 :]]


def _with_changes(log: Log, index: int, edit: Callable[[list[Change]], list[Change]]) -> Log:
    step = log[index]
    return [*log[:index], replace(step, changes=tuple(edit(list(step.changes)))), *log[index + 1 :]]
