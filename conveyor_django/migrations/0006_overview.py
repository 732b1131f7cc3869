"""What failed and what is blocked, each found without a walk over all that ended or is open; the dashboard's place."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conveyor", "0005_drain")]

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
        migrations.CreateModel(
            name="Dashboard",
            fields=[],
            options={
                "verbose_name": "dashboard",
                "verbose_name_plural": "dashboard",
                "proxy": True,
                "default_permissions": (),
                "indexes": [],
                "constraints": [],
            },
            bases=("conveyor.job",),
        ),
    ]  # fmt: skip
