"""The attempts of a job that did not succeed."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from ..states import Verb


class Attempt(models.Model):
    """One run that ended without success, and why; the newest ones of each job are kept.

    `verb` says how it ended: retry, snooze, fail, cancel, release (given back) or rescue (lost).
    """

    VERBS: ClassVar = (Verb.RETRY, Verb.SNOOZE, Verb.FAIL, Verb.CANCEL, Verb.RELEASE, Verb.RESCUE)

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(
        "conveyor.Job", on_delete=models.CASCADE, db_constraint=False, db_index=False, related_name="attempts"
    )
    lease_version = models.BigIntegerField()
    number = models.IntegerField(help_text="The run, counted from 1: attempts charged and runs lost.")
    verb = models.TextField(choices=[(verb.value, verb.value) for verb in VERBS])
    owner = models.UUIDField()
    error_class = models.TextField()
    message = models.TextField()
    traceback = models.TextField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()

    class Meta:
        app_label = "conveyor"
        constraints: ClassVar = [
            # One row per lease; end_attempts and the job page find a job's rows by it.
            models.UniqueConstraint(fields=["job", "lease_version"], name="conveyor_attempt_lease"),
        ]

    def __str__(self) -> str:
        return f"run {self.number} of job {self.job_id}: {self.verb}"
