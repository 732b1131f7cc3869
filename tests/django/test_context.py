"""The tokens that a handler passes on to other systems."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from typing import Any

import pytest
from pytest_django import Settings

from conveyor_django import ConveyorContext
from conveyor_django.compat import TaskContext
from conveyor_django.effects import Fence
from conveyor_django.errors import InvalidStep
from conveyor_django.models import Job
from conveyor_django.outcomes import Claimed
from conveyor_django.results import running_result
from conveyor_django.steps import Steps
from conveyor_django.worker.inflight import Held

from ..support.factories import JobFactory
from ..support.produce import with_context

pytestmark = pytest.mark.django_db

CREATED = dt.datetime(2026, 10, 25, 0, 30, 0, 123456, tzinfo=dt.UTC)


def context(job: Any, version: int = 1, alias: str = "default") -> ConveyorContext:
    claimed = Claimed(
        id=job.pk, version=version, queue="default", task=job.task, args="[]", kwargs="{}", attempt=1,
        max_attempts=5, lost_count=0, release_count=0, lease_seconds=30.0, created_at=job.created_at,
    )  # fmt: skip
    result = running_result(claimed, owner=uuid.uuid4(), task=with_context, args=[], kwargs={}, alias=alias)
    fence = Fence(Held(claimed, deadline=math.inf), owner=uuid.uuid4(), alias=alias)
    return ConveyorContext(
        task_result=result, alias=alias, job_id=job.pk, fencing_token=version, _fence=fence, _steps=Steps(fence)
    )


def job(pk: int = 7, created_at: dt.datetime = CREATED) -> Job:
    return Job(pk=pk, task=with_context.module_path, created_at=created_at)


def test_it_is_the_frameworks_context() -> None:
    made = context(job())
    assert isinstance(made, TaskContext)
    assert (made.attempt, made.job_id, made.fencing_token) == (1, 7, 1)
    with pytest.raises(AttributeError):
        made.job_id = 8  # type: ignore[misc]


def test_the_idempotency_token_is_the_same_for_every_run() -> None:
    assert context(job(), 1).idempotency_token == context(job(), 2).idempotency_token


def test_no_other_job_has_it() -> None:
    microsecond = dt.timedelta(microseconds=1)
    tokens = [
        context(job()).idempotency_token,
        context(job(8)).idempotency_token,
        context(job(created_at=CREATED + microsecond)).idempotency_token,
        context(job(), alias="other").idempotency_token,
    ]
    assert len(set(tokens)) == 4


def test_each_step_has_a_token_of_its_own() -> None:
    runs = [context(job(), 1), context(job(), 2)]
    tokens = {run.idempotency_token_for(step) for run in runs for step in ("pay", "send", "send-1")}
    assert len(tokens) == 3
    assert len(tokens | {runs[0].idempotency_token, context(job(8)).idempotency_token_for("pay")}) == 5
    assert all(str(uuid.UUID(token)) == token for token in tokens)
    with pytest.raises(InvalidStep, match="1 to 255 characters, not 0"):
        runs[0].idempotency_token_for("")


def test_it_fits_where_other_systems_take_a_key() -> None:
    token = context(job()).idempotency_token
    assert str(uuid.UUID(token)) == token


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_it_is_fixed_whatever_the_projects_zone(settings: Settings, zone: str) -> None:
    # Half past two in Berlin comes twice in that night.
    tokens = [context(job(created_at=CREATED + dt.timedelta(hours=hours))).idempotency_token for hours in (0, 1)]
    settings.USE_TZ = False
    settings.TIME_ZONE = zone
    for hours, token in enumerate(tokens):
        assert context(job(created_at=CREATED + dt.timedelta(hours=hours))).idempotency_token == token
    assert tokens[0] != tokens[1]


def test_the_fencing_token_is_the_lease_version() -> None:
    stored = JobFactory(running=True, task=with_context.module_path, lease_version=4)
    assert context(stored, 4).fencing_token == stored.lease_version
