"""A big, skewed backlog in a schema of its own, for tests of plans.

50 queues with 100,000 jobs: `q1` has half of what is ready, five dead owners hold most of what runs, OWNER the rest.
"""

from __future__ import annotations

from typing import Final, Literal

from conveyor_django.db import Connection

from .samples import OWNER
from .schema import TABLES, create_schema, use_schema

# What the planner knows: nothing, the truth, or how things stood when nothing ran and little had ended.
Statistics = Literal["none", "fresh", "stale"]
STATISTICS: Final[tuple[Statistics, ...]] = ("none", "fresh", "stale")

READY, SCHEDULED, RUNNING, ENDED = 60_000, 5_000, 5_000, 30_000
MINE: Final = 200

_INSERT = """
INSERT INTO conveyor_job
    (queue, task, priority, state, run_at, ready_seq, attempt, max_attempts, lost_count, release_count,
     lease_version, pending_dependencies, created_at, finished_at, idempotency_key)
SELECT CASE WHEN n %% 2 = 0 THEN 'q1' ELSE 'q' || (n / 2 %% 49 + 2) END, 'shop.tasks.noop', n %% 3 - 1,
       %(state)s, now() + make_interval(secs => n %% 7200 - 3600), n, 0, 5, 0, 0, 0, 0, now(),
       CASE WHEN %(state)s = 'succeeded' THEN now() - make_interval(secs => n) END,
       CASE WHEN n %% 10 = 0 THEN %(state)s || n END
FROM generate_series(1, %(jobs)s::integer) AS n
"""

_PAYLOADS = "INSERT INTO conveyor_payload (job_id, args, kwargs) SELECT id, '[]', '{}' FROM conveyor_job"
_LEDGER = """
INSERT INTO conveyor_ledger (job_id, step, lease_version, owner, committed_at)
SELECT id, '', 1, gen_random_uuid(), now() FROM conveyor_job WHERE state = 'succeeded'
"""
# Jobs that run were ready before: this leaves the dead index entries that real ones leave.
_RUN = """
UPDATE conveyor_job
SET state = 'running', attempt = 1, lease_version = 1, started_at = now(), claimed_at = now(),
    lease_expires_at = now() + make_interval(secs => 300),
    lease_owner = CASE WHEN picked.n <= %(mine)s THEN %(owner)s
                       ELSE ('22222222-2222-2222-2222-22222222222' || picked.n %% 5)::uuid END
FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS n
      FROM conveyor_job WHERE state = 'ready' ORDER BY id DESC LIMIT %(jobs)s) AS picked
WHERE conveyor_job.id = picked.id
"""


def build_backlog(on: Connection, schema: str, statistics: Statistics) -> None:
    """Make the schema and fill it; `on` looks into it afterwards."""
    create_schema(on, schema)
    use_schema(on, schema)
    fill(on, statistics)


def fill(on: Connection, statistics: Statistics, *, share: int = 1) -> None:
    """Fill the tables that `on` sees, with one of `share` jobs; the planner is told what `statistics` says."""
    for state, jobs in (("scheduled", SCHEDULED // share), ("ready", (READY + RUNNING) // share)):
        on.execute(_INSERT, {"state": state, "jobs": jobs})
    if statistics == "stale":
        analyse(on)
    on.execute(_RUN, {"owner": OWNER, "mine": MINE, "jobs": RUNNING // share})
    on.execute(_INSERT, {"state": "succeeded", "jobs": ENDED // share})
    on.execute(_PAYLOADS)
    on.execute(_LEDGER)
    if statistics == "fresh":
        analyse(on)


def mine(on: Connection, jobs: int) -> list[int]:
    """Return the ids of some of the jobs that OWNER runs, all under version 1."""
    rows = on.execute(
        "SELECT id FROM conveyor_job WHERE state = 'running' AND lease_owner = %s ORDER BY id LIMIT %s",
        (OWNER, jobs),
    ).fetchall()
    return [row[0] for row in rows]


def analyse(on: Connection) -> None:
    """Take statistics of the tables as they are."""
    for table in TABLES:
        on.execute(f"VACUUM ANALYZE conveyor_{table}")
