"""`manage.py conveyor_prune`: what retention allows, or of an age; never what somebody still needs."""

from __future__ import annotations

import pytest
from django.core.management.base import CommandError

from conveyor_django.conf import ConveyorSettings
from conveyor_django.models import Attempt, Job, Ledger, Payload
from conveyor_django.operate.pruning import prunable, prune_matching

from ..support.connections import Connect
from ..support.factories import AttemptFactory, JobFactory, QueueFactory, in_seconds
from ..support.workflows import WorkflowFactory, child_of, member

pytestmark = pytest.mark.django_db

COMMAND = "conveyor_prune"
DAY = 86_400.0


def ended(state: str, days: float, **fields: object) -> Job:
    """Make a job that ended so many days ago, named by its state and age."""
    task = f"{fields.get('queue', '')}{state} {days}"
    return JobFactory(**{state: True, "finished_at": in_seconds(-days * DAY), "task": task} | fields)


def kept() -> set[str]:
    return set(Job.objects.values_list("task", flat=True))


def test_what_retention_allows_goes_unasked(run, answer, settings):
    settings.CONVEYOR = {"RETENTION_SECONDS": 2 * DAY, "FAILED_RETENTION_SECONDS": 4 * DAY}
    for state in ("succeeded", "cancelled", "failed"):
        for days in (1, 3, 5):
            ended(state, days)
    answer("")
    assert run(COMMAND) == ["5 jobs pruned."]
    assert kept() == {"succeeded 1", "cancelled 1", "failed 1", "failed 3"}


# What the scheduler's own statement leaves, jobs of many ages, queues and states, by many settings.
@pytest.mark.parametrize("retention", [None, 0.0, 2 * DAY])
@pytest.mark.parametrize("failed_retention", [None, 0.0, 4 * DAY])
def test_it_is_what_the_scheduler_would_prune(retention, failed_retention):
    QueueFactory(name="short", retention_seconds=DAY)
    QueueFactory(name="long", retention_seconds=100 * DAY)
    for queue in ("short", "long", "rowless"):
        for state in ("succeeded", "failed"):
            for days in (0.5, 3, 200):
                ended(state, days, queue=queue)
    JobFactory(running=True, task="running")
    settings = ConveyorSettings(retention_seconds=retention, failed_retention_seconds=failed_retention)
    allowed = {job.task for job in prunable(Job.objects.all(), settings)}
    before = kept()
    Job.objects.prune_jobs(limit=1000, retention=retention, failed_retention=failed_retention)
    assert before - allowed == kept()


def test_an_age_overrides_retention_and_asks(run, answer, capsys):
    old, new = ended("failed", 3), ended("failed", 1)
    answer("n\n")
    with pytest.raises(CommandError, match="Nothing was changed"):
        run(COMMAND, "--older-than", "2d")
    assert capsys.readouterr().err == "Prune for good 1 job? [y/N] "
    answer("y\n")
    assert run(COMMAND, "--older-than", "2d") == ["1 job pruned."]
    assert kept() == {new.task}
    assert old.task not in kept()


@pytest.mark.parametrize("trait", ["blocked", "scheduled", "running", "ready"])
def test_what_has_not_ended_stays(run, trait):
    JobFactory(**{} if trait == "ready" else {trait: True}, created_at=in_seconds(-1000 * DAY), task="t")
    assert run(COMMAND, "--older-than", "0s", "--no-input") == ["0 jobs match. Nothing was changed."]
    assert kept() == {"t"}


def test_by_queue_task_and_state(run):
    for queue in ("a", "b"):
        for state in ("succeeded", "failed"):
            ended(state, 5, queue=queue)
    run(COMMAND, "--older-than", "1d", "--queue", "a", "--state", "failed", "--no-input")
    assert kept() == {"asucceeded 5", "bsucceeded 5", "bfailed 5"}
    run(COMMAND, "--older-than", "1d", "--task", "bfailed 5", "--no-input")
    assert kept() == {"asucceeded 5", "bsucceeded 5"}


def test_a_filter_only_narrows_what_retention_allows(run):
    ended("failed", 1, queue="a")
    assert run(COMMAND, "--queue", "a", "--dry-run") == ["0 jobs match. Nothing was changed."]


def test_all_that_belongs_to_a_job_goes_with_it_and_nothing_else(run, monkeypatch):
    monkeypatch.setattr("conveyor_django.management.many.BATCH", 1)
    gone, stays = [ended("succeeded", 5) for _ in range(2)], ended("succeeded", 1)
    for job in (*gone, stays):
        AttemptFactory(job=job)
    assert run(COMMAND, "--older-than", "2d", "--no-input") == ["2 jobs pruned."]
    for model in (Payload, Ledger, Attempt):
        assert list(model.objects.values_list("job_id", flat=True)) == [stays.pk]


def test_nothing_of_a_workflow_that_goes_on(run):
    workflow = WorkflowFactory()
    parent = member(workflow, "succeeded")
    child_of(parent)
    assert run(COMMAND, "--older-than", "0s", "--no-input") == ["0 jobs match. Nothing was changed."]
    assert Job.objects.count() == 2


def test_a_dry_run(run, run_json):
    ended("succeeded", 9)
    assert run(COMMAND, "--dry-run")[-1] == "1 job matches. Nothing was changed."
    assert run_json(COMMAND, "--dry-run")["matched"] == 1
    assert run_json(COMMAND)["became"] == {"pruned": 1}


@pytest.mark.django_db(transaction=True)
def test_what_is_locked_is_left_and_the_rest_goes(connect: Connect):
    locked, free = ended("succeeded", 5), ended("succeeded", 6)
    other = connect()
    with other.transaction():
        other.execute("SELECT 1 FROM conveyor_job WHERE id = %s FOR UPDATE", (locked.pk,))
        assert list(prune_matching(Job.objects.all(), batch=1)) == [0, 1]
    assert set(Job.objects.all()) == {locked}
    assert free not in Job.objects.all()


def test_one_that_ended_anew_meanwhile_stays(monkeypatch):
    """It was chosen for an end that it has no longer."""
    job = ended("cancelled", 5)
    really = Job.objects.prune_chosen

    def late(self, finished_ats, **options):
        Job.objects.requeue_jobs([job.pk])
        Job.objects.cancel_job(job.pk)
        return really(finished_ats, **options)

    monkeypatch.setattr("conveyor_django.managers.jobs.JobManager.prune_chosen", late)
    assert list(prune_matching(Job.objects.all())) == [0]
    assert Job.objects.get().state == "cancelled"


def test_where_datetimes_are_naive(run, settings):
    settings.USE_TZ = False
    ended("succeeded", 5)
    assert run(COMMAND, "--older-than", "2d", "--no-input") == ["1 job pruned."]
