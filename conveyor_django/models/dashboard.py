"""The dashboard's place in the admin."""

from __future__ import annotations

from typing import ClassVar

from .job import Job


class Dashboard(Job):
    """Jobs under another name, so that Django's admin lists a page of them all; no table and no permissions."""

    class Meta:
        app_label = "conveyor"
        proxy = True
        default_permissions: ClassVar = ()
        verbose_name = "dashboard"
        verbose_name_plural = "dashboard"
