"""`manage.py conveyor_scheduler`: real processes and real signals."""

from __future__ import annotations

import json
import signal

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from conveyor_django.models import Job

from ..support.factories import JobFactory, in_seconds
from ..support.waits import is_blocked, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def due_job() -> Job:
    return JobFactory(scheduled=True, run_at=in_seconds(-1))


def wait_until_ready(job: Job) -> None:
    wait_until(lambda: Job.objects.filter(pk=job.pk, state="ready").exists(), f"{job} is ready")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_works_until_a_signal_ends_it(run_scheduler, number):
    process = run_scheduler()
    wait_until_ready(due_job())
    wait_until_ready(JobFactory(lapsed=True))
    process.signal(number)
    assert process.exit_code() == 0
    assert "Traceback" not in process.log()


def test_a_frozen_scheduler_stops_nobody(run_scheduler, watcher, plain):
    frozen = run_scheduler()
    pid = frozen.session(watcher)
    # Frozen with a statement in flight: it waits for the table, and its client does not see the reply.
    with plain.transaction():
        plain.execute("LOCK TABLE conveyor_job IN ACCESS EXCLUSIVE MODE")
        wait_until(lambda: is_blocked(watcher, pid), "the scheduler is in the midst of a statement")
        frozen.signal(signal.SIGSTOP)
    other = run_scheduler()
    jobs = [due_job(), JobFactory(lapsed=True)]
    for job in jobs:
        wait_until_ready(job)
    frozen.signal(signal.SIGCONT)
    for process in (frozen, other):
        process.signal(signal.SIGTERM)
        assert process.exit_code() == 0


def test_a_start_without_a_database_waits_for_it(run_scheduler, tmp_path):
    process = run_scheduler(HOST=str(tmp_path), PORT="1")
    process.wait_until_logged("database.unavailable")
    process.signal(signal.SIGTERM)
    assert process.exit_code() == 0


def test_missing_tables_are_a_clear_error(run_scheduler):
    options = connections["default"].settings_dict["OPTIONS"]
    process = run_scheduler(OPTIONS=options | {"options": "-c search_path=nowhere"})
    assert process.exit_code() == 1
    assert "CommandError: Database 'default' has no Conveyor tables (relation \"conveyor_job\"" in process.log()
    assert "Run `manage.py migrate --database default`" in process.log()
    assert "Traceback" not in process.log()


def test_once_looks_once_and_ends(run_scheduler):
    job = due_job()
    process = run_scheduler("--once")
    assert process.exit_code() == 0
    job.refresh_from_db()
    assert job.state == "ready"


def test_its_lines_are_json_on_demand(run_scheduler):
    JobFactory(lapsed=True)
    process = run_scheduler("--once", "--log-format", "json")
    assert process.exit_code() == 0
    lines = [json.loads(line) for line in process.log().splitlines()]
    assert [line["event"] for line in lines] == ["scheduler.connected", "job.rescued"]


def test_an_unknown_alias_is_a_clear_error():
    with pytest.raises(CommandError, match="no database alias 'nowhere' in DATABASES; there are: default"):
        call_command("conveyor_scheduler", database="nowhere")
