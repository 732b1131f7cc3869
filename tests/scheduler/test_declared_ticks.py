"""Ticks of the code's entries: they are written down first, each on the database of its queue."""

from __future__ import annotations

import logging

import pytest

from conveyor_django.conf import QueueSettings
from conveyor_django.crontab import cron
from conveyor_django.models import Cron, Job
from conveyor_django.scheduler.duty import Look

from ..support import produce
from ..support.factories import CronFactory
from .ticking import at, events, make_duty

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("entries")]


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
