"""Handlers that do what no handler should: they may harm themselves, never their neighbours or their process."""

from __future__ import annotations

from django.core.management import call_command
from django.db import connection

from conveyor_django.models import Attempt, Job, Worker
from tests.support import jobs
from tests.support.processes import running


def test_a_stray_task_that_exits_does_not_end_the_event_loop(desk, all_end):
    jobs.stray_exit.enqueue(desk.folder, "stray")
    desk.go()
    with running("conveyor_worker", "--concurrency", "2") as worker:
        worker.wait_for("eventloop.interrupted")
        jobs.gated_async.enqueue(desk.folder, "after")
        desk.wait_started(1, "after")
        all_end()
        assert not worker.log("child.died")


def test_a_job_that_exits_with_the_code_of_a_clean_end_is_lost_and_its_neighbours_are_rescued(desk, all_end):
    jobs.exits_cleanly.enqueue(desk.folder, "exits")
    for i in range(3):
        jobs.gated.enqueue(desk.folder, f"n{i}")
    desk.go()
    with running("conveyor_worker", "--drain", "--concurrency", "2", lease=600.0) as worker:
        assert worker.wait() == 0
        assert worker.log("child.died", exit=0)
    ended = {j.payload.args[1]: j for j in all_end()}
    culprit = ended.pop("exits")
    assert (culprit.state, culprit.lost_count) == ("failed", 3)
    assert {j.state for j in ended.values()} == {"succeeded"}
    assert max(j.lost_count for j in ended.values()) <= 1
    assert not Worker.objects.exists()


def test_exceptions_and_backoffs_that_exit_are_outcomes_like_any_other(all_end):
    jobs.rude.enqueue()
    jobs.rude_backoff.enqueue()
    with running("conveyor_worker") as worker:
        ended = all_end()
        assert not worker.log("child.died")
    assert [(j.state, j.lost_count, j.release_count) for j in ended] == [("failed", 0, 0)] * 2
    assert "its __str__ raised SystemExit" in Attempt.objects.get(job=ended[0]).message


def test_a_backoff_of_an_async_task_is_asked(all_end):
    jobs.fails_async.enqueue()
    with running("conveyor_worker") as worker:
        [job] = all_end()
        assert not worker.log("backoff.failed")
    assert (job.state, job.attempt) == ("failed", 3)


def test_an_atomic_handler_that_leaves_a_block_open_commits_nothing_and_is_told(effects, all_end):
    jobs.leaves_a_block_open.enqueue("x")
    with running("conveyor_worker", "--concurrency", "1"):
        [job] = all_end()
        jobs.effect.enqueue("after")
        all_end()
    assert job.state == "failed"
    assert "left open" in Attempt.objects.get(job=job).message
    assert effects() == ["after"]


def test_what_an_async_handler_leaves_behind_does_not_swallow_the_next_ones_writes(effects, all_end):
    with running("conveyor_worker", "--concurrency", "1"):
        for i in range(3):
            jobs.leaves_autocommit_off.enqueue()
            jobs.effect_async.enqueue(f"e{i}")
        ended = all_end()
    assert {j.state for j in ended} == {"succeeded"}
    assert effects() == ["e0", "e1", "e2"]


def test_the_command_called_in_a_test_runs_the_tests_own_jobs(effects):
    """Its children have the project's settings, but must use the test database."""
    jobs.effect.enqueue("here")
    call_command("conveyor_worker", "--drain", "--log-format", "text", verbosity=0)
    assert Job.objects.get().state == "succeeded"
    assert effects() == ["here"]
    assert connection.settings_dict["NAME"].startswith("test_")
