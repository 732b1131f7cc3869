"""The overview: what it says of queues, rates, workers, cron and tables, and how it counts what is large."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conveyor_django.models import Cron, Job
from conveyor_django.operate.answers import as_json
from conveyor_django.operate.overview import Count, CronView, Ended, Moment, QueueView, overview, queues, rates, workers
from conveyor_django.operate.overview import crons as cron_views

from ..support import factories as made
from ..support.factories import JobFactory, WorkerFactory, in_seconds, new_job, utc_now

pytestmark = pytest.mark.django_db

NOTHING = Ended(succeeded=Count(), failed=Count(), cancelled=Count(), retried=Count())


# So that a sample is all of the table, however large earlier tests have left it.
ALL_PAGES = 1_000_000


def in_line(jobs: int, *, queue: str) -> None:
    Job.objects.enqueue_jobs([new_job(queue=queue) for _ in range(jobs)])


def queue(name: str, **bounds: int) -> QueueView:
    moment = Moment("default", **({"pages": ALL_PAGES} | bounds))
    [view] = [view for view in queues(moment, rates=rates(moment), workers=workers(moment)) if view.name == name]
    return view


def cron(name: str) -> CronView:
    [view] = [view for view in cron_views(Moment("default")) if view.name == name]
    return view


class TestQueues:
    def test_depth_by_state(self):
        for state, jobs in (("blocked", 1), ("scheduled", 2), ("running", 3), ("failed", 4), ("parked_by_key", 5)):
            JobFactory.create_batch(jobs, **{state: True}, queue="a")
        JobFactory.create_batch(6, queue="a")
        assert queue("a").depth.as_json() == {
            state: {"jobs": jobs, "exact": True}
            for state, jobs in {
                "blocked": 1, "scheduled": 2, "ready": 6, "parked": 5, "running": 3, "failed": 4,
            }.items()
        }  # fmt: skip

    def test_the_oldest_ready_job(self):
        JobFactory(queue="a", run_at=in_seconds(-100))
        assert 100 <= queue("a").oldest_ready_seconds < 160

    def test_one_that_is_not_due_by_this_clock_has_not_waited(self):
        JobFactory(queue="a", run_at=in_seconds(100))
        assert queue("a").oldest_ready_seconds == 0.0

    def test_what_was_given_back_has_waited_since_then(self):
        job = JobFactory(queue="a", run_at=in_seconds(-5000))
        made.AttemptFactory(job_id=job.pk, finished_at=in_seconds(-10))
        assert queue("a").oldest_ready_seconds < 1000

    def test_settings(self):
        made.QueueFactory(name="a", paused=True, soft_cap=3, exact_cap=4, key_cap=5)
        view = queue("a")
        assert (view.paused, view.soft_cap, view.exact_cap, view.key_cap) == (True, 3, 4, 5)
        assert view.oldest_ready_seconds is None

    def test_declared_ones_are_there_without_jobs(self):
        assert {view.name for view in overview("default").queues} == {"default", "orders"}

    def test_a_queue_of_which_jobs_only_ended_is_seen_too(self):
        JobFactory(queue="old", succeeded=True)
        view = queue("old")
        assert (view.hour.succeeded, view.day.succeeded) == (Count(1), Count(1))

    def test_who_works_for_it(self):
        WorkerFactory(queues=["a", "b"], slots=3)
        WorkerFactory(queues=[], slots=4)
        WorkerFactory(queues=["b"], slots=100)
        WorkerFactory(queues=["a"], draining=True, slots=100)
        WorkerFactory(queues=["a"], last_seen=in_seconds(-31), slots=100)
        JobFactory(queue="a")
        view = queue("a")
        assert (view.workers, view.slots) == (2, 7)


class TestBeyondTheBounds:
    def test_a_state_with_more_is_estimated_from_the_sample(self):
        JobFactory.create_batch(5, queue="a", failed=True)
        JobFactory.create_batch(2, queue="b", failed=True)
        assert queue("a", counted=6).depth.failed == Count(5, exact=False)
        assert queue("b", counted=6).depth.failed == Count(2, exact=False)
        assert queue("b", counted=8).depth.failed == Count(2)

    def test_a_line_with_more_is_estimated_from_the_sample(self):
        in_line(103, queue="a")
        JobFactory.create_batch(3, queue="a", parked_by_key=True)
        depth = queue("a", counted=1).depth
        assert (depth.ready, depth.parked) == (Count(103, exact=False), Count(3, exact=False))

    def test_an_estimate_is_never_less_than_what_was_counted(self):
        in_line(120, queue="a")
        assert queue("a", counted=1, pages=0).depth.ready == Count(100, exact=False)

    def test_the_newest_are_counted_and_the_older_ones_estimated(self):
        now = utc_now()
        JobFactory.create_batch(2, succeeded=True, finished_at=now)
        JobFactory.create_batch(3, succeeded=True, finished_at=now - dt.timedelta(minutes=10))
        JobFactory.create_batch(4, failed=True, finished_at=now - dt.timedelta(minutes=20))
        # One of the three is counted; its minute is the sample's all the same.
        history = rates(Moment("default", ended=3, pages=ALL_PAGES)).history()
        assert history.last_hour.succeeded == Count(5, exact=False)
        # Failures are counted by themselves.
        assert history.last_hour.failed == Count(4)
        by_minute = [bucket.ended.succeeded for bucket in history.hour if bucket.ended.succeeded.jobs]
        assert by_minute == [Count(3, exact=False), Count(2)]

    def test_estimates_have_three_figures(self):
        assert str(Count(1234567, exact=False)) == "≈ 1,234,567"
        from conveyor_django.operate.overview.moment import estimated

        assert [estimated(n).jobs for n in (0, 7, 999, 1234, 98765, 1234567)] == [0, 7, 999, 1230, 98800, 1230000]

    def test_what_it_asks_does_not_grow_with_the_jobs(self):
        JobFactory()
        with CaptureQueriesContext(connection) as few:
            overview("default")
        for state in ("running", "failed", "succeeded", "scheduled", "blocked"):
            JobFactory.create_batch(10, **{state: True}, queue=state)
        WorkerFactory.create_batch(5)
        made.CronFactory.create_batch(5)
        with CaptureQueriesContext(connection) as many:
            overview("default")
        # The clock, what ended, what was retried, workers and their runs, three for queues, pauses, cron, tables.
        assert len(many) == len(few) == 11


class TestRates:
    def test_an_hour_by_minutes_and_a_day_by_hours_without_gaps(self):
        history = rates(Moment("default")).history()
        for buckets, count, width in ((history.hour, 60, 60), (history.day, 24, 3600)):
            starts = [bucket.start for bucket in buckets]
            assert len(starts) == count
            assert {(after - before).total_seconds() for before, after in pairwise(starts)} == {width}
            assert starts[-1] <= utc_now() < starts[-1] + dt.timedelta(seconds=width + 60)
        assert history.last_day == NOTHING

    def test_what_ended_is_in_its_buckets(self):
        moment = Moment("default")
        minute = moment.now.replace(second=0, microsecond=0)
        for state, ago in (("succeeded", 0), ("failed", 3), ("cancelled", 59), ("succeeded", 150)):
            JobFactory(queue="a", **{state: True}, finished_at=minute - dt.timedelta(minutes=ago))
        found = rates(moment)
        history = found.history("a")
        told = [
            (int((minute - bucket.start).total_seconds() / 60), bucket.ended)
            for bucket in history.hour
            if bucket.ended != NOTHING
        ]
        assert told == [
            (59, replace(NOTHING, cancelled=Count(1))),
            (3, replace(NOTHING, failed=Count(1))),
            (0, replace(NOTHING, succeeded=Count(1))),
        ]
        assert history.last_hour == replace(NOTHING, succeeded=Count(1), failed=Count(1), cancelled=Count(1))
        assert history.last_day == replace(NOTHING, succeeded=Count(2), failed=Count(1), cancelled=Count(1))
        assert sum(bucket.ended.succeeded.jobs for bucket in history.day) == 2
        assert found.history() == history
        assert found.history("b").last_day == NOTHING

    def test_runs_that_were_retried_are_counted_beside_the_jobs_that_ended(self):
        moment = Moment("default")
        minute = moment.now.replace(second=0, microsecond=0)
        for ago, name in ((150, "a"), (3, "b"), (3, "a")):
            made.AttemptFactory(job_id=JobFactory(queue=name).pk, finished_at=minute - dt.timedelta(minutes=ago))
        found = rates(moment)
        assert found.last_hour("a") == found.last_hour("b") == replace(NOTHING, retried=Count(1))
        assert found.last_day("a") == replace(NOTHING, retried=Count(2))
        told = {
            int((minute - bucket.start).total_seconds() / 60): bucket.ended
            for bucket in found.history().hour
            if bucket.ended != NOTHING
        }
        assert told == {3: replace(NOTHING, retried=Count(2))}
        assert sum(bucket.ended.retried.jobs for bucket in found.history().day) == 3
        # A queue of which no job is in line, nor has ended.
        assert {"a", "b"} <= found.queues

    def test_more_of_them_are_estimated(self):
        job = JobFactory(queue="a")
        for version in range(64):
            made.AttemptFactory(job_id=job.pk, lease_version=version)
        assert rates(Moment("default", retried=64)).last_hour("a").retried == Count(64)
        found = rates(Moment("default", retried=8)).last_hour("a").retried
        assert not found.exact
        assert 32 <= found.jobs <= 96


class TestWorkers:
    def test_what_each_runs_the_longest_first(self):
        worker = WorkerFactory(host="web1", pid=7, slots=3)
        young, old = (
            JobFactory(running=True, lease_owner=worker.pk, claimed_at=in_seconds(-seconds), attempt=2)
            for seconds in (5, 50)
        )
        JobFactory(running=True)
        [view] = workers(Moment("default"))
        assert (view.host, view.pid, view.slots, view.running, view.alive) == ("web1", 7, 3, 2, True)
        assert [run.job_id for run in view.runs] == [old.pk, young.pk]
        assert (view.runs[0].number, view.runs[0].queue) == (2, "default")
        assert 50 <= view.runs[0].seconds < 110

    def test_one_that_was_not_seen_within_its_lease(self):
        WorkerFactory(last_seen=in_seconds(-31), lease_seconds=30.0)
        [view] = workers(Moment("default"))
        assert not view.alive
        assert view.seen_seconds >= 31


class TestCron:
    def test_last_and_next_tick(self):
        made.CronFactory(name="a", expression="0 3 * * *", zone="Europe/Berlin")
        tick = dt.datetime(2031, 1, 2, 2, 0, tzinfo=dt.UTC)
        Cron.objects.update(last_tick=tick)
        view = cron("a")
        assert (view.last_tick, view.next_tick, view.late_seconds) == (tick, tick + dt.timedelta(days=1), None)

    def test_one_that_is_late(self):
        made.CronFactory(name="a", expression="* * * * *")
        Cron.objects.update(last_tick=utc_now().replace(second=0, microsecond=0) - dt.timedelta(minutes=10))
        view = cron("a")
        assert 9 * 60 <= view.late_seconds <= 11 * 60
        assert view.note()[1] == "warning"
        assert view.note()[0].startswith("late by ")

    def test_one_that_has_not_ticked_yet_is_not_late(self):
        made.CronFactory(name="a")
        view = cron("a")
        assert view.next_tick > utc_now() - dt.timedelta(seconds=60)
        assert (view.late_seconds, view.note()) == (None, ("", ""))

    def test_one_that_is_switched_off_does_not_tick(self):
        made.CronFactory(name="a", enabled=False)
        assert (cron("a").next_tick, cron("a").note()) == (None, ("switched off", "dim"))

    def test_one_whose_code_is_gone_is_not_late(self):
        made.CronFactory(name="a", declared=True)
        Cron.objects.update(last_tick=in_seconds(-3600))
        view = cron("a")
        assert (view.next_tick, view.late_seconds, view.abandoned) == (None, None, True)

    def test_one_that_cannot_be_read_says_why(self):
        made.CronFactory(name="a")
        Cron.objects.update(expression="what")
        view = cron("a")
        assert view.next_tick is None
        assert "'what'" in view.note()[0]


def test_paused_tasks_and_tables():
    made.PausedTaskFactory(task="a.b")
    seen = overview("default")
    assert seen.paused_tasks == ("a.b",)
    assert {"conveyor_job", "conveyor_ledger", "conveyor_payload"} <= {table.name for table in seen.tables}
    assert len({table.name for table in seen.tables}) == len(seen.tables)


def test_all_of_it_is_json():
    worker = WorkerFactory()
    JobFactory(running=True, lease_owner=worker.pk)
    made.CronFactory()
    data = json.loads(json.dumps(overview("default").as_json()))
    assert data["database"] == "default"
    assert data["workers"][0]["incarnation"] == str(worker.pk)
    assert len(data["workers"][0]["runs"]) == 1
    assert dt.datetime.fromisoformat(data["at"]).tzinfo is not None
    assert len(data["history"]["hour"]) == 60


def test_what_has_no_form_in_json_is_refused_by_name():
    with pytest.raises(TypeError, match="of type object has no form"):
        as_json({"a": [object()]})
