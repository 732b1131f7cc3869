"""Workers are drained from afar: they claim nothing more, finish what runs, and are not replaced."""

from __future__ import annotations

import os
import signal
import socket

from django.core.management import CommandError, call_command

from conveyor_django.models import Attempt, Job, Worker
from tests.support import jobs
from tests.support.processes import running
from tests.support.waits import wait_until

HOST = socket.gethostname()


def drain(*arguments: str) -> str:
    """Ask; return what it ended with, "" where it did what it was told."""
    try:
        call_command("conveyor_drain", HOST, *arguments)
    except CommandError as error:
        return str(error)
    return ""


def test_it_finishes_what_runs_and_ends_with_its_supervisor(desk):
    for name in "abc":
        jobs.gated.enqueue(desk.folder, name)
    with running("conveyor_worker", "--processes", "2", "--concurrency", "1", grace=600.0) as worker:
        desk.wait_started(2)
        assert drain("--pid", str(worker.pid)) == ""
        worker.wait_for("worker.stopping", reason="asked to drain")
        wait_until(lambda: Worker.objects.filter(draining=True).count() == 2, "both heartbeats say draining")
        assert "1 job running" in drain("--wait", "0")
        desk.go()
        # It sees the last of them go, or none is left to be asked.
        said = drain("--wait", "30")
        assert said == "" or said.startswith("No worker on default is of host")
        assert worker.wait() == 0
        assert len(worker.log("child.started")) == 2
    assert sorted(Job.objects.values_list("state", flat=True)) == ["ready", "succeeded", "succeeded"]
    assert not Worker.objects.exists()
    assert not Attempt.objects.exists()


def test_a_process_that_is_killed_after_it_has_heard_is_not_replaced(desk):
    jobs.gated.enqueue(desk.folder, "a")
    with running("conveyor_worker", grace=600.0) as worker:
        [pid] = desk.wait_started(1)
        assert drain("--owner", str(Worker.objects.get(pid=pid).pk)) == ""
        worker.wait_for("worker.stopping")
        os.kill(pid, signal.SIGKILL)
        assert worker.wait() == 0
        assert len(worker.log("child.started")) == 1
    assert Job.objects.values_list("state", "lost_count").get() == ("ready", 1)
