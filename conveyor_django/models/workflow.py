"""Workflows: jobs that need others, and what becomes of them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from ..managers.workflows import WorkflowManager
from ..states import OnFailure


class Workflow(models.Model):
    """Jobs that were enqueued together; it is finished once they all have ended and its callbacks are on their way."""

    id = models.BigAutoField(primary_key=True)
    name = models.TextField()
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    objects: ClassVar[WorkflowManager] = WorkflowManager()

    class Meta:
        app_label = "conveyor"
        indexes: ClassVar = [
            # find_ended_workflows: what may have ended.
            models.Index(fields=["id"], condition=Q(finished_at__isnull=True), name="conveyor_workflow_open"),
            # prune_workflows: what finished longest ago.
            models.Index(
                fields=["finished_at"], condition=Q(finished_at__isnull=False), name="conveyor_workflow_finished"
            ),
        ]

    def __str__(self) -> str:
        return f"workflow {self.pk} ({self.name})"


class Dependency(models.Model):
    """An edge: `job` needs `needs`. Resolved once, by the statement that ends the job needed (rule 10)."""

    id = models.BigAutoField(primary_key=True)
    # No constraints in the database: their checks would lock the jobs' rows.
    job = models.ForeignKey(
        "conveyor.Job", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="dependencies"
    )
    needs = models.ForeignKey(
        "conveyor.Job", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="dependants"
    )
    on_failure = models.TextField(
        choices=[(policy.value, policy.value) for policy in OnFailure], default=OnFailure.CANCEL.value
    )
    resolved = models.BooleanField(default=False)

    class Meta:
        app_label = "conveyor"
        verbose_name_plural = "dependencies"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["job", "needs"], name="conveyor_dependency_edge"),
            # From the younger job to the older one alone: so there can be no cycle, and somebody is always first.
            models.CheckConstraint(condition=Q(needs__lt=F("job")), name="conveyor_dependency_order"),
            models.CheckConstraint(
                condition=Q(on_failure__in=[policy.value for policy in OnFailure]), name="conveyor_dependency_policy"
            ),
        ]
        indexes: ClassVar = [
            # The edges to resolve when a job ends; the sweep goes through all of them.
            models.Index(fields=["needs", "job"], condition=Q(resolved=False), name="conveyor_dependency_open"),
            # The dependants of a job, to show.
            models.Index(fields=["needs"], name="conveyor_dependency_needs"),
        ]

    def __str__(self) -> str:
        return f"job {self.job_id} needs job {self.needs_id}"
