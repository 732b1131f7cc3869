"""conveyor_doctor: each finding made to happen, on the test's own database."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from pytest_django import Settings

from conveyor_django import crontab
from conveyor_django.compat import FRAMEWORK
from conveyor_django.models import Dependency, Job, Payload, Worker
from conveyor_django.operate.doctor import orphans, pooler, server
from conveyor_django.operate.doctor.project import project_findings
from conveyor_django.operate.findings import Finding, Level, examine
from conveyor_django.testing import frozen_clock

from ..support.factories import AttemptFactory, CronFactory, JobFactory, LedgerFactory, PermitFactory, utc_now
from ..support.workflows import WorkflowFactory, child_of, member
from .conftest import Stage, seconds_ago

pytestmark = pytest.mark.django_db


def found(code: str) -> list[Finding]:
    return [finding for finding in examine("default") if finding.code == code]


def only(code: str) -> Finding:
    [finding] = found(code)
    return finding


def test_what_is_well_is_said(fleet: Worker) -> None:
    good = [finding.problem for finding in examine("default") if finding.level is Level.OK]
    assert "Every running job has a worker." in good
    assert "A scheduler is at work." in good


# -- cron ---------------------------------------------------------------------------------------------------


@pytest.fixture
def no_declared_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crontab, "_entries", {})


def test_a_cron_entry_is_late(fleet: Worker, no_declared_entries: None) -> None:
    CronFactory(name="good", last_tick=seconds_ago(60))
    CronFactory(name="off", last_tick=seconds_ago(3600), enabled=False)
    assert found("cron_late") == []
    CronFactory(name="report", last_tick=seconds_ago(3600))
    assert only("cron_late").level is Level.PROBLEM
    assert only("cron_late").problem.startswith("cron entry 'report' should have ticked at ")


def test_a_cron_entry_is_broken(fleet: Worker, no_declared_entries: None) -> None:
    entry = CronFactory(name="report")
    type(entry).objects.filter(pk=entry.pk).update(expression="nonsense")
    assert only("cron_broken").level is Level.PROBLEM
    assert "nonsense" in only("cron_broken").problem


def test_a_cron_entry_has_left_the_code(fleet: Worker, no_declared_entries: None) -> None:
    CronFactory(name="report", declared=True, last_tick=seconds_ago(86_400))
    assert only("cron_left").level is Level.WARNING
    assert found("cron_late") == []


# -- orphans ------------------------------------------------------------------------------------------------


def test_a_running_job_has_no_worker(fleet: Worker) -> None:
    JobFactory(running=True, lease_owner=fleet.pk)
    assert found("owner_gone") == []
    orphan = JobFactory(running=True)
    assert f"1 job run whose worker is not known any more: {orphan.pk}." in only("owner_gone").problem


def test_a_job_has_no_payload(fleet: Worker) -> None:
    job = JobFactory()
    Payload.objects.all().delete()
    assert only("job_without_payload").level is Level.PROBLEM
    assert only("job_without_payload").remedy.startswith(
        f"They cannot be run: manage.py conveyor_cancel default:{job.pk}"
    )


def leave_payload(job: Job) -> None:
    pass


def leave_ledger(job: Job) -> None:
    LedgerFactory(job=job, step="one")


def leave_attempt(job: Job) -> None:
    AttemptFactory(job=job)


def leave_edge(job: Job) -> None:
    Dependency.objects.create(job_id=job.pk, needs_id=job.pk - 1)


@pytest.mark.parametrize(
    ("kind", "leave"),
    [("payload", leave_payload), ("ledger", leave_ledger), ("attempt", leave_attempt), ("edge", leave_edge)],
)
def test_rows_have_no_job_and_what_it_says_removes_them(fleet: Worker, kind: str, leave: Callable[[Job], None]) -> None:
    job = JobFactory()
    leave(job)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM conveyor_job WHERE id = %s", [job.pk])
        if kind != "payload":
            cursor.execute("DELETE FROM conveyor_payload WHERE job_id = %s", [job.pk])
        finding = only(f"{kind}_without_job")
        assert finding.problem.endswith(f"has rows of 1 job that somebody has deleted: {job.pk}.")
        for statement in finding.remedy.split(" Delete jobs")[0].split(";"):
            # The test has a transaction already.
            if statement.strip() not in {"", "BEGIN", "COMMIT"}:
                cursor.execute(statement)
    assert found(f"{kind}_without_job") == []


def test_a_workflow_s_rows_are_whole(fleet: Worker) -> None:
    workflow = WorkflowFactory()
    child_of(member(workflow, "failed"), member(workflow))
    assert [finding.code for finding in examine("default") if finding.code.endswith("_without_job")] == []


def test_only_the_oldest_rows_are_looked_at(fleet: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    JobFactory()
    gone = JobFactory()
    Job.objects.filter(pk=gone.pk)._raw_delete("default")
    assert len(found("payload_without_job")) == 1
    monkeypatch.setattr(orphans, "LOOKED_AT", 1)
    assert found("payload_without_job") == []


def test_idle_permits_are_not_pruned(fleet: Worker) -> None:
    run = JobFactory(running=True, lease_owner=fleet.pk)
    PermitFactory(run=run, taken_at=seconds_ago(100_000)), PermitFactory(number=2)
    assert found("permits_idle") == []
    PermitFactory(number=3, taken_at=seconds_ago(100_000))
    assert "permits of 1 run that has ended" in only("permits_idle").problem


# -- the server ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "code"),
    [("synchronous_commit = off", "commits_not_durable"), ("track_activities = off", "activities_hidden")],
)
def test_a_setting_of_the_server_does_not_suit(fleet: Worker, setting: str, code: str) -> None:
    assert found(code) == []
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL {setting}")
    assert only(code).level is Level.WARNING


@pytest.mark.parametrize(
    ("limit", "value", "code", "level"),
    [
        ("OLD", 0, "wraparound", Level.WARNING),
        ("DANGEROUS", 0, "wraparound", Level.PROBLEM),
        ("SESSIONS_USED", 0.0, "sessions_used_up", Level.WARNING),
        ("NOTIFICATIONS_USED", -1.0, "notifications_used_up", Level.WARNING),
    ],
)
def test_something_comes_to_an_end(
    fleet: Worker, monkeypatch: pytest.MonkeyPatch, limit: str, value: Any, code: str, level: Level
) -> None:
    monkeypatch.setattr(server, "OLD", server.OLD if limit not in {"OLD", "DANGEROUS"} else 0)
    monkeypatch.setattr(server, limit, value)
    assert {finding.level for finding in found(code)} == {level}


def test_no_end_is_near(fleet: Worker) -> None:
    assert found("wraparound") == found("notifications_used_up") == []


@pytest.mark.parametrize(("ahead", "word"), [(90, "behind"), (-90, "ahead of")])
def test_this_host_s_clock_is_off(stage: Stage, ahead: float, word: str) -> None:
    assert found("clock_skew") == []
    with frozen_clock(utc_now() + dt.timedelta(seconds=ahead)):
        assert f"s {word} the database's" in only("clock_skew").problem


def test_autovacuum_is_off_for_a_table(fleet: Worker) -> None:
    assert found("autovacuum_off") == []
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE conveyor_cron SET (autovacuum_enabled = false)")
        finding = only("autovacuum_off")
        assert "conveyor_cron" in finding.problem
        cursor.execute(finding.remedy)
    assert found("autovacuum_off") == []


# -- poolers ------------------------------------------------------------------------------------------------


def test_this_process_is_behind_a_pooler(fleet: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("pooled") == []
    monkeypatch.setattr(pooler, "is_pooled", lambda _connection: True)
    assert only("pooled").level is Level.WARNING


def test_a_worker_is_behind_a_pooler(stage: Stage) -> None:
    stage.worker(roles=(), holds_lock=False)
    assert only("worker_pooled").problem.startswith("these workers reach the database through a pooler: host:17.")
    assert found("worker_without_lock") == []


def test_a_worker_has_no_lock(stage: Stage) -> None:
    stage.worker(holds_lock=False)
    assert only("worker_without_lock").problem.startswith("host:17 does not hold the session lock")
    assert found("worker_pooled") == []


# -- the project --------------------------------------------------------------------------------------------


def test_a_migration_is_missing(fleet: Worker) -> None:
    MigrationRecorder(connection).record_unapplied("conveyor", "0004_workflows")
    [finding] = examine("default")
    assert (finding.code, finding.level) == ("migrations", Level.PROBLEM)
    assert "0004_workflows" in finding.problem
    assert finding.remedy == "manage.py migrate conveyor --database default"


def test_a_system_check_complains(settings: Settings) -> None:
    assert project_findings() == []
    settings.CONVEYOR = {"DATABASE": "nowhere"}
    [finding] = project_findings()
    assert (finding.code, finding.level) == ("conveyor.E002", Level.PROBLEM)
    assert finding.remedy.startswith("Name one of 'default'")


def test_a_check_that_is_silenced_says_nothing(settings: Settings) -> None:
    settings.TASKS = {"default": {"BACKEND": f"{FRAMEWORK}.backends.dummy.DummyBackend"}}
    settings.SILENCED_SYSTEM_CHECKS = ["conveyor.W001"]
    assert project_findings() == []


def test_the_scheduler_is_slower_than_a_lease(settings: Settings) -> None:
    settings.CONVEYOR = {"SCHEDULER_SECONDS": 60, "LEASE_SECONDS": 30}
    assert [finding.code for finding in project_findings()] == ["scheduler_slow"]


def test_what_cannot_be_looked_at_does_not_stop_the_rest(fleet: Worker) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE conveyor_permit RENAME TO permits_of_old")
    assert '"conveyor_permit" does not exist' in only("check_failed").problem
    assert found("ok")
