"""Jobs, workers and queues in any state, with the rows that belong to them."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

import factory
from django.db import connection
from factory.django import DjangoModelFactory

from conveyor_django.managers.jobs import NewJob
from conveyor_django.models import Attempt, Cron, Job, Ledger, PausedTask, Payload, Permit, Queue, Worker
from conveyor_django.outcomes import ErrorInfo

from .connections import scalar

ERROR = ErrorInfo(error_class="builtins.ValueError", message="no", traceback="Traceback …")


def utc_now() -> dt.datetime:
    """Return the wall clock's time, aware."""
    return dt.datetime.now(dt.UTC)


def in_seconds(seconds: float) -> dt.datetime:
    """Return the instant so many seconds from now; negative for the past."""
    return utc_now() + dt.timedelta(seconds=seconds)


def next_ready_seq() -> int:
    """Draw the next number of the order of ready jobs."""
    return int(scalar(connection, "SELECT nextval('conveyor_ready_seq')"))


def new_job(**fields: Any) -> NewJob:
    """Return a job to enqueue."""
    defaults = {
        "queue": "default",
        "task": "shop.tasks.noop",
        "args": "[]",
        "kwargs": "{}",
        "max_attempts": 5,
    }
    return NewJob(**defaults | fields)


class PayloadFactory(DjangoModelFactory[Payload]):
    """What a job was enqueued with."""

    class Meta:
        model = Payload

    args = factory.LazyFunction(list)
    kwargs = factory.LazyFunction(dict)


class LedgerFactory(DjangoModelFactory[Ledger]):
    """The effect of a job that succeeded."""

    class Meta:
        model = Ledger

    job_id = factory.SelfAttribute("job.pk")
    step = ""
    lease_version = factory.SelfAttribute("job.lease_version")
    owner = factory.LazyFunction(uuid.uuid4)
    committed_at = factory.LazyFunction(utc_now)

    @classmethod
    def _create(cls, model_class: type[Ledger], *args: Any, **kwargs: Any) -> Ledger:
        kwargs.pop("job", None)
        return super()._create(model_class, *args, **kwargs)


class AttemptFactory(DjangoModelFactory[Attempt]):
    """A run that did not succeed."""

    class Meta:
        model = Attempt

    number = 1
    lease_version = 1
    verb = "retry"
    owner = factory.LazyFunction(uuid.uuid4)
    error_class = ERROR.error_class
    message = ERROR.message
    traceback = ERROR.traceback
    started_at = factory.LazyFunction(utc_now)
    finished_at = factory.LazyFunction(utc_now)


class JobFactory(DjangoModelFactory[Job]):
    """A ready job; the traits put it into any other state."""

    class Meta:
        model = Job
        skip_postgeneration_save = True

    class Params:
        blocked = factory.Trait(state="blocked", ready_seq=None, pending_dependencies=1)
        scheduled = factory.Trait(
            state="scheduled", ready_seq=None, run_at=factory.LazyFunction(lambda: in_seconds(3600))
        )
        claimed_once = factory.Trait(
            attempt=1,
            lease_version=1,
            started_at=factory.LazyFunction(utc_now),
            claimed_at=factory.LazyFunction(utc_now),
        )
        running = factory.Trait(
            claimed_once=True,
            state="running",
            lease_owner=factory.LazyFunction(uuid.uuid4),
            lease_expires_at=factory.LazyFunction(lambda: in_seconds(30)),
        )
        # Running, but not renewed in time.
        lapsed = factory.Trait(running=True, lease_expires_at=factory.LazyFunction(lambda: in_seconds(-1)))
        succeeded = factory.Trait(
            claimed_once=True,
            state="succeeded",
            finished_at=factory.LazyFunction(utc_now),
            ledger=factory.RelatedFactory(LedgerFactory, factory_related_name="job"),
        )
        failed = factory.Trait(claimed_once=True, state="failed", finished_at=factory.LazyFunction(utc_now))
        parked_by_key = factory.Trait(concurrency_key="k", parked="key")
        parked_by_task = factory.Trait(parked="task")
        cancelled = factory.Trait(
            state="cancelled",
            finished_at=factory.LazyFunction(utc_now),
            cancel_requested_at=factory.LazyFunction(utc_now),
        )

    queue = "default"
    task = "shop.tasks.noop"
    state = "ready"
    run_at = factory.LazyFunction(utc_now)
    ready_seq = factory.LazyFunction(next_ready_seq)
    max_attempts = 5
    created_at = factory.LazyFunction(utc_now)
    payload = factory.RelatedFactory(PayloadFactory, factory_related_name="job")


class QueueFactory(DjangoModelFactory[Queue]):
    """Settings of a queue."""

    class Meta:
        model = Queue

    name = "default"


class CronFactory(DjangoModelFactory[Cron]):
    """An entry that somebody has made in the admin."""

    class Meta:
        model = Cron

    name = factory.Sequence("entry {}".format)
    expression = "* * * * *"
    task = "tests.support.produce.anything"


class PausedTaskFactory(DjangoModelFactory[PausedTask]):
    """A task of which nothing is claimed."""

    class Meta:
        model = PausedTask

    task = "shop.tasks.noop"
    paused_at = factory.LazyFunction(utc_now)


class PermitFactory(DjangoModelFactory[Permit]):
    """A free place of a key's cap; `run` is the job that has it."""

    class Meta:
        model = Permit

    class Params:
        run = None

    queue = "default"
    key = "k"
    number = 1
    job_id = factory.LazyAttribute(lambda permit: permit.run.pk if permit.run else 0)
    lease_version = factory.LazyAttribute(lambda permit: permit.run.lease_version if permit.run else 0)
    taken_at = factory.LazyFunction(utc_now)


class WorkerFactory(DjangoModelFactory[Worker]):
    """A worker process that was seen just now."""

    class Meta:
        model = Worker

    incarnation = factory.LazyFunction(uuid.uuid4)
    host = "host"
    pid = 1
    supervisor_pid = 1
    queues = factory.LazyFunction(list)
    slots = 8
    lease_seconds = 30.0
    holds_lock = False
    started_at = factory.LazyFunction(utc_now)
    last_seen = factory.LazyFunction(utc_now)


def ready_jobs(count: int) -> list[Job]:
    """Enqueue so many ready jobs; return their rows, oldest first."""
    accepted = Job.objects.enqueue_jobs([new_job() for _ in range(count)])
    return list(Job.objects.filter(pk__in=[job.id for job in accepted if job is not None]).order_by("ready_seq"))
