"""tick_cron: an entry's jobs and its last tick, both or neither, and only for who saw the newest last tick."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from conveyor_django.managers.cron import Ticked
from conveyor_django.models import Cron, Job, Payload

from ..support.factories import CronFactory, JobFactory, new_job
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db

BEFORE = NOW - dt.timedelta(minutes=1)


def tick(*keys: str, name: str = "a", seen: dt.datetime | None = BEFORE, **given: Any) -> Ticked | None:
    """Tick the entry at NOW, with a job per key that is due then."""
    job = new_job(queue="q", task="t.a", args="[1]", kwargs='{"n": 2}', priority=3, max_attempts=4)
    return Cron.objects.tick_cron(
        name, given.pop("job", job), seen=seen, newest=given.pop("newest", NOW), now=given.pop("now", NOW),
        ticks=[(key, given.get("run_at", NOW)) for key in keys],
    )  # fmt: skip


def entry(**fields: Any) -> Cron:
    return CronFactory(**{"name": "a", "last_tick": BEFORE} | fields)


def stored(cron: Cron) -> tuple[Any, Any]:
    cron.refresh_from_db()
    return cron.last_tick, cron.last_job_id


def test_a_job_with_its_payload() -> None:
    cron = entry()
    ticked = tick("k")
    job = Job.objects.select_related("payload").get()
    assert ticked == Ticked(ids=[job.pk], ready=True, overlaps=False)
    assert (job.queue, job.task, job.priority, job.max_attempts) == ("q", "t.a", 3, 4)
    assert (job.state, job.run_at, job.created_at, job.idempotency_key) == ("ready", NOW, NOW, "k")
    assert (job.payload.args, job.payload.kwargs) == ([1], {"n": 2})
    assert stored(cron) == (NOW, job.pk)


def test_a_job_has_its_concurrency_key() -> None:
    entry()
    tick("k", job=new_job(concurrency_key="c"))
    assert Job.objects.get().concurrency_key == "c"


def test_one_that_runs_later_waits() -> None:
    entry()
    later = NOW + dt.timedelta(seconds=5)
    assert tick("k", run_at=later) == Ticked(ids=[Job.objects.get().pk], ready=False, overlaps=False)
    job = Job.objects.get()
    assert (job.state, job.run_at, job.ready_seq) == ("scheduled", later, None)


def test_several_ticks_in_their_order() -> None:
    cron = entry()
    ticked = tick("k1", "k2", "k3")
    assert ticked is not None
    jobs = list(Job.objects.order_by("ready_seq"))
    assert [job.idempotency_key for job in jobs] == ["k1", "k2", "k3"]
    assert [job.pk for job in jobs] == ticked.ids
    assert stored(cron) == (NOW, jobs[-1].pk)
    assert Payload.objects.count() == 3


def test_no_job_is_a_tick_too() -> None:
    cron = entry(last_job_id=7)
    assert tick() == Ticked(ids=[], ready=False, overlaps=False)
    assert stored(cron) == (NOW, 7)
    assert not Job.objects.exists()


def test_at_first_sight() -> None:
    cron = entry(last_tick=None)
    assert tick(seen=BEFORE) is None
    assert tick(seen=None) == Ticked(ids=[], ready=False, overlaps=False)
    assert stored(cron) == (NOW, None)


@pytest.mark.parametrize("seen", [None, BEFORE - dt.timedelta(seconds=1), BEFORE + dt.timedelta(seconds=1)])
def test_who_saw_another_last_tick_does_nothing(seen: dt.datetime | None) -> None:
    cron = entry()
    assert tick("k", seen=seen) is None
    assert stored(cron) == (BEFORE, None)
    assert not Job.objects.exists()


def test_twice_is_once() -> None:
    entry()
    assert tick("k") is not None
    assert tick("k") is None
    assert Job.objects.count() == 1


@pytest.mark.parametrize("newest", [BEFORE, BEFORE - dt.timedelta(days=1)])
def test_the_last_tick_only_grows(newest: dt.datetime) -> None:
    cron = entry()
    assert tick("k", newest=newest) is None
    assert stored(cron) == (BEFORE, None)


def test_one_that_is_switched_off_does_not_tick() -> None:
    cron = entry(enabled=False)
    assert tick("k") is None
    assert stored(cron) == (BEFORE, None)


def test_one_that_is_not_there() -> None:
    assert tick("k", name="b") is None
    assert not Job.objects.exists()


def test_others_stay() -> None:
    entry()
    other = entry(name="b")
    tick("k")
    assert stored(other) == (BEFORE, None)


@pytest.mark.parametrize("queue", ["q", "another"])
def test_a_tick_s_job_in_whatever_queue_is_that_tick_s(queue: str) -> None:
    cron = entry(last_job_id=7)
    key = "conveyor:cron:a:2031-05-06T07:08:09Z"
    JobFactory(queue=queue, idempotency_key=key)
    assert tick(key) == Ticked(ids=[], ready=False, overlaps=False)
    assert stored(cron) == (NOW, 7)
    assert Job.objects.count() == 1


class TestOverlap:
    @pytest.mark.parametrize("state", ["blocked", "scheduled", "ready", "running"])
    def test_while_the_last_job_has_not_ended_none_is_made(self, state: str) -> None:
        last = JobFactory(**{} if state == "ready" else {state: True})
        cron = entry(overlap="skip", last_job_id=last.pk)
        assert tick("k") == Ticked(ids=[], ready=False, overlaps=True)
        assert stored(cron) == (NOW, last.pk)
        assert Job.objects.count() == 1

    @pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
    def test_once_it_has_there_is(self, state: str) -> None:
        entry(overlap="skip", last_job_id=JobFactory(**{state: True}).pk)
        ticked = tick("k")
        assert ticked is not None
        assert len(ticked.ids) == 1

    @pytest.mark.parametrize("last", [None, 10**9], ids=["none", "pruned"])
    def test_a_job_that_is_not_there_has_ended(self, last: int | None) -> None:
        entry(overlap="skip", last_job_id=last)
        ticked = tick("k")
        assert ticked is not None
        assert len(ticked.ids) == 1

    def test_it_is_allowed_unless_said(self) -> None:
        entry(last_job_id=JobFactory().pk)
        ticked = tick("k")
        assert ticked is not None
        assert (len(ticked.ids), ticked.overlaps) == (1, False)


def test_what_the_table_refuses_leaves_the_entry() -> None:
    cron = entry()
    with pytest.raises(IntegrityError, match="conveyor_job_priority"), transaction.atomic():
        tick("k", job=new_job(priority=101))
    assert stored(cron) == (BEFORE, None)


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    entry()
    with clock() as window:
        Cron.objects.tick_cron("a", new_job(), seen=BEFORE, newest=NOW, ticks=[("k", BEFORE.replace(year=2020))])
    assert Job.objects.get().created_at in window
