"""Pressing the admin's buttons: where they are, the answer to their question, what the next page and the log say."""

from __future__ import annotations

import uuid
from typing import Any

from django.contrib.admin.models import LogEntry
from django.urls import reverse

from conveyor_django.models import Job

from .admin_jobs import LIST

QUEUES = reverse("admin:conveyor_queue_changelist")
CRONS = reverse("admin:conveyor_cron_changelist")
MATCHING = reverse("admin:conveyor_job_retry_matching")
ANYTHING = "tests.support.produce.anything"


def button(row: Any, name: str) -> str:
    return reverse(f"admin:conveyor_{row._meta.model_name}_do", args=[row.pk, name])


def edit(job: Job) -> str:
    return reverse("admin:conveyor_job_edit", args=[job.pk])


def press(client: Any, url: str, token: str | None = None, **data: Any) -> str:
    """Answer a button's question; return what the next page says."""
    given = {"confirmed": "yes", "token": token or uuid.uuid4().hex} | data
    return told(client.post(url, given, follow=True))


def choose(client: Any, name: str, *rows: Any, url: str = LIST, **data: Any) -> Any:
    """Do an action of a list."""
    return client.post(url, {"action": name, "_selected_action": [row.pk for row in rows]} | data, follow=True)


def confirm(client: Any, name: str, *rows: Any, url: str = LIST) -> str:
    return told(choose(client, name, *rows, url=url, confirmed="yes", token=uuid.uuid4().hex))


def told(response: Any) -> str:
    assert response.status_code == 200
    return " ".join(str(message) for message in response.context["messages"])


def states(*jobs: Job) -> list[str]:
    found = dict(Job.objects.values_list("pk", "state"))
    return [found[job.pk] for job in jobs]


def log() -> list[tuple[str, str]]:
    """Return the object and the message of each entry of the admin's log, the oldest first."""
    return [(entry.object_id, entry.get_change_message()) for entry in LogEntry.objects.order_by("pk")]
