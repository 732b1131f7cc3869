"""Exact caps, as the handlers saw them (rule 11).

Counted are the runs whose own outcome was taken: those held their lease, and with it their place, from the claim to
that outcome, and their records, from begin to end (or to commit), lie in between. A zombie's lie anywhere: its place is
free from its rescue on, while it still runs and records. What never recorded an end is left out too, since nobody knows
when it died.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..story import Line, Story
from ..verdict import Violation


class Stay(NamedTuple):
    """A run's records under a cap: from `begin` to `end`."""

    begin: Line
    end: Line


def cap_exceeded(story: Story) -> Iterator[Violation]:
    """No more runs go on at once than a queue, or a key in it, allows."""
    stays: dict[tuple[str, str | None, int], list[Stay]] = defaultdict(list)
    for run in story.all_runs():
        row, begin, end = story.jobs.get(run.job), run.begin, run.last
        if row is None or begin is None or end is None or not story.has_won(run):
            continue
        caps = story.terms.caps
        if row.queue in caps.queues:
            stays[row.queue, None, caps.queues[row.queue]].append(Stay(begin, end))
        if row.queue in caps.keys and row.concurrency_key is not None:
            stays[row.queue, row.concurrency_key, caps.keys[row.queue]].append(Stay(begin, end))
    for (queue, key, cap), under in stays.items():
        if len(crowd := _first_crowd(under, cap)) > cap:
            where = f"queue {queue!r}" if key is None else f"key {key!r} of queue {queue!r}"
            yield Violation(
                rule="cap exceeded", job=crowd[-1].begin["job"], message=f"{len(crowd)} at once, {where} allows {cap}",
                seen=tuple(line for stay in crowd for line in stay),
            )  # fmt: skip


def _first_crowd(stays: Sequence[Stay], cap: int) -> list[Stay]:
    """Return the first that were there together and more than `cap`, else nothing."""
    there: list[Stay] = []
    for stay in sorted(stays, key=lambda stay: stay.begin.number):
        there = [earlier for earlier in there if earlier.end.number > stay.begin.number] + [stay]
        if len(there) > cap:
            return there
    return []
