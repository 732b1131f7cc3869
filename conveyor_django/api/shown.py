"""Jobs as the API shows them."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from django.utils import timezone

from .. import models
from ..operate import explain
from ..results import result_id
from ..states import JobState, Verb
from .outputs import Explanation, Failure, Inspection, Job, JobDetail

# Runs without success that are shown of a job: the newest.
MAX_FAILURES: Final = 20


def shown(job: models.Job, alias: str) -> Job:
    """Return a job without what it is about."""
    return Job(**_fields(job, alias))


def detail_of(job: models.Job, alias: str, *, inspect: bool) -> JobDetail:
    """Return one job; with what it is about where the caller may `inspect` that."""
    payload = models.Payload.objects.using(alias).filter(pk=job.pk).first()
    return JobDetail(
        **_fields(job, alias),
        traceparent=payload.traceparent if payload else None,
        inspection=_inspection(job, payload, alias) if inspect else None,
    )


def explained(told: explain.Explanation) -> Explanation:
    """Return the answer to why a job is where it is."""
    values = told.as_json()
    return Explanation(**{name: values[name] for name in ("state", "headline", "now", "reasons")}, id=values["job"])


def _fields(job: models.Job, alias: str) -> dict[str, Any]:
    return {
        "id": result_id(alias, job.pk),
        "task": job.task,
        "queue": job.queue,
        "state": JobState(job.state),
        "priority": job.priority,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "lost_count": job.lost_count,
        "idempotency_key": job.idempotency_key,
        "workflow": job.workflow_id,
        "created_at": _aware(job.created_at),
        "run_at": _aware(job.run_at),
        "started_at": _aware(job.started_at),
        "finished_at": _aware(job.finished_at),
        "cancel_requested_at": _aware(job.cancel_requested_at),
    }


def _inspection(job: models.Job, payload: models.Payload | None, alias: str) -> Inspection:
    # Its ledger row exists once it has succeeded, and only then.
    success = models.Ledger.objects.using(alias).filter(job_id=job.pk, step="").first()
    attempts = models.Attempt.objects.using(alias).filter(job_id=job.pk).order_by("-lease_version")
    return Inspection(
        args=payload.args if payload else [],
        kwargs=payload.kwargs if payload else {},
        result=success.result if success else None,
        failures=[
            Failure(
                run=attempt.number,
                ended_by=Verb(attempt.verb),
                error=attempt.error_class,
                message=attempt.message,
                started_at=_aware(attempt.started_at),
                finished_at=_aware(attempt.finished_at),
            )
            for attempt in attempts[:MAX_FAILURES]
        ],
    )


def _aware(instant: dt.datetime | None) -> Any:
    """Return an instant with its offset, which models lack where USE_TZ is off."""
    if instant is None or timezone.is_aware(instant):
        return instant
    return timezone.make_aware(instant, timezone.get_default_timezone())
