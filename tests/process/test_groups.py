"""A worker process killed while a group's transaction is open."""

from __future__ import annotations

from conveyor_django import enqueue_many
from conveyor_django.models import Job
from tests.support import jobs
from tests.support.processes import running
from tests.support.waits import wait_until

WORKER = ("conveyor_worker", "--processes", "1", "--concurrency", "8")


def test_what_had_not_committed_runs_again_and_nothing_is_doubled(desk, effects, all_end):
    with running(*WORKER):
        # A process groups the tasks that it has seen.
        jobs.effect_or_kill.enqueue(desk.folder, "first")
        wait_until(lambda: effects() == ["first"], "the first one has succeeded")
        one = jobs.effect_or_kill.bind
        # One commit, so that one claim has them all.
        enqueue_many([*(one(desk.folder, name) for name in "ab"), one(desk.folder, "killer", kills=True)])
        all_end()
    assert effects() == ["a", "b", "first", "killer"]
    assert set(Job.objects.values_list("state", flat=True)) == {"succeeded"}
    assert Job.objects.order_by("id").last().lost_count == 1
