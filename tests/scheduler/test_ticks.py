"""Ticks: entries enqueue what is due of them, by the database's clock or a test's; broken ones stop nobody."""

from __future__ import annotations

import datetime as dt
import logging
from typing import Any

import psycopg
import pytest

from conveyor_django import crontab, registry
from conveyor_django.conf import ConveyorSettings, QueueSettings
from conveyor_django.crontab import cron
from conveyor_django.models import Cron, Job
from conveyor_django.scheduler import ticks
from conveyor_django.scheduler.duty import Look
from conveyor_django.scheduler.ticks import Ticks

from ..support import produce
from ..support.factories import CronFactory, JobFactory
from ..support.waits import backend_pid, wait_until, wait_until_gone

pytestmark = pytest.mark.django_db(transaction=True)

AT = dt.datetime(2031, 5, 6, 10, 0, tzinfo=dt.UTC)
TASK = "tests.support.produce.anything"


class Clock:
    """A clock that the test sets, in seconds after AT."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> dt.datetime:
        return at(self.seconds)


def at(seconds: float) -> dt.datetime:
    return AT + dt.timedelta(seconds=seconds)


@pytest.fixture(autouse=True)
def entries(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The code's entries: none, but what the test declares."""
    fresh: dict[str, Any] = {}
    monkeypatch.setattr(crontab, "_entries", fresh)
    return fresh


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def look(connection, clock):
    """Look with one duty at so many seconds after AT."""
    duty = make_duty(clock)

    def look_at(seconds: float) -> Look:
        clock.seconds = seconds
        return duty.look_once(connection)

    return look_at


def make_duty(clock: Any = lambda: None, *, alias: str = "default", **settings: Any) -> Ticks:
    return Ticks(alias=alias, settings=ConveyorSettings(**settings), now=clock)


def ticked() -> list[float]:
    """Return the seconds after AT of the ticks that have a job, in the order of the jobs."""
    keys = Job.objects.order_by("pk").values_list("idempotency_key", flat=True)
    return [(dt.datetime.fromisoformat(str(key)[-20:]) - AT).total_seconds() for key in keys]


def events(caplog: pytest.LogCaptureFixture, name: str) -> list[dict[str, Any]]:
    return [r.conveyor for r in caplog.records if r.conveyor["event"] == name]


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


class TestDeclared:
    def test_the_code_s_entries_are_written_down_and_tick(self, look, caplog):
        caplog.set_level(logging.INFO, "conveyor")
        cron("* * * * *", name="a", args=(7,))(produce.anything)
        look(0)
        look(60)
        assert Cron.objects.get().declared
        assert Job.objects.get().payload.args == [7]
        assert [(e["entry"], e["row"]) for e in events(caplog, "cron.declared")] == [("a", "inserted")]

    def test_what_is_changed_in_the_code_is_so_after_the_next_start(self, look, connection, clock, entries):
        cron("0 0 1 1 *", name="a")(produce.anything)
        look(0)
        entries.clear()
        cron("* * * * *", name="a")(produce.anything)
        clock.seconds = 30
        make_duty(clock).look_once(connection)
        assert Cron.objects.values_list("expression", "last_tick").get() == ("* * * * *", at(30))

    def test_one_that_this_code_does_not_know_is_left_to_others(self, look, entries):
        """In a rolling deploy an old process sees the rows of the new release."""
        CronFactory(name="of the new release", declared=True)
        assert look(0) == Look()
        assert Cron.objects.get().last_tick is None

    def test_one_that_somebody_holds_comes_with_a_later_look(self, look, plain):
        CronFactory(name="a", expression="0 0 1 1 *")
        cron("* * * * *", name="a")(produce.anything)
        with plain.transaction():
            plain.execute("SELECT FROM conveyor_cron FOR UPDATE")
            look(0)
        assert Cron.objects.get().expression == "0 0 1 1 *"
        look(1)
        assert Cron.objects.get().expression == "* * * * *"

    def test_a_module_that_comes_later(self, look):
        look(0)
        cron("* * * * *", name="a")(produce.anything)
        look(1)
        assert Cron.objects.get().name == "a"

    def test_each_on_the_database_of_its_queue(self, connection):
        cron("* * * * *", name="here")(produce.anything)
        cron("* * * * *", name="there", queue_name="orders")(produce.anything)
        queues = {"orders": QueueSettings(database="other")}
        make_duty(queues=queues).look_once(connection)
        assert Cron.objects.get().name == "here"
        # One whose queue has moved away is not ticked where it was.
        CronFactory(name="there", declared=True)
        make_duty(queues=queues).look_once(connection)
        assert Cron.objects.get(name="there").last_tick is None


class TestBroken:
    BROKEN = (
        ({"expression": "61 * * * *"}, "cannot be read"),
        ({"zone": "Europe/Atlantis"}, "pip install tzdata"),
        ({"task": "tests.support.produce.gone"}, "has no attribute 'gone'"),
        ({"task": "tests.support.produce.undecorated"}, "not a task"),
        ({"task": "tests.support.produce.plain_add", "args": []}, "missing a required argument"),
        ({"args": {"a": 1}}, "args must be a list"),
        ({"kwargs": [1]}, "kwargs an object"),
        ({"queue": "nowhere"}, "nowhere"),
        ({"max_missed": 10**6}, "max_missed must be"),
    )

    @pytest.mark.parametrize(("fields", "says"), BROKEN, ids=str)
    def test_one_does_not_stop_the_others(self, look, caplog, fields, says):
        CronFactory(name="a")
        CronFactory(name="b")
        CronFactory(name="c")
        Cron.objects.filter(name="b").update(**fields)
        for seconds in (0, 60, 120):
            look(seconds)
        assert Job.objects.count() == 4
        # Once, not at every look.
        [broken] = events(caplog, "cron.broken")
        assert broken["entry"] == "b"
        assert says in broken["error"]
        assert Cron.objects.get(name="b").last_tick is None

    def test_a_last_tick_that_python_cannot_hold(self, look, connection, caplog):
        for name in "abc":
            CronFactory(name=name)
        look(0)
        connection.execute("UPDATE conveyor_cron SET last_tick = '-infinity' WHERE name = 'b'")
        look(60)
        look(61)
        assert Job.objects.count() == 2
        [broken] = events(caplog, "cron.broken")
        assert broken["entry"] == "b"
        assert broken["error"].startswith("last_tick is -infinity, which lies outside of the years 2 to 9998.")
        Cron.objects.filter(name="b").update(last_tick=None)
        look(62)
        look(120)
        assert Job.objects.count() == 5

    def test_a_task_that_is_unknown_is_told_without_a_job(self, look, caplog):
        CronFactory(name="a")
        Cron.objects.update(task="tests.support.produce.gone")
        look(0)
        [broken] = events(caplog, "cron.broken")
        assert broken["error"] == (
            "there is no such task: tests.support.produce has no attribute 'gone'. Correct the entry's task, or deploy "
            "the code that defines it."
        )

    def test_what_the_database_refuses_does_not_stop_the_others(self, look, caplog, monkeypatch):
        CronFactory(name="a")
        CronFactory(name="b")
        monkeypatch.setattr(ticks, "tick_key", lambda name, _tick: "k\x00" if name == "a" else name)
        look(0)
        assert look(60).changed == 1
        look(61)
        assert [e["entry"] for e in events(caplog, "cron.broken")] == ["a"]

    def test_each_change_is_told(self, look, caplog):
        CronFactory(name="a")
        for expression in ("x", "y", "y"):
            Cron.objects.update(expression=expression)
            look(0)
        assert [e["expression"] for e in events(caplog, "cron.broken")] == ["x", "y"]

    def test_once_it_is_put_right_it_ticks(self, look):
        CronFactory(name="a")
        Cron.objects.update(expression="x")
        look(0)
        Cron.objects.update(expression="* * * * *")
        look(30)
        look(60)
        assert ticked() == [60]

    @pytest.mark.parametrize(("retry", "begun"), [(0.0, at(30)), (3600.0, None)])
    def test_it_is_tried_again_after_a_while(self, look, caplog, monkeypatch, retry, begun):
        monkeypatch.setattr(ticks, "RETRY", retry)
        # What it finds here it would know for ever.
        monkeypatch.setattr(registry, "_known", {})
        CronFactory(name="a", task="tests.support.produce.gone")
        look(0)
        look(1)
        monkeypatch.setattr(produce, "gone", produce.anything, raising=False)
        look(30)
        assert Cron.objects.get().last_tick == begun
        assert len(events(caplog, "cron.broken")) == 1

    def test_a_queue_that_lives_elsewhere(self, connection, clock, caplog):
        CronFactory(name="a", queue="orders")
        duty = make_duty(clock, queues={"orders": QueueSettings(database="other")})
        duty.look_once(connection)
        [broken] = events(caplog, "cron.broken")
        assert "its queue 'orders' lives on database 'other', and the entry on 'default'" in broken["error"]

    def test_a_lost_connection_is_the_loop_s_affair(self, look, connection, watcher):
        CronFactory()
        look(0)
        pid = backend_pid(connection)
        watcher.execute("SELECT pg_terminate_backend(%s)", (pid,))
        wait_until_gone(watcher, pid)
        with pytest.raises(psycopg.OperationalError):
            look(60)


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
