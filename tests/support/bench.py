"""A worker without its threads: claims, runs handlers in the test's thread, and writes their outcomes, for real."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync

from conveyor_django import ConveyorContext, task
from conveyor_django.conf import conveyor_settings
from conveyor_django.db import Connection
from conveyor_django.errors import JobCancelled, TaskTimeout
from conveyor_django.models import Attempt, Job, Ledger
from conveyor_django.outcomes import Answer, Claimed, Outcome
from conveyor_django.worker.finisher import Finisher
from conveyor_django.worker.handler import Handlers
from conveyor_django.worker.inflight import Held, InFlight
from conveyor_django.worker.runs import Finished

from .factories import in_seconds

A, B = uuid.UUID(int=0xA), uuid.UUID(int=0xB)
LEASE = 30.0

# What the tasks below do: the test's own function, called with the context.
script: Callable[[ConveyorContext], Any]


@task(takes_context=True, backoff=0, max_attempts=9)
def scripted(context: ConveyorContext) -> Any:
    """Do what the test says."""
    return script(context)


@task(takes_context=True, backoff=0, max_attempts=9, atomic=True)
def scripted_atomic(context: ConveyorContext) -> Any:
    """Do what the test says, in one commit."""
    return script(context)


@task(takes_context=True, backoff=0, max_attempts=9)
async def scripted_async(context: ConveyorContext) -> Any:
    """Do what the test says, on an event loop."""
    return await script(context)


def cancel(held: Held) -> None:
    """Tell a run that its job was cancelled."""
    held.take()
    held.cancel()


def expire(held: Held) -> None:
    """Tell a run that its time is over."""
    held.begin(0.0)
    held.expire(time.monotonic())


# What tells a run to stop, the error that its effects and steps raise then, and the verb that it ends with.
TOLD = [(cancel, JobCancelled, "cancel"), (expire, TaskTimeout, "retry")]


class Bench:
    """Workers A and B, without threads; `connection` is that of their finisher and of whatever happens meanwhile."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.settings = conveyor_settings()

    def claim(self, owner: uuid.UUID = A) -> Held:
        """Claim the one job that is ready."""
        sent_at = time.monotonic()
        [claimed] = Job.objects.claim_jobs(owner=owner, queues={"default": LEASE}, limit=1, on=self.connection)
        [held] = InFlight().add([claimed], sent_at)
        return held

    def run(self, does: Callable[[ConveyorContext], Any], *, owner: uuid.UUID = A) -> Finished:
        """Claim the one ready job and let its handler do that; nothing is written of its outcome yet."""
        global script  # noqa: PLW0603 - handlers are found by their path
        script = does
        handlers = Handlers(owner=owner, alias="default", settings=self.settings)
        run = handlers.prepare(self.claim(owner))
        return async_to_sync(handlers.acall)(run) if run.is_async else handlers.call(run)

    def finish(self, finished: Finished, *, owner: uuid.UUID = A) -> Answer:
        """Write the outcome; return the database's answer."""
        turn = Finisher(owner=owner, settings=self.settings).turn(
            self.connection, [(finished.held.claimed, finished.outcome)], queues={}, limit=0
        )
        return turn.answers[finished.outcome.token]

    def complete(self, does: Callable[[ConveyorContext], Any]) -> Outcome:
        """Run and finish the one ready job; return its outcome."""
        finished = self.run(does)
        assert self.finish(finished) is Answer.WON
        return finished.outcome

    def take_over(self) -> Claimed:
        """Rescue the running job and claim it for B."""
        Job.objects.rescue_jobs(limit=10, max_lost=99, now=in_seconds(3600), on=self.connection)
        return self.claim(B).claimed


def delete_jobs(on: Connection) -> None:
    """Delete all jobs and what belongs to them."""
    with on.transaction():
        # The ledger's trigger lets nothing else delete.
        on.execute("SELECT set_config('conveyor.pruning', 'on', true)")
        for table in ("job", "payload", "attempt", "ledger", "dependency", "workflow", "permit", "queue"):
            on.execute(f"DELETE FROM conveyor_{table}")


def steps() -> dict[str, Any]:
    """Return what the ledger holds, by step."""
    return dict(Ledger.objects.values_list("step", "result"))


def attempts() -> list[tuple[str, str, str]]:
    """Return (verb, error class, message) of the runs that did not succeed, oldest first."""
    return list(Attempt.objects.order_by("lease_version").values_list("verb", "error_class", "message"))
