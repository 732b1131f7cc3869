"""Ticks of broken entries: each is told once, stops nobody, and ticks once it is put right."""

from __future__ import annotations

import psycopg
import pytest

from conveyor_django import registry
from conveyor_django.conf import QueueSettings
from conveyor_django.models import Cron, Job
from conveyor_django.scheduler import ticks

from ..support import produce
from ..support.factories import CronFactory
from ..support.waits import backend_pid, wait_until_gone
from .ticking import at, events, make_duty, ticked

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("entries")]


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
