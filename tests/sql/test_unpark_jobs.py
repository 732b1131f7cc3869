"""unpark_jobs: the next jobs of a key come back in line."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory, PausedTaskFactory, PermitFactory, QueueFactory

pytestmark = pytest.mark.django_db

KEY = ("default", "k")


def parked(**fields: object) -> Job:
    """Make a job that waits for its key."""
    return JobFactory(parked_by_key=True, **fields)


def in_line() -> set[int]:
    """Return the ids of the ready jobs that are in line."""
    return set(Job.objects.filter(state="ready", parked=None).values_list("pk", flat=True))


def test_the_first_by_priority_and_age() -> None:
    parked(priority=-1)
    older, _newer = parked(), parked()
    assert Job.objects.unpark_jobs([KEY]) == {older.pk: "default"}
    assert in_line() == {older.pk}
    older.refresh_from_db()
    assert older.ready_seq is not None


def test_as_many_as_have_a_free_permit() -> None:
    QueueFactory(key_cap=3)
    PermitFactory(run=JobFactory(running=True))
    PermitFactory(number=2, run=JobFactory(succeeded=True))
    jobs = [parked() for _ in range(4)]
    assert set(Job.objects.unpark_jobs([KEY])) == {job.pk for job in jobs[:2]}


def test_none_while_every_permit_is_held() -> None:
    PermitFactory(run=JobFactory(running=True))
    parked()
    assert Job.objects.unpark_jobs([KEY]) == {}


def test_runs_beyond_a_lowered_cap_count() -> None:
    QueueFactory(key_cap=1)
    PermitFactory(number=1)
    PermitFactory(number=2, run=JobFactory(running=True))
    parked()
    assert Job.objects.unpark_jobs([KEY]) == {}


def test_none_while_others_are_in_line_for_the_free_permits() -> None:
    QueueFactory(key_cap=3)
    PermitFactory(run=JobFactory(running=True))
    first, second = JobFactory(concurrency_key="k"), parked()
    JobFactory(concurrency_key="l"), JobFactory(concurrency_key="k", queue="other"), parked()
    assert Job.objects.unpark_jobs([KEY]) == {second.pk: "default"}
    assert Job.objects.unpark_jobs([KEY]) == {}
    Job.objects.filter(pk=first.pk).delete()
    assert len(Job.objects.unpark_jobs([KEY])) == 1


def test_other_keys_and_other_queues_are_left_alone() -> None:
    parked(queue="other")
    JobFactory(concurrency_key="l", parked="key")
    JobFactory(concurrency_key="k", parked="task")
    assert Job.objects.unpark_jobs([KEY]) == {}


def test_a_key_given_twice_is_one() -> None:
    parked(), parked()
    assert len(Job.objects.unpark_jobs([KEY, KEY])) == 1


def test_jobs_whose_task_was_paused_meanwhile_step_aside() -> None:
    PausedTaskFactory(task="shop.tasks.paused")
    paused = [parked(task="shop.tasks.paused") for _ in range(2)]
    following = parked()
    assert Job.objects.unpark_jobs([KEY]) == {following.pk: "default"}
    assert set(Job.objects.filter(parked="task").values_list("pk", flat=True)) == {job.pk for job in paused}


def test_no_keys() -> None:
    assert Job.objects.unpark_jobs([]) == {}
