"""The same settings for every queue of Django, but for the app and the backend, which the environment names."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

# Such as "conveyor"; and the second database's URL, where a workload has two.
QUEUE = os.environ.get("BENCHMARK_DJANGO", "conveyor")
OTHER = os.environ.get("BENCHMARK_OTHER_URL", "")

_BACKENDS = {
    "conveyor": ("conveyor_django", "conveyor_django.backend.ConveyorBackend"),
    "django-tasks-db": ("django_tasks_db", "django_tasks_db.DatabaseBackend"),
    "django-ox": ("django_ox", "django_ox.backend.OxBackend"),
}
_APP, _BACKEND = _BACKENDS[QUEUE]


def _database(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/"),
        "USER": parts.username,
        "HOST": parts.hostname,
        "PORT": parts.port,
        # Kept open, as every queue's own pool keeps its connections.
        "CONN_MAX_AGE": None,
    }


DEBUG = False
SECRET_KEY = "measured only"  # noqa: S105 - no secret
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [_APP]
DATABASES = {"default": _database(os.environ.get("BENCHMARK_URL", "postgresql://postgres@127.0.0.1/postgres"))}
if OTHER:
    DATABASES["other"] = _database(OTHER)

# The first is everybody's; the numbered ones are for many queues, the last for the second database.
NUMBERED = [f"queue-{number}" for number in range(100)]
TASKS = {"default": {"BACKEND": _BACKEND, "QUEUES": ["default", *NUMBERED, "other"]}}
CONVEYOR = {
    # Short, so that pruning has something to do in the longer workloads.
    "RETENTION_SECONDS": float(os.environ.get("BENCHMARK_RETENTION", "60")),
    "QUEUES": {"other": {"DATABASE": "other"}} if OTHER else {},
}
