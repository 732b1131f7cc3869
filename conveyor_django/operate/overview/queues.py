"""Queues: how much waits and for how long, and what was set."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...conf import conveyor_settings
from ...models import Queue
from ...queues import declared_queues
from ...states import JobState
from ..answers import Answer
from .moment import Count, Moment
from .rates import Ended, Ends, Rates

if TYPE_CHECKING:
    from ...managers.overview import Line
    from .workers import LiveWorker

# By state, by queue.
_Counts = Mapping[str, Mapping[str, Count]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth(Answer):
    """A queue's jobs by state; `ready` are those in line, `parked` the ready ones that a full key or a pause keeps out.

    `failed` are those whose rows are kept; of the other ended ones Ended says how many there were of late.
    """

    blocked: Count
    scheduled: Count
    ready: Count
    parked: Count
    running: Count
    failed: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView(Answer):
    """A queue at a glance; times in seconds, caps as they are set."""

    name: str
    paused: bool
    soft_cap: int | None
    exact_cap: int | None
    key_cap: int | None
    depth: Depth
    # How long the job has been ready that has been so longest; None where none is in line.
    oldest_ready_seconds: float | None
    # Live workers that take its jobs and are not draining, and how many jobs these run at most, of whatever queue.
    workers: int
    slots: int
    # In a quarter of an hour, of the newest jobs that are counted: exact, but not all where many end.
    lately: Ends
    hour: Ended
    day: Ended


def queues(moment: Moment, *, rates: Rates, workers: Sequence[LiveWorker]) -> tuple[QueueView, ...]:
    """Return the queues that are declared, that have settings, or that have jobs to be seen."""
    rows = {row.name: row for row in Queue.objects.using(moment.alias)}
    lines = {line.queue: line for line in moment.statements().count_ready(limit=moment.counted)}
    counts = _counts(moment) | {"ready": {line.queue: _in_line(moment, line) for line in lines.values()}}
    names = {*_declared(moment.alias), *rows, *rates.queues, *(name for known in counts.values() for name in known)}
    return tuple(
        _view(
            rows.get(name) or Queue(name=name), counts, rates, workers,
            None if name not in lines else moment.seconds_since(lines[name].since),
        )
        for name in sorted(names)
    )  # fmt: skip


def _view(row: Queue, counts: _Counts, rates: Rates, workers: Sequence[LiveWorker], oldest: float | None) -> QueueView:
    serving = [worker for worker in workers if worker.alive and not worker.draining and worker.serves(row.name)]
    return QueueView(
        name=row.name, paused=row.paused, soft_cap=row.soft_cap, exact_cap=row.exact_cap, key_cap=row.key_cap,
        depth=Depth(**{state: counts.get(state, {}).get(row.name, Count()) for state in Depth.__dataclass_fields__}),
        oldest_ready_seconds=oldest, workers=len(serving), slots=sum(worker.slots for worker in serving),
        lately=rates.lately(row.name), hour=rates.last_hour(row.name), day=rates.last_day(row.name),
    )  # fmt: skip


def _in_line(moment: Moment, line: Line) -> Count:
    if not line.cut_off:
        return Count(line.jobs)
    return moment.sample.estimate(JobState.READY, line.queue, least=line.jobs)


def _counts(moment: Moment) -> dict[str, dict[str, Count]]:
    """Return what is in each state, counted or, where a state has more than is counted, estimated."""
    counted: dict[str, dict[str, int]] = defaultdict(dict)
    for state, queue, jobs in moment.statements().count_states(limit=moment.counted):
        counted[state][queue] = jobs
    return {state: _completed(moment, state, jobs) for state, jobs in counted.items()}


def _completed(moment: Moment, state: str, counted: dict[str, int]) -> dict[str, Count]:
    if sum(counted.values()) < moment.counted:
        return {queue: Count(jobs) for queue, jobs in counted.items()}
    names = {*counted, *moment.sample.queues_in(state)}
    return {queue: moment.sample.estimate(state, queue, least=counted.get(queue, 0)) for queue in names}


def _declared(alias: str) -> set[str]:
    return {queue for queue in declared_queues() if conveyor_settings().database_of(queue) == alias}
