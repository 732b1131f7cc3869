"""Something to see: an hour of jobs that have ended, a workflow of which a part has failed, one job that runs."""

from __future__ import annotations

from dataclasses import dataclass

from conveyor_django import workflow
from conveyor_django.models import Job

from ..support import jobs
from ..support.factories import AttemptFactory, CronFactory, JobFactory, QueueFactory, in_seconds
from ..support.processes import Desk
from ..support.waits import wait_until


@dataclass(frozen=True)
class Scene:
    """The jobs that pages are shown of."""

    failed: Job
    running: Job
    workflow: int


def an_hour_ago_until_now() -> None:
    """Jobs that have ended, some of them badly, at another pace each minute; some runs of them were retried."""
    for minute in range(60):
        for place in range(1 + minute * 7 % 11):
            JobFactory(succeeded=True, finished_at=in_seconds(-60 * minute - place - 1), queue=f"q{place % 3}")
        if minute % 9 == 0:
            JobFactory(failed=True, finished_at=in_seconds(-60 * minute - 30))
    tried = JobFactory(scheduled=True, queue="q1", attempt=4)
    # The oldest first, as their rows would have come.
    for minute in reversed(range(60)):
        for place in range(minute * 5 % 13 - 8):
            version, ended = 10 * minute + place, in_seconds(-60 * minute - 1)
            AttemptFactory(job_id=tried.pk, lease_version=version, finished_at=ended)
    QueueFactory(name="orders")
    CronFactory(name="report")


def play(desk: Desk) -> Scene:
    """Enqueue what a worker, which has to be there, is to do; return when it has got as far as it can."""
    with workflow("parcel") as wf:
        address = wf.add(jobs.quick, desk.folder, "address", name="address")
        weight = wf.add(jobs.quick, desk.folder, "weight", name="weight")
        label = wf.add(jobs.fails_until_go, desk.folder, "label", name="label", after=[address, weight])
        wf.add(jobs.quick, desk.folder, "invoice", name="invoice", after=[address])
        wf.add(jobs.quick, desk.folder, "ship", name="ship", after=[label])
        wf.add(jobs.gated, desk.folder, "pack", name="pack", after=[weight])
    members = Job.objects.filter(workflow_id=wf.id)
    states = {"succeeded": 3, "failed": 1, "cancelled": 1, "running": 1}
    wait_until(
        lambda: {state: members.filter(state=state).count() for state in states} == states,
        "the workflow has got as far as it can",
    )
    return Scene(
        failed=members.get(payload__name="label"), running=members.get(payload__name="pack"), workflow=wf.id or 0
    )
