"""Workers and schedulers as they are seen: by the rows that the real statements write, and by their sessions."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from conveyor_django.managers.workers import application_name
from conveyor_django.models import Worker
from conveyor_django.operate.explain import Explanation, Reason, explain
from conveyor_django.scheduler.loop import scheduler_name
from conveyor_django.testing import frozen_clock

from ..support.connections import Connect
from ..support.factories import JobFactory, utc_now
from ..support.produce import anything

ROLES = ("heartbeat", "pump", "listener")


class Stage:
    """Makes what the database says of workers and schedulers."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect

    def worker(
        self,
        *queues: str,
        slots: int = 8,
        roles: Sequence[str] = ROLES,
        holds_lock: bool = True,
        now: dt.datetime | None = None,
        **fields: Any,
    ) -> Worker:
        """Register a worker that takes jobs of these queues, or of all, with a session for each role."""
        incarnation = uuid.uuid4()
        Worker.objects.register_worker(
            incarnation=incarnation, host="host", pid=17, supervisor_pid=16, queues=list(queues), slots=slots,
            lease_seconds=30.0, holds_lock=holds_lock, now=now,
        )  # fmt: skip
        if fields:
            Worker.objects.filter(pk=incarnation).update(**fields)
        for role in roles:
            self._connect(application_name(incarnation, role))
        return Worker.objects.get(pk=incarnation)

    def scheduler(self) -> None:
        """Connect as a scheduler does."""
        self._connect(scheduler_name("host", 18))


@pytest.fixture
def stage(connect: Connect) -> Stage:
    return Stage(connect)


@pytest.fixture
def fleet(stage: Stage) -> Worker:
    """A scheduler, and a worker with room for jobs of every queue."""
    stage.scheduler()
    return stage.worker()


@pytest.fixture
def later() -> Iterator[Callable[[float], None]]:
    """Put the database's clock forward by so many seconds, for this test's looks."""
    with frozen_clock() as clock:
        yield lambda seconds: clock.advance(seconds) and None


def known_job(**fields: Any) -> Any:
    """Make a job of a task that exists."""
    return JobFactory(task=anything.module_path, **fields)


def codes(explanation: Explanation) -> list[str]:
    """Return the reasons' codes, in order."""
    return [reason.code.value for reason in explanation.reasons]


def only_reason(job: Any) -> Reason:
    """Return the one reason why a job is where it is."""
    explanation = explain(job.pk)
    assert len(explanation.reasons) == 1, explanation.reasons
    return explanation.reasons[0]


def seconds_ago(seconds: float) -> dt.datetime:
    """Return that instant."""
    return utc_now() - dt.timedelta(seconds=seconds)
