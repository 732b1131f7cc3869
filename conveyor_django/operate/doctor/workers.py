"""Whether workers are there for the jobs, and hear of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...models import Job, Queue
from ..fleet import Fleet, named, serves
from ..wording import lasting, listed
from .finding import Check, Finding, problem, warning


def silent_workers(fleet: Fleet) -> Iterator[Finding]:
    """Find workers that were not seen for longer than their lease."""
    for worker in fleet.workers:
        if fleet.is_silent(worker):
            yield problem(
                "worker_silent",
                f"worker {named(worker)} ({worker.incarnation}) was last seen {lasting(fleet.silence(worker))} ago, "
                f"longer than its lease of {worker.lease_seconds:g} s: it is dead, frozen, or cut off from the "
                f"database. A scheduler takes back what it holds.",
                f"Look at that process. To take its jobs back now: manage.py conveyor_rescue {worker.incarnation} "
                f"--database {fleet.alias}",
            )


def queues_without_worker(fleet: Fleet) -> Iterator[Finding]:
    """Find queues with ready jobs that no live worker takes from."""
    paused = set(Queue.objects.using(fleet.alias).filter(paused=True).values_list("name", flat=True))
    waiting = [queue for queue in Job.objects.db_manager(fleet.alias).list_queues() if queue not in paused]
    if not fleet.live:
        yield _no_worker(fleet, waiting)
        return
    for queue in waiting:
        if any(serves(worker, queue) for worker in fleet.claiming):
            continue
        served = {name for worker in fleet.claiming for name in worker.queues}
        one = len(fleet.live) == 1
        drains = not served or any(serves(worker, queue) for worker in fleet.live)
        what = ("it drains" if one else "all of them drain") if drains else (
            f"{'it serves' if one else 'they serve'} {listed(sorted(map(repr, served)))}"
        )  # fmt: skip
        none = "the one live worker does not take" if one else f"none of the {len(fleet.live)} live workers takes"
        yield problem(
            "queue_without_worker",
            f"queue {queue!r} has ready jobs, but {none} from it: {what}.",
            f"Start one: manage.py conveyor_worker --queues {queue} --database {fleet.alias}",
        )


def _no_worker(fleet: Fleet, waiting: list[str]) -> Finding:
    start = f"Start one: manage.py conveyor_worker --database {fleet.alias}"
    if waiting:
        queues = listed(sorted(map(repr, waiting)))
        return problem("no_worker", f"no worker is alive, and jobs are ready in {queues}.", start)
    return warning("no_worker", "no worker is alive: what is enqueued will wait.", start)


def deaf_listeners(fleet: Fleet) -> Iterator[Finding]:
    """Find live workers that no notification reaches."""
    for worker in fleet.claiming:
        if reason := fleet.deafness(worker):
            yield warning(
                "listener_deaf",
                f"worker {named(worker)} is not told of new jobs: {reason}. It finds them by its poll alone, and "
                f"hears of cancelled runs at its next heartbeat.",
                "Give workers a database alias that reaches PostgreSQL without a pooler; if there is none, look into "
                "that worker's log for listener.deaf and database.unavailable.",
            )


WORKERS: Final = Check("Every worker was seen within its lease.", silent_workers)
QUEUES: Final = Check("Every queue with ready jobs has a worker.", queues_without_worker)
LISTENERS: Final = Check("Every worker is told of new jobs.", deaf_listeners)
