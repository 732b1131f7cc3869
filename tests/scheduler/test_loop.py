"""The loop: its duties in turn, whatever becomes of one of them or of the database."""

from __future__ import annotations

import logging
import socket

import psycopg
import pytest

from conveyor_django.conf import ConveyorSettings
from conveyor_django.models import Job
from conveyor_django.scheduler import loop as loop_module
from conveyor_django.scheduler.duty import Duty, Look
from conveyor_django.scheduler.loop import SchedulerLoop, scheduler_name
from conveyor_django.scheduler.promote import Promote

from ..support.connections import scalar
from ..support.factories import JobFactory, in_seconds
from ..support.waits import PATIENCE, wait_until

NEVER = 1_000_000.0


def due_job() -> Job:
    return JobFactory(scheduled=True, run_at=in_seconds(-1))


def wait_until_ready(job: Job) -> None:
    wait_until(lambda: Job.objects.filter(pk=job.pk, state="ready").exists(), f"{job} is promoted")


def session_of_loop(watcher) -> int | None:
    return scalar(watcher, "SELECT max(pid) FROM pg_stat_activity WHERE application_name = %s", (scheduler_name(),))


class DivideByZero(Duty):
    """Fails in a way that no new connection cures."""

    name = "divide"

    def look_once(self, connection):
        connection.execute("SELECT 1 / 0")
        return Look()


class Deadlock(Duty):
    """Fails in a way that passes, and leaves the connection usable."""

    name = "deadlock"

    def look_once(self, connection):
        connection.execute("DO $$ BEGIN RAISE EXCEPTION 'so to say' USING ERRCODE = '40P01'; END $$")
        return Look()


class HangUp(Duty):
    """Ends the connection."""

    name = "hang up"

    def look_once(self, connection):
        connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return Look()


@pytest.mark.django_db(transaction=True)
class TestDuties:
    def test_it_promotes_rescues_and_prunes(self, start_loop):
        due, lapsed = due_job(), JobFactory(lapsed=True)
        old = JobFactory(succeeded=True, finished_at=in_seconds(-3600))
        start_loop(retention_seconds=60.0)
        wait_until_ready(due)
        wait_until_ready(lapsed)
        wait_until(lambda: not Job.objects.filter(pk=old.pk).exists(), "the old job is pruned")

    def test_it_looks_again_and_again(self, start_loop):
        start_loop()
        for _ in range(3):
            wait_until_ready(due_job())

    def test_more_than_a_batch_is_worked_off_without_waiting(self, start_loop, monkeypatch):
        monkeypatch.setattr("conveyor_django.scheduler.promote.BATCH", 3)
        JobFactory.create_batch(20, scheduled=True, run_at=in_seconds(-1))
        start_loop(scheduler_seconds=NEVER)
        wait_until(lambda: Job.objects.filter(state="ready").count() == 20, "all are promoted")

    def test_it_looks_when_the_next_job_is_due_not_only_at_its_interval(self, start_loop):
        job = JobFactory(scheduled=True, run_at=in_seconds(0.5))
        start_loop(scheduler_seconds=NEVER)
        wait_until_ready(job)

    def test_the_error_of_one_does_not_stop_the_others(self, start_loop, monkeypatch, caplog):
        monkeypatch.setattr(loop_module, "DUTIES", (DivideByZero, Promote))
        loop = start_loop()
        wait_until_ready(due_job())
        wait_until(lambda: loop.errors["divide"] >= 2, "the broken duty has its turns too")
        wait_until_ready(due_job())
        record = next(r for r in caplog.records if r.conveyor["event"] == "scheduler.error")
        assert (record.levelno, record.conveyor["duty"]) == (logging.ERROR, "divide")
        assert isinstance(record.exc_info[1], psycopg.errors.DivisionByZero)

    def test_an_error_that_passes_reconnects_after_the_others_had_their_turn(self, start_loop, monkeypatch, caplog):
        monkeypatch.setattr(loop_module, "DUTIES", (Deadlock, Promote))
        job = due_job()
        loop = start_loop()
        wait_until_ready(job)
        wait_until(lambda: loop.errors["deadlock"] >= 2, "it reconnects and looks again")
        wait_until_ready(due_job())
        assert "database.unavailable" in {r.conveyor["event"] for r in caplog.records}

    @pytest.mark.parametrize("broken", [DivideByZero, Deadlock])
    def test_errors_are_counted_by_duty(self, start_loop, monkeypatch, broken):
        monkeypatch.setattr(loop_module, "DUTIES", (broken,))
        loop = start_loop()
        wait_until(lambda: loop.errors[broken.name] >= 1, "it fails")


@pytest.mark.django_db(transaction=True)
class TestLife:
    def test_it_goes_on_after_its_connection_was_ended(self, start_loop, watcher):
        start_loop()
        wait_until_ready(due_job())
        pid = session_of_loop(watcher)
        watcher.execute("SELECT pg_terminate_backend(%s)", (pid,))
        wait_until(lambda: session_of_loop(watcher) not in (None, pid), "it has another connection")
        wait_until_ready(due_job())

    def test_it_goes_on_when_a_duty_s_connection_ends_under_it(self, start_loop, monkeypatch):
        monkeypatch.setattr(loop_module, "DUTIES", (Promote, HangUp))
        start_loop()
        for _ in range(2):
            wait_until_ready(due_job())

    def test_a_duty_that_ends_every_connection_starves_none_behind_it(self, start_loop, monkeypatch):
        monkeypatch.setattr(loop_module, "DUTIES", (HangUp, Promote))
        start_loop()
        for _ in range(2):
            wait_until_ready(due_job())

    def test_stop_ends_it_in_the_midst_of_its_wait(self, start_loop):
        job = due_job()
        loop = start_loop(scheduler_seconds=NEVER)
        wait_until_ready(job)
        loop.stop()
        assert loop.join(PATIENCE)

    def test_wake_makes_it_look(self, start_loop):
        first = due_job()
        loop = start_loop(scheduler_seconds=NEVER)
        wait_until_ready(first)
        second = due_job()
        loop.wake()
        wait_until_ready(second)

    def test_once_ends_by_itself_after_all_batches(self, monkeypatch):
        monkeypatch.setattr("conveyor_django.scheduler.promote.BATCH", 3)
        JobFactory.create_batch(10, scheduled=True, run_at=in_seconds(-1))
        loop = SchedulerLoop(
            alias="default",
            settings=ConveyorSettings(scheduler_seconds=NEVER),
            on_error=pytest.fail,
            once=True,
        )
        loop.run()
        assert Job.objects.filter(state="ready").count() == 10
        assert not loop.errors

    def test_several_at_once_are_harmless(self, start_loop, monkeypatch):
        monkeypatch.setattr("conveyor_django.scheduler.promote.BATCH", 3)
        monkeypatch.setattr("conveyor_django.scheduler.rescue.BATCH", 3)
        due = JobFactory.create_batch(30, scheduled=True, run_at=in_seconds(-1))
        lapsed = JobFactory.create_batch(30, lapsed=True)
        loops = [start_loop() for _ in range(3)]
        wait_until(lambda: Job.objects.filter(state="ready").count() == 60, "all are ready")
        ids = [job.pk for job in lapsed]
        assert set(Job.objects.filter(pk__in=ids).values_list("lost_count", flat=True)) == {1}
        assert len(set(Job.objects.values_list("ready_seq", flat=True))) == len(due) + len(lapsed)
        assert [dict(loop.errors) for loop in loops] == [{}, {}, {}]


class TestName:
    def test_host_and_pid_are_in_it(self):
        assert scheduler_name("web1", 77) == "conveyor scheduler web1 77"
        assert scheduler_name().startswith(f"conveyor scheduler {socket.gethostname()}"[:50])

    @pytest.mark.parametrize("host", ["h" * 200, "ü" * 200])
    def test_it_fits_postgresql_and_keeps_the_pid(self, host):
        name = scheduler_name(host, 4_194_304)
        assert len(name.encode()) <= 63
        assert name.endswith(" 4194304")
