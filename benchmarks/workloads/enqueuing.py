"""(e): enqueue one by one, with a commit each, and in bulk; beside a bare INSERT and a bare COPY."""

from __future__ import annotations

from typing import Any, Final

from ..figures import per_job, rate
from ..meters import ServerWork
from ..stage import Stage
from .base import Workload

SINGLE: Final = 2_000
BULK: Final = 20_000


def measure(stage: Stage) -> dict[str, Any]:
    """Enqueue one by one, then in bulk."""
    stage.fresh()
    before = ServerWork.of(stage.server, stage.databases)
    single = stage.call("single", count=SINGLE)["seconds"]
    between = ServerWork.of(stage.server, stage.databases)
    bulk = stage.call("bulk", first=SINGLE, count=BULK)["seconds"]
    after = ServerWork.of(stage.server, stage.databases)
    return {
        "single_per_second": rate(SINGLE, single),
        "bulk_per_second": rate(BULK, bulk),
        "single_wal_bytes": per_job(between.wal_bytes - before.wal_bytes, SINGLE, 0),
        "bulk_wal_bytes": per_job(after.wal_bytes - between.wal_bytes, BULK, 0),
    }


WORKLOADS: Final = (
    Workload(
        name="enqueue", title="enqueue 2,000 one by one, 20,000 in bulk", measure=measure, load="enqueue",
        entrants=("conveyor", "procrastinate", "pgqueuer", "oban", "django-tasks-db", "django-ox", "awa", "celery",
                  "bare"),
    ),
)  # fmt: skip
