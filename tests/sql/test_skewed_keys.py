"""200,000 waiting jobs of skewed keys over 50 queues: no look is a walk, whatever has to make way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conveyor_django.db import Connection
from conveyor_django.managers.exchange import Claim, claim_from
from conveyor_django.models import Job
from conveyor_django.sql import statement

from ..support.backlog import Statistics, analyse
from ..support.connections import opened_connections
from ..support.plans import Plan, explain_prepared
from ..support.samples import OWNER, SAMPLES
from ..support.schema import create_schema, drop_schema, use_schema

SCHEMA = "skewed_keys"
JOBS, QUEUES, LIMIT, PARK = 200_000, 50, 32, 500
RUNNING = 5_001
# Pages read to count them where a queue has a cap: one for each, and a tenth for those of the index, of which the dead
# entries are more or fewer by what else looks at the server meanwhile.
COUNTED = RUNNING * 1.1

# Every other job is of the key `hot` of `q1`, which is full; every fourth of one of 250 keys, of which a fifth is
# full; the rest of none. The hot ones are the oldest, and have the highest priority: they are in everybody's way.
_JOBS = """
INSERT INTO conveyor_job
    (queue, task, priority, state, run_at, ready_seq, attempt, max_attempts, lost_count, release_count, lease_version,
     pending_dependencies, created_at, concurrency_key)
SELECT CASE WHEN hot THEN 'q1' ELSE 'q' || (n / 4 %% %(queues)s + 1) END, 'shop.tasks.noop',
       CASE WHEN hot THEN 1 ELSE n %% 3 - 1 END, 'ready', now(), CASE WHEN hot THEN n ELSE n + %(jobs)s END,
       0, 5, 0, 0, 0, 0, now(),
       CASE WHEN hot THEN 'hot' WHEN n %% 4 = 1 THEN 'key' || n %% 1000 END
FROM (SELECT n, n %% 2 = 0 AS hot FROM generate_series(1, %(jobs)s::integer) AS n) AS numbered
"""
_HOLDERS = """
WITH holder AS (
    INSERT INTO conveyor_job
        (queue, task, priority, state, run_at, ready_seq, attempt, max_attempts, lost_count, release_count,
         lease_version, pending_dependencies, created_at, concurrency_key, lease_owner, lease_expires_at, started_at,
         claimed_at)
    SELECT queue, 'shop.tasks.noop', 0, 'running', now(), n, 1, 5, 0, 0, 1, 0, now(), key, gen_random_uuid(),
           now() + interval '1 hour', now(), now()
    FROM (SELECT 'q1' AS queue, 'hot' AS key, 0 AS n
          UNION ALL
          SELECT 'q' || queue, 'key' || key, key
          FROM generate_series(1, %(queues)s) AS queue CROSS JOIN generate_series(1, 1000, 10) AS key) AS full_key
    RETURNING queue, concurrency_key, id
)
INSERT INTO conveyor_permit (queue, key, number, job_id, lease_version, taken_at)
SELECT queue, concurrency_key, 1, id, 1, now() FROM holder
"""
_END = """
UPDATE conveyor_job SET state = 'failed', lease_owner = NULL, lease_expires_at = NULL, finished_at = now()
WHERE id = ANY (%(ids)s)
"""
_PAYLOADS = "INSERT INTO conveyor_payload (job_id, args, kwargs) SELECT id, '[]', '{}' FROM conveyor_job"
_SETTINGS = """
INSERT INTO conveyor_queue (name, paused, soft_cap, exact_cap)
SELECT 'q' || n, false, CASE WHEN n %% 5 = 0 THEN 1000 END, CASE WHEN n %% 5 = 1 THEN 100 END
FROM generate_series(2, %(queues)s) AS n
"""


@pytest.fixture(
    scope="module", params=["none", *(pytest.param(name, marks=pytest.mark.long) for name in ("fresh", "stale"))]
)
def crowd(request: pytest.FixtureRequest, django_db_setup: None) -> Iterator[Connection]:
    """A worker's connection that looks at the backlog."""
    statistics: Statistics = request.param
    with opened_connections() as connect:
        connection = connect()
        create_schema(connection, SCHEMA)
        use_schema(connection, SCHEMA)
        for table in ("job", "payload"):
            # Nobody crashes here, and the suite is to be fast.
            connection.execute(f"ALTER TABLE conveyor_{table} SET UNLOGGED")
        if statistics == "stale":
            analyse(connection)
        for text in (_SETTINGS, _HOLDERS, _JOBS):
            connection.execute(text, {"jobs": JOBS, "queues": QUEUES})
        connection.execute(_PAYLOADS)
        if statistics == "fresh":
            analyse(connection)
        yield connection
        drop_schema(connection, SCHEMA)


def params_of(queues: list[str]) -> dict[str, Any]:
    """Return a claim's parameters."""
    return {"owner": OWNER, "queues": queues, "leases": [30.0] * len(queues), "limit": LIMIT, "park": PARK, "now": None}


def look(on: Connection, queues: list[str]) -> tuple[Plan, Claim]:
    """Explain a claim and make it, make the permits that it misses, and end what it claimed."""
    text, params = statement("claim_jobs"), params_of(queues)
    plan = explain_prepared(on, text, params, analyze=True)
    claim = claim_from(on.execute(text, params).fetchall())
    Job.objects.make_permits(claim.unprovided, on=on)
    on.execute(_END, {"ids": [job.id for job in claim.jobs]})
    return plan, claim


def test_pages_of_every_look_at_it(crowd: Connection) -> None:
    everything = [f"q{n}" for n in range(1, QUEUES + 1)]
    # The hot jobs are in the way, until all are parked.
    first = [look(crowd, everything) for _ in range(4)]
    assert [claim.parked for _, claim in first] == [[("q1", "hot")]] * 4
    crowd.execute("UPDATE conveyor_job SET parked = 'key' WHERE state = 'ready' AND concurrency_key = 'hot'")
    steady = [look(crowd, everything[turn:] + everything[:turn]) for turn in range(0, 50, 7) for _ in range(2)]
    assert sum(len(claim.jobs) for _, claim in steady) > 200
    for plan, claim in first + steady:
        assert not plan.seq_scans() & {"conveyor_job", "conveyor_payload"}, plan
        assert plan.buffers < COUNTED + 20 * (LIMIT + (PARK if claim.parked else 0)), plan

    swept = explain_prepared(crowd, statement("list_parked_keys"), SAMPLES["list_parked_keys"], analyze=True)
    assert swept.buffers < 100 * 10, swept
    # The next hot job comes back in line.
    crowd.execute("UPDATE conveyor_permit SET job_id = 0 WHERE key = 'hot'")
    back = {"queues": ["q1"], "keys": ["hot"], "park": PARK}
    # The first look marks the index entries that the update of all hot jobs has left dead.
    explain_prepared(crowd, statement("unpark_jobs"), back, analyze=True)
    assert explain_prepared(crowd, statement("unpark_jobs"), back, analyze=True).buffers < 300
    assert list(Job.objects.unpark_jobs([("q1", "hot")], on=crowd).values()) == ["q1"]
