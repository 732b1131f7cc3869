"""Prune: ended jobs go with all that belongs to them, each by the retention that is its own."""

from __future__ import annotations

import pytest

from conveyor_django.conf import ConveyorSettings
from conveyor_django.models import Attempt, Job, Ledger, Payload
from conveyor_django.scheduler import prune
from conveyor_django.scheduler.prune import Prune

from ..support.factories import AttemptFactory, JobFactory, QueueFactory, in_seconds

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = 3600.0


def look(connection, *, retention, failed_retention, now=lambda: None):
    settings = ConveyorSettings(retention_seconds=retention, failed_retention_seconds=failed_retention)
    return Prune(alias="default", settings=settings, now=now).look_once(connection)


def kept() -> set[str]:
    """Return the tasks of the jobs that are still there."""
    return set(Job.objects.values_list("task", flat=True))


def ended(state, hours, **fields):
    """Make a job that ended so many hours ago, named by its state and age."""
    task = f"{fields.get('queue', '')}{state} {hours}"
    return JobFactory(**{state: True, "finished_at": in_seconds(-hours * HOUR), "task": task} | fields)


def test_each_state_by_its_retention(connection):
    for state in ("succeeded", "cancelled", "failed"):
        for hours in (1, 3, 5):
            ended(state, hours)
    look_ = look(connection, retention=2 * HOUR, failed_retention=4 * HOUR)
    assert (look_.changed, look_.more) == (5, False)
    assert kept() == {"succeeded 1", "cancelled 1", "failed 1", "failed 3"}


def test_what_has_not_ended_stays_however_old(connection):
    for trait in ("blocked", "scheduled", "running"):
        JobFactory(**{trait: True, "task": trait, "created_at": in_seconds(-1000 * HOUR)})
    JobFactory(task="ready", created_at=in_seconds(-1000 * HOUR))
    look(connection, retention=0.0, failed_retention=0.0)
    assert kept() == {"blocked", "scheduled", "running", "ready"}


def test_none_keeps_for_ever(connection):
    ended("succeeded", 9000)
    ended("failed", 9000)
    assert look(connection, retention=None, failed_retention=None).changed == 0
    look(connection, retention=None, failed_retention=HOUR)
    assert kept() == {"succeeded 9000"}


def test_none_for_failed_keeps_those_alone(connection):
    ended("succeeded", 9000)
    ended("failed", 9000)
    look(connection, retention=HOUR, failed_retention=None)
    assert kept() == {"failed 9000"}


def test_a_queue_s_own_retention_wins(connection):
    QueueFactory(name="short", retention_seconds=HOUR)
    QueueFactory(name="long", retention_seconds=100 * HOUR)
    for queue in ("short", "long", "none"):
        ended("succeeded", 2, queue=queue)
        ended("succeeded", 50, queue=queue)
    ended("failed", 50, queue="short")
    look(connection, retention=10 * HOUR, failed_retention=100 * HOUR)
    assert kept() == {"longsucceeded 2", "longsucceeded 50", "nonesucceeded 2", "shortfailed 50"}


def test_a_queue_s_own_retention_also_where_the_setting_keeps_for_ever(connection):
    QueueFactory(name="short", retention_seconds=HOUR)
    ended("succeeded", 2, queue="short")
    ended("succeeded", 2, queue="other")
    look(connection, retention=None, failed_retention=None)
    assert kept() == {"othersucceeded 2"}


def test_all_that_belongs_to_a_job_goes_with_it_and_nothing_else(connection):
    gone, stays = ended("succeeded", 5), ended("succeeded", 1)
    for job in (gone, stays):
        AttemptFactory(job=job)
    look(connection, retention=2 * HOUR, failed_retention=None)
    for model in (Payload, Ledger, Attempt):
        assert list(model.objects.values_list("job_id", flat=True)) == [stays.pk]


def test_by_the_injected_clock(connection):
    ended("succeeded", 1)
    assert look(connection, retention=2 * HOUR, failed_retention=None).changed == 0
    later = lambda: in_seconds(1.5 * HOUR)  # noqa: E731
    assert look(connection, retention=2 * HOUR, failed_retention=None, now=later).changed == 1


def test_a_full_batch_means_more(connection, monkeypatch):
    monkeypatch.setattr(prune, "BATCH", 2)
    for _ in range(3):
        ended("succeeded", 5)
    looks = [look(connection, retention=HOUR, failed_retention=None) for _ in range(2)]
    assert [(one.changed, one.more) for one in looks] == [(2, True), (1, False)]


def test_at_most_once_a_minute():
    assert Prune.at_least == 60.0
