"""Settings of worker processes that are traced."""

from __future__ import annotations

from testproject.settings import *  # noqa: F403
from testproject.settings import CONVEYOR, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.otel.apps.Config"]
CONVEYOR = CONVEYOR | {"BACKOFF_BASE_SECONDS": 0}
