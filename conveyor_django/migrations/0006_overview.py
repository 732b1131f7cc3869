"""What failed, found without a walk over all that ended; the dashboard's place in the admin."""

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
