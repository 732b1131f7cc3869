"""What failed and what is blocked, each found without a walk over all that ended or all that is open."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conveyor", "0004_workflows")]

    operations = [
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("state", "failed")), fields=["finished_at"], include=("queue",),
                name="conveyor_job_failed",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(condition=models.Q(("state", "blocked")), fields=["queue"], name="conveyor_job_blocked"),
        ),
    ]  # fmt: skip
