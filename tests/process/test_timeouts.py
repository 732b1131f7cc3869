"""Timeouts that hold: what yields is interrupted, what does not ends with its process, and is recorded only then."""

from __future__ import annotations

import psutil

from conveyor_django.models import Attempt, Job
from conveyor_django.states import JobState
from tests.support import jobs, stubborn
from tests.support.processes import running
from tests.support.waits import wait_until

TIMED_OUT = "conveyor_django.errors.TaskTimeout"


def ends() -> dict[str, list[tuple[str, str]]]:
    """Return the verbs and errors of each named job's ended runs."""
    rows = Attempt.objects.order_by("job", "lease_version").select_related("job__payload")
    listed: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        listed.setdefault(row.job.payload.args[1], []).append((row.verb, row.error_class))
    return listed


def test_a_handler_that_yields_is_interrupted_and_its_process_goes_on(desk, effects, all_end):
    for task in (stubborn.spins, stubborn.dozes, stubborn.spins_atomically, stubborn.dozes_atomically):
        task.enqueue(desk.folder, task.name)
    for task in (stubborn.returns_too_late, stubborn.waits_for_the_database):
        task.enqueue(desk.folder, task.name)
    with running("conveyor_worker", "--concurrency", "6", lease=600.0) as worker:
        ended = all_end()
        assert not worker.log("child.died")
        assert not worker.log("handler.unstoppable")
    assert {job.state for job in ended} == {JobState.FAILED}
    once = [("fail", TIMED_OUT)]
    assert ends() == {
        "spins": [("retry", TIMED_OUT), *once], "dozes": once, "spins_atomically": once, "dozes_atomically": once,
        "returns_too_late": once, "waits_for_the_database": once,
    }  # fmt: skip
    assert effects() == []
    attempt = Attempt.objects.filter(job__payload__args__1="spins").last()
    assert "spins ran for longer than its timeout of 0.3 s and was interrupted" in attempt.message
    # Where it was when it was interrupted.
    assert "in spins" in attempt.traceback


def test_what_does_not_yield_ends_with_its_process_after_its_neighbours(desk, all_end):
    for task in (stubborn.sleeps, stubborn.sleeps_in_a_thread, stubborn.computes):
        task.enqueue(desk.folder, task.name)
    jobs.gated.enqueue(desk.folder, "neighbour")
    # Nobody waits for the worker's grace: once the neighbour has ended, there is nothing to wait for.
    with running(
        "conveyor_worker", "--concurrency", "4", lease=600.0, grace=600.0, CONVEYOR_TIMEOUT_GRACE_SECONDS="0.5"
    ) as worker:
        [pid] = set(desk.wait_started(4))
        worker.wait_for("handler.unstoppable", count=3)
        # The replacement works while the old process still waits for the neighbour.
        jobs.quick.enqueue(desk.folder, "another")
        [other] = desk.wait_started(1, "another")
        assert other != pid
        assert psutil.pid_exists(pid)
        assert set(Job.objects.exclude(payload__args__1="another").values_list("state", flat=True)) == {"running"}
        assert not Attempt.objects.exists()
        desk.go()
        wait_until(Attempt.objects.exists, "a run is recorded as timed out")
        assert not psutil.pid_exists(pid)
        ended = {job.payload.args[1]: job for job in all_end()}
    assert {name: job.state for name, job in ended.items()} == {
        "sleeps": "failed", "sleeps_in_a_thread": "failed", "computes": "failed", "neighbour": "succeeded",
        "another": "succeeded",
    }  # fmt: skip
    assert ends() == {name: [("fail", TIMED_OUT)] for name in ("sleeps", "sleeps_in_a_thread", "computes")}
    assert [int(entry[2]) for entry in desk.lines("end", "neighbour")] == [pid]
    assert "so its process was ended" in Attempt.objects.first().message


def test_neighbours_that_do_not_end_within_the_grace_are_given_back_free(desk, all_end):
    stubborn.sleeps.enqueue(desk.folder, "sleeps")
    jobs.gated.enqueue(desk.folder, "neighbour")
    with running(
        "conveyor_worker", "--concurrency", "2", lease=600.0, grace=0.5, CONVEYOR_TIMEOUT_GRACE_SECONDS="0.5"
    ) as worker:
        [pid] = set(desk.wait_started(2))
        worker.wait_for("child.died", pid=pid)
        assert pid not in desk.wait_started(2, "neighbour")[1:]
        desk.go()
        ended = {job.payload.args[1]: job for job in all_end()}
    neighbour = ended["neighbour"]
    assert (neighbour.state, neighbour.attempt, neighbour.lost_count) == ("succeeded", 1, 0)
    assert ends() == {"sleeps": [("fail", TIMED_OUT)], "neighbour": [("release", "")]}


def test_code_that_holds_the_gil_is_ended_by_the_supervisor_and_its_neighbours_are_given_back_free(desk, all_end):
    jobs.gated.enqueue(desk.folder, "neighbour")
    with running("conveyor_worker", "--concurrency", "2", lease=600.0, CONVEYOR_TIMEOUT_GRACE_SECONDS="0.5") as worker:
        [pid] = desk.wait_started(1)
        stubborn.holds_the_gil.enqueue(desk.folder, "holds_the_gil")
        worker.wait_for("child.died", pid=pid, signal="SIGKILL", started=2)
        desk.go()
        ended = {job.payload.args[1]: job for job in all_end()}
    assert (ended["holds_the_gil"].state, ended["holds_the_gil"].lost_count) == ("failed", 0)
    assert (ended["neighbour"].state, ended["neighbour"].lost_count) == ("succeeded", 0)
    assert ends() == {"holds_the_gil": [("fail", TIMED_OUT)], "neighbour": [("release", "")]}
