"""(e): enqueue one by one, with a commit each, and in bulk; beside a bare INSERT and a bare COPY."""

from __future__ import annotations

from typing import Any, Final

from ..figures import rate
from ..meters import ServerWork
from ..sizes import Sizes
from ..stage import Stage
from .base import Workload


def measure(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    """Enqueue one by one, then in bulk."""
    stage.fresh()
    before = ServerWork.of(stage.server, stage.databases)
    single = stage.call("single", count=sizes.singly)["seconds"]
    between = ServerWork.of(stage.server, stage.databases)
    bulk = stage.call("bulk", first=sizes.singly, count=sizes.bulk)["seconds"]
    after = ServerWork.of(stage.server, stage.databases)
    return {
        "single_per_second": rate(sizes.singly, single),
        "bulk_per_second": rate(sizes.bulk, bulk),
        **between.since(before, sizes.singly),
        **{f"bulk_{name}": value for name, value in after.since(between, sizes.bulk).items()},
    }


WORKLOADS: Final = (
    Workload(
        name="enqueue", title="enqueue {singly:,} one by one, {bulk:,} in bulk", measure=measure, is_common=False,
        is_short=True,
        entrants=("conveyor", "procrastinate", "pgqueuer", "oban", "django-tasks-db", "django-ox", "awa", "celery",
                  "bare"),
    ),
)  # fmt: skip
