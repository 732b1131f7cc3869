"""wrong_now: each finding made to happen."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conveyor_django import pause_queue
from conveyor_django.models import Worker
from conveyor_django.operate.doctor import snapshots
from conveyor_django.operate.findings import Finding, Level, examine, wrong_now
from conveyor_django.operate.overview import overview

from ..support.connections import Connect
from ..support.factories import JobFactory
from ..support.waits import backend_pid
from .conftest import ROLES, Later, Stage, seconds_ago

pytestmark = pytest.mark.django_db


def only_finding() -> Finding:
    found = wrong_now("default")
    assert len(found) == 1, found
    return found[0]


def test_all_is_well(fleet: Worker) -> None:
    JobFactory(), JobFactory(scheduled=True), JobFactory(running=True, lease_owner=fleet.pk)
    assert wrong_now("default") == []


def test_no_worker_is_alive(stage: Stage) -> None:
    stage.scheduler()
    assert only_finding().level is Level.WARNING
    JobFactory(queue="orders")
    finding = only_finding()
    assert (finding.code, finding.level) == ("no_worker", Level.PROBLEM)
    assert "jobs are ready in 'orders'" in finding.problem


def test_a_queue_has_no_worker(stage: Stage) -> None:
    stage.scheduler()
    stage.worker("default")
    JobFactory(), JobFactory(queue="orders")
    finding = only_finding()
    assert (finding.code, finding.level) == ("queue_without_worker", Level.PROBLEM)
    assert finding.problem == (
        "queue 'orders' has ready jobs, but the one live worker does not take from it: it serves 'default'."
    )
    assert finding.remedy == "Start one: manage.py conveyor_worker --queues orders --database default"


def test_a_queue_has_none_of_several_workers(stage: Stage) -> None:
    stage.scheduler()
    stage.worker("default"), stage.worker("mail")
    JobFactory(queue="orders")
    assert only_finding().problem.endswith("none of the 2 live workers takes from it: they serve 'default' and 'mail'.")


def test_a_queue_s_workers_drain(stage: Stage) -> None:
    stage.scheduler()
    stage.worker(draining=True)
    JobFactory()
    assert only_finding().problem.endswith("the one live worker does not take from it: it drains.")
    stage.worker(draining=True)
    assert only_finding().problem.endswith("none of the 2 live workers takes from it: all of them drain.")


def test_of_a_paused_queue_nothing_is_expected(stage: Stage) -> None:
    stage.scheduler()
    stage.worker("default")
    pause_queue("orders")
    JobFactory(queue="orders", run_at=seconds_ago(3600))
    assert wrong_now("default") == []


def test_a_worker_is_silent(fleet: Worker, stage: Stage) -> None:
    silent = stage.worker(now=seconds_ago(300))
    finding = only_finding()
    assert (finding.code, finding.level) == ("worker_silent", Level.PROBLEM)
    assert "last seen 5 min ago" in finding.problem
    assert finding.remedy.endswith(f"manage.py conveyor_rescue {silent.pk} --database default")


def test_no_scheduler_is_there(stage: Stage) -> None:
    stage.worker()
    assert (only_finding().code, only_finding().level) == ("no_scheduler", Level.PROBLEM)


def test_nobody_knows_behind_a_pooler(stage: Stage, connect: Connect) -> None:
    stage.worker()
    connect("conveyor")
    assert wrong_now("default") == []


def test_the_only_scheduler_stands_still(stage: Stage, later: Later) -> None:
    stage.scheduler()
    later(120)
    stage.worker(roles=())
    assert (only_finding().code, only_finding().level) == ("scheduler_silent", Level.PROBLEM)
    assert only_finding().problem.startswith("scheduler host 18 (backend ")


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ({"scheduled": True, "run_at": seconds_ago(40)}, "promotion_late"),
        ({"lapsed": True, "lease_expires_at": seconds_ago(40)}, "rescue_late"),
    ],
)
def test_a_scheduler_s_work_is_left_undone(fleet: Worker, state: dict, code: str) -> None:
    jobs = [JobFactory(**state) for _ in range(2)]
    finding = only_finding()
    assert (finding.code, finding.level) == (code, Level.PROBLEM)
    assert finding.problem.startswith("2 jobs should have been")
    assert f"{jobs[0].pk} and {jobs[1].pk}" in finding.problem


def test_what_is_due_just_now_is_not_late(fleet: Worker) -> None:
    JobFactory(scheduled=True, run_at=seconds_ago(10)), JobFactory(lapsed=True)
    assert wrong_now("default") == []


def test_a_ready_job_has_waited_for_long(fleet: Worker) -> None:
    JobFactory(priority=5), JobFactory(queue="orders", run_at=seconds_ago(200))
    assert wrong_now("default") == []
    old = JobFactory(priority=-5, run_at=seconds_ago(3600))
    finding = only_finding()
    assert (finding.code, finding.level) == ("ready_too_old", Level.WARNING)
    assert f"job {old.pk} (shop.tasks.noop, priority -5) has been ready for 60 min" in finding.problem


def ended(*, succeeded: int = 0, failed: int = 0, cancelled: int = 0, ago: float = 600, queue: str = "orders") -> None:
    for state, jobs in (("succeeded", succeeded), ("failed", failed), ("cancelled", cancelled)):
        JobFactory.create_batch(jobs, **{state: True}, queue=queue, finished_at=seconds_ago(ago))


def test_many_jobs_of_a_queue_fail(fleet: Worker) -> None:
    ended(succeeded=4, failed=8, cancelled=1)
    ended(succeeded=20, queue="default")
    finding = only_finding()
    assert (finding.code, finding.level) == ("jobs_fail", Level.WARNING)
    assert finding.problem == "jobs of queue 'orders' fail: 8 of the 13 that ended in the last 15 minutes."
    assert "manage.py conveyor_retry --queue orders --dry-run --database default" in finding.remedy
    # An overview has read it already.
    assert wrong_now("default", overview("default")) == [finding]
    assert finding in examine("default")


@pytest.mark.parametrize(
    "few", [{"failed": 2}, {"succeeded": 27, "failed": 3}, {"failed": 8, "ago": 960}], ids=["two", "a tenth", "before"]
)
def test_some_jobs_fail(fleet: Worker, few: dict[str, int]) -> None:
    ended(**few)
    assert wrong_now("default") == wrong_now("default", overview("default")) == []


def test_more_than_a_tenth_fail(fleet: Worker) -> None:
    ended(succeeded=26, failed=3)
    assert only_finding().code == "jobs_fail"


def test_what_an_overview_has_seen_is_not_read_again(fleet: Worker) -> None:
    ended(failed=3)
    seen = overview("default")
    with CaptureQueriesContext(connection) as queries:
        assert [finding.code for finding in wrong_now("default", seen)] == ["jobs_fail"]
    assert not [query for query in queries if "counted_since" in query["sql"]]


def test_a_listener_is_gone(stage: Stage) -> None:
    stage.scheduler()
    stage.worker(roles=[role for role in ROLES if role != "listener"], started_at=seconds_ago(60))
    assert (only_finding().code, only_finding().level) == ("listener_deaf", Level.WARNING)


def test_a_snapshot_is_held(fleet: Worker, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = connect("report")
    holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT count(*) FROM conveyor_job")
    assert wrong_now("default") == []
    monkeypatch.setattr(snapshots, "LONG", 0.0)
    [finding] = [finding for finding in wrong_now("default") if f"backend {backend_pid(holder)} " in finding.problem]
    assert (finding.code, finding.level) == ("snapshot_held", Level.WARNING)
    assert "(report) has a transaction open for" in finding.problem
    assert finding.remedy.endswith(f"SELECT pg_terminate_backend({backend_pid(holder)});")


def test_the_worst_comes_first(stage: Stage) -> None:
    JobFactory(run_at=seconds_ago(3600))
    assert [finding.level for finding in wrong_now("default")] == [Level.PROBLEM, Level.PROBLEM, Level.WARNING]


def test_as_json(stage: Stage) -> None:
    stage.worker()
    said = only_finding().as_json()
    assert set(said) == {"code", "level", "problem", "remedy"}
    assert said["level"] == "problem"
