"""What the admin needs: permissions for each action, and two partial indexes that everyday jobs have no entry in."""

from __future__ import annotations

from typing import ClassVar

from django.db import migrations, models
from django.db.models.functions import Substr


class Migration(migrations.Migration):
    """Permissions of jobs, queues and cron entries; the rare states by id; the jobs of a trace."""

    dependencies: ClassVar = [("conveyor", "0007_api_tokens")]

    operations: ClassVar = [
        migrations.AlterModelOptions(
            name="cron",
            options={
                "permissions": [("run_cron", "Can run cron entries at once")],
                "verbose_name": "cron entry",
                "verbose_name_plural": "cron entries",
            },
        ),
        migrations.AlterModelOptions(
            name="job",
            options={
                "permissions": [
                    ("retry_job", "Can run failed and cancelled jobs again"),
                    ("edit_job", "Can see the arguments of a job as they are, and enqueue it anew with others"),
                    ("cancel_job", "Can cancel jobs"),
                    ("run_job_now", "Can make scheduled jobs ready at once"),
                ]
            },
        ),
        migrations.AlterModelOptions(
            name="queue", options={"permissions": [("pause_queue", "Can pause and resume queues")]}
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state__in", ["blocked", "cancelled", "failed"])),
                fields=["state", "id"],
                name="conveyor_job_held_up",
            ),
        ),
        migrations.AddIndex(
            model_name="payload",
            index=models.Index(
                Substr("traceparent", 4, 32),
                condition=models.Q(("traceparent__isnull", False)),
                name="conveyor_payload_trace",
            ),
        ),
    ]
