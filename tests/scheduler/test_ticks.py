"""Ticks: entries enqueue what is due of them, by the database's clock or a test's."""

from __future__ import annotations

import logging

import pytest

from conveyor_django.models import Cron, Job
from conveyor_django.scheduler.duty import Look

from ..support.factories import CronFactory, JobFactory
from ..support.waits import wait_until
from .ticking import at, events, make_duty, ticked

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("entries")]

TASK = "tests.support.produce.anything"


class TestTicking:
    def test_it_begins_now_and_has_missed_nothing(self, look):
        CronFactory(missed="all")
        first = look(30)
        assert (first.changed, first.more) == (0, False)
        assert Cron.objects.get().last_tick == at(30)
        assert not Job.objects.exists()

    def test_a_tick_enqueues_its_job(self, look, listener):
        CronFactory(name="a", args=[1], kwargs={"x": "y"})
        look(0)
        assert look(59.9).changed == 0
        assert look(60).changed == 1
        job = Job.objects.select_related("payload").get()
        assert (job.task, job.queue, job.state, job.run_at) == (TASK, "default", "ready", at(60))
        assert job.idempotency_key == "conveyor:cron:a:2031-05-06T10:01:00Z"
        assert (job.payload.args, job.payload.kwargs) == ([1], {"x": "y"})
        entry = Cron.objects.get()
        assert (entry.last_tick, entry.last_job_id) == (at(60), job.pk)
        assert listener.heard() == ["default"]

    def test_each_once_whoever_looks(self, look, connection, clock):
        CronFactory()
        others = [make_duty(clock) for _ in range(3)]
        for seconds in (0, 60, 61, 120, 180):
            look(seconds)
            for other in others:
                assert other.look_once(connection).changed == 0
        assert ticked() == [60, 120, 180]

    def test_the_task_s_own_options_and_the_entry_s_queue(self, look):
        CronFactory(task="tests.support.produce.with_options", args=[5], queue="orders")
        look(0)
        look(60)
        job = Job.objects.get()
        assert (job.queue, job.max_attempts) == ("orders", 3)

    def test_the_next_look_is_when_the_next_tick_is(self, look):
        CronFactory(expression="0 * * * *")
        assert 0 < look(3560).wait <= 40
        CronFactory(expression="* * * * * 30")
        assert 0 < look(3565).wait <= 5
        assert look(3600).changed == 2

    def test_without_entries_there_is_no_hurry(self, look):
        assert look(0) == Look()

    def test_one_that_is_switched_off_rests(self, look):
        CronFactory(enabled=False)
        assert look(0) == Look()
        assert Cron.objects.get().last_tick is None

    def test_a_jittered_job_waits_for_its_time(self, look, listener):
        CronFactory(name="a", jitter_seconds=50)
        look(0)
        look(60)
        job = Job.objects.get()
        assert job.state == "scheduled"
        assert at(60) < job.run_at < at(110)
        assert listener.heard() == []

    def test_a_tick_is_skipped_while_the_last_job_goes_on(self, look, caplog):
        caplog.set_level(logging.INFO, "conveyor")
        CronFactory(name="a", overlap="skip")
        look(0)
        look(60)
        assert look(120).changed == 0
        assert [(e["entry"], e["tick"]) for e in events(caplog, "cron.overlapped")] == [("a", at(120))]
        assert Cron.objects.get().last_tick == at(120)
        Job.objects.update(state="cancelled", finished_at=at(121))
        assert look(180).changed == 1
        assert ticked() == [60, 180]

    def test_by_the_database_s_clock(self, connection):
        CronFactory(expression="* * * * * *", missed="all")
        duty = make_duty()
        first = duty.look_once(connection)
        assert 0 <= first.wait <= 1
        wait_until(lambda: duty.look_once(connection).changed > 0, "a second has passed")


class TestMissed:
    @pytest.mark.parametrize(
        ("missed", "expected", "dropped"),
        [("skip", [], 5), ("latest", [300], 4), ("all", [60, 120, 180, 240, 300], 0)],
    )
    def test_ticks_that_nobody_was_there_for(self, connection, clock, caplog, missed, expected, dropped):
        CronFactory(name="a", expression="0-5 10 * * *", missed=missed)
        make_duty(clock).look_once(connection)
        clock.seconds = 3600
        make_duty(clock).look_once(connection)
        assert ticked() == expected
        assert [(e["entry"], e["policy"], e["dropped"]) for e in events(caplog, "cron.missed")] == (
            [("a", missed, dropped)] if dropped else []
        )
        assert Cron.objects.get().last_tick == at(300)
        # What was dropped stays so.
        assert make_duty(clock).look_once(connection).changed == 0
        assert ticked() == expected

    def test_all_up_to_its_bound(self, look):
        CronFactory(missed="all", max_missed=3)
        look(0)
        assert look(600).changed == 3
        assert ticked() == [480, 540, 600]


class TestChanged:
    def test_a_tick_that_was_not_due_by_the_old_expression(self, look):
        entry = CronFactory(expression="0 * * * *")
        look(0)
        entry.refresh_from_db()
        entry.expression = "* * * * *"
        entry.save()
        # It begins anew: nothing of the past hour was missed.
        assert look(1805).changed == 0
        assert look(1860).changed == 1
        assert ticked() == [1860]

    def test_one_that_was_switched_off_for_a_while(self, look):
        CronFactory(missed="all")
        look(0)
        entry = Cron.objects.get()
        entry.enabled = False
        entry.save()
        look(120)
        entry.enabled = True
        entry.save()
        look(605)
        look(660)
        assert ticked() == [660]

    def test_one_that_is_deleted(self, look):
        CronFactory()
        look(0)
        Cron.objects.all().delete()
        assert look(60) == Look()


def test_a_running_scheduler_ticks_on_time(start_loop):
    """Its interval is an hour; it looks when the next tick is due."""
    CronFactory(expression="* * * * * *")
    start_loop(scheduler_seconds=3600.0)
    wait_until(lambda: Job.objects.count() >= 2, "two seconds have ticked")


def test_the_last_job_s_end_lets_the_next_through_only_where_asked(look):
    """Overlapping is allowed unless said: the job of the tick before does not matter."""
    CronFactory(last_job_id=JobFactory().pk)
    look(0)
    assert look(60).changed == 1
