"""The job: a narrow row that every transition rewrites, and its payload, written once."""

from __future__ import annotations

from typing import ClassVar, Final

from django.db import models
from django.db.models import Q
from django.db.models.functions import Substr

from ..conf import CRON_KEY_PREFIX
from ..managers.jobs import JobManager
from ..states import TERMINAL, JobState, Parked, WorkflowRole

# Plain strings: migrations must not depend on the enum.
_BLOCKED, _SCHEDULED = JobState.BLOCKED.value, JobState.SCHEDULED.value
_READY, _RUNNING = JobState.READY.value, JobState.RUNNING.value
_FAILED = JobState.FAILED.value
# The rare ones, for whoever looks for trouble; no job of an ordinary life passes through them.
_HELD_UP = sorted(state.value for state in (JobState.BLOCKED, JobState.FAILED, JobState.CANCELLED))
_TERMINAL = sorted(state.value for state in TERMINAL)
_OPEN = sorted(state.value for state in JobState if state not in TERMINAL)
# Where the trace id stands in a traceparent: its first character, counted from 1, and its length (W3C Trace Context).
TRACE_ID: Final = (4, 32)
_BY_KEY, _BY_TASK = Parked.KEY.value, Parked.TASK.value


class Job(models.Model):
    """One piece of work and where it is in its life (`states.py` has the transitions).

    `lease_owner`, `lease_version` and `lease_expires_at` are the lease; the version is the fence: it grows at
    each claim and never falls. `attempt` is the retry budget used; a lost run is counted in `lost_count`
    instead, a run given back in `release_count`.
    """

    id = models.BigAutoField(primary_key=True)
    # No foreign key: it would lock the queue's row at every insert.
    queue = models.TextField()
    task = models.TextField(help_text="Dotted path of the task function.")
    priority = models.SmallIntegerField(default=0)
    state = models.TextField(choices=[(state.value, state.value) for state in JobState], default=_READY)
    run_at = models.DateTimeField()
    ready_seq = models.BigIntegerField(
        null=True, help_text="Order within queue and priority, renewed at each transition to ready."
    )
    attempt = models.IntegerField(default=0)
    max_attempts = models.IntegerField()
    lost_count = models.IntegerField(default=0)
    release_count = models.IntegerField(default=0)
    idempotency_key = models.TextField(null=True)
    lease_owner = models.UUIDField(null=True)
    lease_version = models.BigIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(null=True)
    concurrency_key = models.TextField(null=True, help_text="At most the queue's key cap of one key run at once.")
    parked = models.TextField(
        null=True,
        help_text="Why a ready job is out of the claims' way: its key has no free permit, or its task is paused.",
    )
    pending_dependencies = models.IntegerField(default=0)
    # As the dependencies' keys, without a constraint: its check would lock the workflow's row at every insert.
    workflow = models.ForeignKey(
        "conveyor.Workflow", null=True, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False,
        related_name="jobs",
    )  # fmt: skip
    workflow_role = models.TextField(null=True, help_text="Which callback of its workflow this is, if any.")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, help_text="When the first run was claimed.")
    claimed_at = models.DateTimeField(null=True, help_text="When the newest run was claimed.")
    finished_at = models.DateTimeField(null=True)

    objects: ClassVar[JobManager] = JobManager()

    class Meta:
        app_label = "conveyor"
        permissions: ClassVar = [
            ("retry_job", "Can run failed and cancelled jobs again"),
            ("edit_job", "Can see the arguments of a job as they are, and enqueue it anew with others"),
            ("cancel_job", "Can cancel jobs"),
            ("run_job_now", "Can make scheduled jobs ready at once"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in JobState]), name="conveyor_job_state"
            ),
            models.CheckConstraint(condition=Q(priority__gte=-100, priority__lte=100), name="conveyor_job_priority"),
            # Running is the state with a lease, and only that.
            models.CheckConstraint(
                condition=Q(
                    state=_RUNNING,
                    lease_owner__isnull=False,
                    lease_expires_at__isnull=False,
                    started_at__isnull=False,
                    claimed_at__isnull=False,
                )
                | (~Q(state=_RUNNING) & Q(lease_owner__isnull=True, lease_expires_at__isnull=True)),
                name="conveyor_job_lease",
            ),
            models.CheckConstraint(
                condition=Q(state__in=_TERMINAL, finished_at__isnull=False)
                | (~Q(state__in=_TERMINAL) & Q(finished_at__isnull=True)),
                name="conveyor_job_finished",
            ),
            models.CheckConstraint(
                condition=~Q(state=_READY) | Q(ready_seq__isnull=False), name="conveyor_job_ready_seq"
            ),
            models.CheckConstraint(
                condition=Q(state=_BLOCKED, pending_dependencies__gt=0)
                | (~Q(state=_BLOCKED) & Q(pending_dependencies__gte=0)),
                name="conveyor_job_blocked",
            ),
            # Only what could be claimed can be in the way of claims.
            models.CheckConstraint(
                condition=Q(parked__isnull=True) | Q(state=_READY, parked__in=[reason.value for reason in Parked]),
                name="conveyor_job_parked",
            ),
            models.CheckConstraint(
                condition=Q(workflow_role__isnull=True)
                | Q(workflow__isnull=False, workflow_role__in=[role.value for role in WorkflowRole]),
                name="conveyor_job_role",
            ),
            models.CheckConstraint(
                condition=Q(
                    attempt__gte=0,
                    lost_count__gte=0,
                    release_count__gte=0,
                    lease_version__gte=0,
                    max_attempts__gte=1,
                ),
                name="conveyor_job_counts",
            ),
            # P3: a key names one job of its queue for as long as the row lives (find_jobs_by_keys, enqueue).
            models.UniqueConstraint(
                fields=["queue", "idempotency_key"],
                condition=Q(idempotency_key__isnull=False),
                name="conveyor_job_key",
            ),
            # Rule 14: one job for each tick of a cron entry, in whatever queue.
            models.UniqueConstraint(
                fields=["idempotency_key"],
                condition=Q(idempotency_key__startswith=CRON_KEY_PREFIX),
                name="conveyor_job_cron_key",
            ),
        ]
        # Nothing that a renewal writes is indexed, so that a renewal stays a HOT update.
        indexes: ClassVar = [
            # claim_jobs, list_queues: the head of a queue.
            models.Index(
                "queue",
                models.F("priority").desc(),
                "ready_seq",
                condition=Q(state=_READY, parked__isnull=True),
                name="conveyor_job_ready",
            ),
            # unpark_jobs: whether a key has jobs in line.
            models.Index(
                fields=["queue", "concurrency_key"],
                condition=Q(state=_READY, parked__isnull=True, concurrency_key__isnull=False),
                name="conveyor_job_line_key",
            ),
            # claim_jobs, unpark_jobs, list_parked_keys: the next job of a key.
            models.Index(
                "queue",
                "concurrency_key",
                models.F("priority").desc(),
                "ready_seq",
                condition=Q(state=_READY, parked=_BY_KEY),
                name="conveyor_job_parked_key",
            ),
            # unpark_tasks: the jobs of a task that was paused.
            models.Index(fields=["task"], condition=Q(state=_READY, parked=_BY_TASK), name="conveyor_job_parked_task"),
            # promote_jobs, next_due: what is due.
            models.Index(fields=["run_at"], condition=Q(state=_SCHEDULED), name="conveyor_job_scheduled"),
            # rescue_jobs, rescue_owner, release_unknown: what runs, by owner. claim_jobs counts a queue's for its cap.
            models.Index(
                fields=["lease_owner"], include=["queue"], condition=Q(state=_RUNNING), name="conveyor_job_running"
            ),
            # Of a workflow: its jobs; and whether one of them has not ended (finish_workflows, find_ended_workflows).
            models.Index(fields=["workflow"], condition=Q(workflow__isnull=False), name="conveyor_job_workflow"),
            models.Index(
                fields=["workflow", "state"],
                condition=Q(workflow__isnull=False, workflow_role__isnull=True, state__in=_OPEN),
                name="conveyor_job_workflow_open",
            ),
            # prune_jobs: what ended longest ago.
            models.Index(
                fields=["finished_at"],
                condition=Q(state__in=_TERMINAL),
                name="conveyor_job_finished_at",
            ),
            # count_ended, count_states: failures among millions of successes, and those still kept.
            models.Index(
                fields=["finished_at"], include=["queue"], condition=Q(state=_FAILED), name="conveyor_job_failed"
            ),
            # The admin's list: the newest of a state that is rare among a million successes. count_states: the blocked.
            models.Index(fields=["state", "id"], condition=Q(state__in=_HELD_UP), name="conveyor_job_held_up"),
        ]

    def __str__(self) -> str:
        return f"job {self.pk} ({self.task}, {self.state})"


class Payload(models.Model):
    """What a job was enqueued with: written once, never updated, deleted with the job.

    Apart from the job because PostgreSQL writes a whole row anew at each transition.
    """

    job = models.OneToOneField(
        Job, on_delete=models.CASCADE, primary_key=True, db_constraint=False, related_name="payload"
    )
    args = models.JSONField(default=list)
    kwargs = models.JSONField(default=dict)
    traceparent = models.TextField(null=True)
    tracestate = models.TextField(null=True)
    name = models.TextField(null=True, help_text="What the job is called in its workflow.")

    class Meta:
        app_label = "conveyor"
        indexes: ClassVar = [
            # The admin's search: the jobs of a trace. A job without a context has no entry.
            models.Index(
                Substr("traceparent", *TRACE_ID), condition=Q(traceparent__isnull=False), name="conveyor_payload_trace"
            ),
        ]

    def __str__(self) -> str:
        return f"payload of job {self.job_id}"
