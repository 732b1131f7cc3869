"""`conveyor_rescue` against real workers: dead, frozen, and alive."""

from __future__ import annotations

import os
import signal
import socket

from django.core.management import CommandError, call_command

from conveyor_django.models import Job, Worker
from tests.support import jobs
from tests.support.processes import Process, running
from tests.support.waits import wait_until

HOST = socket.gethostname()
# Beats are a third of it apart; no scheduler runs that would see its end.
LEASE = 4.0


def signal_all(worker: Process, number: signal.Signals) -> None:
    for pid in (worker.pid, *worker.child_pids()):
        os.kill(pid, number)


def rescued(*arguments: str) -> bool:
    """Say whether the command did it; a dead worker's sessions may be open for a moment longer."""
    try:
        call_command("conveyor_rescue", *arguments)
    except CommandError as error:
        return not str(error).startswith("Seen alive")
    return True


def test_a_killed_worker_s_jobs_are_ready_long_before_its_lease_is_over(desk, capsys):
    jobs.gated.enqueue(desk.folder, "a")
    # So long that its end would not be seen in the test; and no scheduler that finds the missing lock.
    with running("conveyor_worker", "--no-scheduler", lease=600.0) as worker:
        desk.wait_started(1)
        [owner] = Worker.objects.values_list("pk", flat=True)
        # The server may not have been up for so long a lease yet, for which a missing lock would prove nothing.
        Worker.objects.update(lease_seconds=0.001)
        signal_all(worker, signal.SIGKILL)
        wait_until(lambda: rescued(f"{HOST}:{worker.pid}"), "its sessions are gone")
        assert f"default: worker {owner} ({HOST}, pid " in capsys.readouterr().out
    assert Job.objects.values_list("state", "lost_count").get() == ("ready", 1)
    assert not Worker.objects.exists()


def test_a_zombie_commits_nothing_after_it(desk, effects):
    jobs.gated_effect.enqueue(desk.folder, "a")
    with running("conveyor_worker", "--no-scheduler", lease=LEASE) as zombie:
        desk.wait_started(1)
        signal_all(zombie, signal.SIGSTOP)
        # Not silent for that long yet.
        Worker.objects.update(lease_seconds=600)
        # Its session lock is held, and it was seen just now.
        assert not rescued(f"{HOST}:{zombie.pid}")
        assert Job.objects.get().state == "running"
        assert rescued(f"{HOST}:{zombie.pid}", "--force")
        assert Job.objects.get().state == "ready"
        desk.go()
        with running("conveyor_worker", "--drain", "--no-scheduler") as other:
            assert other.wait() == 0
        assert (Job.objects.get().state, effects()) == ("succeeded", ["a"])
        signal_all(zombie, signal.SIGCONT)
        # It learns of its end and gives its place to a new process.
        zombie.wait_for("worker.pruned")
        zombie.wait_for("child.started", 2)
        assert zombie.stop() == 0
    assert effects() == ["a"]
    assert Job.objects.values_list("state", "lost_count", "lease_version").get() == ("succeeded", 1, 2)


def test_a_living_worker_by_force_stops_and_its_jobs_run_elsewhere(desk, effects):
    jobs.gated_effect.enqueue(desk.folder, "a")
    with running("conveyor_worker", "--no-scheduler", lease=LEASE) as worker:
        desk.wait_started(1)
        [owner] = Worker.objects.values_list("pk", flat=True)
        assert rescued(str(owner), "--force")
        worker.wait_for("worker.pruned")
        desk.wait_started(2)
        # Whatever it claimed in its last moments was given back free.
        assert Job.objects.get().lost_count == 1
        assert not Worker.objects.filter(pk=owner).exists()
        desk.go()
        wait_until(lambda: Job.objects.get().state == "succeeded", "the new process has done it")
    assert effects() == ["a"]
