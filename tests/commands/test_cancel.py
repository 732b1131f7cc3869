"""`manage.py conveyor_cancel`: named jobs, and all that match; what runs is asked to stop."""

from __future__ import annotations

import threading

import pytest
from django.core.management.base import CommandError
from django.db import connections

from conveyor_django.models import Job
from conveyor_django.operate.selection import cancel_matching

from ..support.connections import Connect
from ..support.factories import JobFactory, in_seconds
from ..support.waits import wait_until
from ..support.workflows import WorkflowFactory, child_of, member, states

pytestmark = pytest.mark.django_db

COMMAND = "conveyor_cancel"


def state_of(job: Job) -> tuple[str, bool]:
    """Return the job's state, and whether its cancellation was asked for."""
    job.refresh_from_db()
    return job.state, job.cancel_requested_at is not None


def cancel_all() -> None:
    """Cancel every job of the queue "q", on a connection of this thread."""
    list(cancel_matching(Job.objects.filter(queue="q")))
    connections["default"].close()


def test_named_jobs(run):
    waits, runs, other = JobFactory(), JobFactory(running=True), JobFactory()
    assert run(COMMAND, waits.pk, f"default:{runs.pk}") == [
        f"default:{waits.pk}: cancelled",
        f"default:{runs.pk}: running, and asked to stop",
    ]
    assert [state_of(job) for job in (waits, runs, other)] == [("cancelled", True), ("running", True), ("ready", False)]


def test_one_that_has_ended_otherwise_is_an_error_and_the_others_are_done(run, run_json):
    done, failed, waits = JobFactory(succeeded=True), JobFactory(failed=True), JobFactory()
    gone = waits.pk + 10_000
    with pytest.raises(CommandError, match=rf"Not cancelled: default:{done.pk}, default:{failed.pk}, default:{gone}."):
        run_json(COMMAND, done.pk, failed.pk, waits.pk, gone)
    assert f'"default:{done.pk}": "succeeded"' in run_json.printed
    assert f'"default:{gone}": null' in run_json.printed
    assert state_of(waits) == ("cancelled", True)


def test_one_that_was_cancelled_before_is_fine(run):
    job = JobFactory(cancelled=True)
    assert run(COMMAND, job.pk) == [f"default:{job.pk}: cancelled"]


@pytest.mark.django_db(transaction=True)
def test_one_that_still_runs_after_the_wait_is_an_error(run):
    job = JobFactory(running=True)
    with pytest.raises(CommandError, match=f"Not cancelled: default:{job.pk}"):
        run(COMMAND, job.pk, "--wait", "0")
    assert state_of(job) == ("running", True)


def test_nothing_is_cancelled_where_one_name_is_none(run):
    job = JobFactory()
    with pytest.raises(CommandError, match="'default:x' names no job"):
        run(COMMAND, job.pk, "default:x")
    assert state_of(job) == ("ready", False)


def test_all_that_match_and_have_not_ended(run, run_json):
    waiting = [JobFactory(queue="q", **{trait: True}) for trait in ("scheduled", "blocked", "running")]
    ended = [JobFactory(queue="q", **{trait: True}) for trait in ("succeeded", "failed", "cancelled")]
    other = JobFactory(queue="r")
    told = run_json(COMMAND, "--queue", "q", "--no-input")
    assert (told["matched"], told["became"]) == (3, {"cancelled": 2, "running": 1})
    assert [state_of(job)[0] for job in waiting] == ["cancelled", "cancelled", "running"]
    assert [state_of(job)[0] for job in ended] == ["succeeded", "failed", "cancelled"]
    assert state_of(other) == ("ready", False)


def test_the_states_that_are_named_alone(run):
    ready, scheduled = JobFactory(), JobFactory(scheduled=True)
    assert run(COMMAND, "--state", "scheduled", "--no-input") == ["1 job cancelled."]
    assert [state_of(job)[0] for job in (ready, scheduled)] == ["ready", "cancelled"]


def test_times_are_those_of_the_enqueue(run):
    old, new = JobFactory(created_at=in_seconds(-7200)), JobFactory()
    run(COMMAND, "--until", "1h", "--no-input")
    assert [state_of(job)[0] for job in (old, new)] == ["cancelled", "ready"]


def test_what_runs_is_said_to_be_asked(run):
    JobFactory(running=True)
    JobFactory()
    assert run(COMMAND, "--queue", "default", "--no-input") == ["1 job running, and asked to stop; 1 job cancelled."]


def test_it_asks_first(run, answer):
    job = JobFactory()
    answer("n\n")
    with pytest.raises(CommandError, match="Nothing was changed"):
        run(COMMAND, "--queue", "default")
    assert state_of(job) == ("ready", False)


def test_a_dry_run(run):
    job = JobFactory()
    assert run(COMMAND, job.pk, "--dry-run") == [f"default:{job.pk}: ready"]
    assert run(COMMAND, "--queue", "default", "--dry-run") == [
        f"default:{job.pk}  default  {job.task}  ready", "1 job matches. Nothing was changed.",
    ]  # fmt: skip
    assert state_of(job) == ("ready", False)


@pytest.mark.parametrize("arguments", [[], ["1", "--queue", "a"]])
def test_either_names_or_a_filter(run, arguments):
    with pytest.raises(CommandError, match="Name the jobs to cancel by their ids, or say which by"):
        run(COMMAND, *arguments)


def test_a_wait_is_for_named_jobs(run):
    with pytest.raises(CommandError, match="--wait 5 is for jobs that are named"):
        run(COMMAND, "--queue", "a", "--wait", "5")


def test_dependants_of_a_cancelled_job_go_with_it(run):
    parent = member(WorkflowFactory())
    child = child_of(parent)
    run(COMMAND, parent.pk)
    assert states(parent, child) == ["cancelled", "cancelled"]


@pytest.mark.django_db(transaction=True)
def test_what_somebody_has_locked_is_waited_for(connect: Connect):
    locked, free = JobFactory(queue="q"), JobFactory(queue="q")
    other = connect()
    with other.transaction():
        other.execute("SELECT 1 FROM conveyor_job WHERE id = %s FOR UPDATE", (locked.pk,))
        waiting = threading.Thread(target=cancel_all)
        waiting.start()
        wait_until(lambda: state_of(free)[0] == "cancelled", "the free one is cancelled")
        assert state_of(locked)[0] == "ready"
    waiting.join()
    assert state_of(locked) == ("cancelled", True)


@pytest.mark.django_db(transaction=True)
def test_the_worker_of_one_that_runs_is_told_at_once(run, connect: Connect):
    listener = connect()
    listener.execute("LISTEN conveyor_cancel")
    job = JobFactory(running=True)
    run(COMMAND, "--queue", "default", "--no-input")
    assert [n.payload for n in listener.notifies(timeout=20, stop_after=1)] == [str(job.pk)]
