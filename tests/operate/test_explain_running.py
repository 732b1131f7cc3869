"""conveyor_explain of jobs that run, or ran until their worker was lost."""

from __future__ import annotations

import pytest

from conveyor_django import cancel
from conveyor_django.models import Worker
from conveyor_django.operate.explain import explain

from .conftest import Stage, codes, known_job, only_reason, seconds_ago

pytestmark = pytest.mark.django_db


def test_it_runs(fleet: Worker) -> None:
    job = known_job(running=True, lease_owner=fleet.pk, claimed_at=seconds_ago(200))
    reason = only_reason(job)
    assert reason.code == "running"
    assert f"worker host:17 ({fleet.pk}) has it since" in reason.text
    assert "(3 min), attempt 1 of 5" in reason.text
    assert explain(job.pk).headline.endswith("is running")


def test_its_cancellation_was_requested(fleet: Worker) -> None:
    job = known_job(running=True, lease_owner=fleet.pk)
    cancel(job.pk)
    assert codes(explain(job.pk)) == ["cancel_requested", "running"]


def test_its_worker_s_row_is_gone(fleet: Worker) -> None:
    reason = only_reason(known_job(running=True))
    assert reason.code == "owner_gone"
    assert "is gone" in reason.text


def test_its_worker_is_not_seen_any_more(stage: Stage) -> None:
    stage.scheduler()
    worker = stage.worker(now=seconds_ago(31))
    reason = only_reason(known_job(running=True, lease_owner=worker.pk))
    assert reason.code == "owner_gone"
    assert "is not seen any more" in reason.text
    assert reason.remedy.endswith(f"manage.py conveyor_rescue {worker.pk} --database default")


def test_its_lease_has_lapsed(fleet: Worker) -> None:
    reason = only_reason(known_job(lapsed=True, lease_owner=fleet.pk))
    assert reason.code == "lease_lapsed"
    assert "worker host:17 held it" in reason.text


def test_its_lease_has_lapsed_and_nobody_rescues(stage: Stage) -> None:
    assert codes(explain(known_job(lapsed=True).pk)) == ["lease_lapsed", "no_scheduler"]


def test_it_waits_for_its_neighbours_to_end(fleet: Worker) -> None:
    job = known_job(running=True, lease_owner=fleet.pk, lost_count=2)
    assert codes(explain(job.pk)) == ["running"]
    known_job(running=True, lease_owner=fleet.pk)
    explanation = explain(job.pk)
    assert codes(explanation) == ["suspect", "running"]
    assert "lets 1 other run end first" in explanation.reasons[0].text
