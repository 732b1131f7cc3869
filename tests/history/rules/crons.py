"""Cron ticks: each once, none left out (rule 14)."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ..story import Story
from ..tables import JobRow
from ..verdict import Violation

# How the key of a tick's job is written: the entry's name, which may have colons too, and the instant.
_PREFIX: Final = "conveyor:cron:"
_INSTANT: Final = "%Y-%m-%dT%H:%M:%SZ"


def tick_twice(story: Story) -> Iterator[Violation]:
    """A tick has one job, in whatever queue."""
    for name, ticks in _ticks(story).items():
        for tick, rows in ticks.items():
            if len(rows) > 1:
                yield Violation(rule="tick twice", job=rows[-1].id, message=f"{name!r} at {tick}", seen=tuple(rows))


def tick_missing(story: Story) -> Iterator[Violation]:
    """An entry that makes up for all that was missed has every tick between its first and the last that it counts.

    One without any tick may just have begun: when it did is its first `last_tick`, of which there is no job.
    """
    for entry in story.tables.crons:
        period, ticks = story.terms.periods.get(entry.name), sorted(_ticks(story).get(entry.name, ()))
        if period is None or entry.missed != "all" or entry.overlap != "allow" or story.terms.pruned:
            continue
        gaps = [(one, next_) for one, next_ in pairwise(ticks) if (next_ - one).total_seconds() != period]
        seen = [f"nothing between {one} and {next_}" for one, next_ in gaps]
        if ticks and entry.last_tick is not None and entry.last_tick > ticks[-1]:
            seen.append(f"nothing after {ticks[-1]}, and the last tick is {entry.last_tick}")
        if seen:
            message = f"{entry.name!r}, every {period} s"
            yield Violation(rule="tick missing", job=None, message=message, seen=tuple(seen))


def tick_after_the_last(story: Story) -> Iterator[Violation]:
    """A tick's job and the entry's last tick are one commit: no job is of a later tick."""
    last = {entry.name: entry.last_tick for entry in story.tables.crons}
    for name, ticks in _ticks(story).items():
        for tick, rows in ticks.items():
            if name in last and ((known := last[name]) is None or tick > known):
                yield Violation(
                    rule="tick after the last", job=rows[0].id, message=f"the last tick of {name!r} is {known}",
                    seen=tuple(rows),
                )  # fmt: skip


def _ticks(story: Story) -> dict[str, dict[dt.datetime, list[JobRow]]]:
    """Return the jobs of each entry's ticks."""
    found: dict[str, dict[dt.datetime, list[JobRow]]] = defaultdict(lambda: defaultdict(list))
    for row in story.tables.jobs:
        if row.idempotency_key is not None and row.idempotency_key.startswith(_PREFIX):
            name, instant = row.idempotency_key[len(_PREFIX) : -21], row.idempotency_key[-20:]
            found[name][dt.datetime.strptime(instant, _INSTANT).replace(tzinfo=dt.UTC)].append(row)
    return found
