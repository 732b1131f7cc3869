"""How long the admin's pages take with a million jobs in many states, queues and tasks.

`python -m benchmarks.admin` fills the tables of DATABASE_URL, unless they hold so many jobs already, asks for each page
by Django's test client, and prints its queries and the server's time (all of the request, templates too) of the first
request, which has to read what no page before it has, and of those that follow. `--fill` empties the tables first. What
is rare stands at the old end, where a walk from the newest comes last; a large workflow at the new one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.test import Client

JOBS: Final = 1_000_000
LEAST: Final = 200_000
ROUNDS: Final = 7
# The jobs of a workflow that is drawn, and those of one that is too large for it.
_SMALL: Final = "n BETWEEN 20000 AND 20149"
_LARGE: Final = "n BETWEEN %(jobs)s - 59999 AND %(jobs)s - 40000"

# Which state the job of each number (from 1, the oldest) has; the first that holds. The jobs that are rare are old.
_STATES: Final = """
    CASE WHEN n <= 3 THEN 'failed'
         WHEN n BETWEEN 50 AND 90 THEN 'cancelled'
         WHEN n BETWEEN 100 AND 120 THEN 'running'
         WHEN n BETWEEN 200 AND 400 THEN 'blocked'
         WHEN n BETWEEN 1000 AND 3000 THEN 'scheduled'
         WHEN n BETWEEN 5000 AND 5010 THEN 'ready'
         WHEN n > %(jobs)s * 0.95 THEN 'ready'
         WHEN n > %(jobs)s * 0.5 AND n %% 400 = 0 THEN 'failed'
         ELSE 'succeeded' END
"""
_FILL: Final = (
    """
    TRUNCATE conveyor_job, conveyor_payload, conveyor_attempt, conveyor_ledger, conveyor_queue, conveyor_dependency,
             conveyor_workflow, conveyor_cron, conveyor_worker RESTART IDENTITY
    """,
    f"""
    INSERT INTO conveyor_job
        (id, queue, task, priority, state, run_at, ready_seq, attempt, max_attempts, lost_count, release_count,
         idempotency_key, lease_owner, lease_version, lease_expires_at, pending_dependencies, workflow_id, created_at,
         started_at, claimed_at, finished_at)
    SELECT n,
           CASE WHEN n BETWEEN 6000 AND 6006 THEN 'rare' ELSE 'queue-' || (n %% 12) END,
           CASE WHEN n BETWEEN 7000 AND 7004 THEN 'shop.tasks.rare' ELSE 'shop.tasks.task_' || (n %% 40) END,
           0, state, at, CASE WHEN state = 'ready' THEN nextval('conveyor_ready_seq') END,
           runs, 5, 0, 0,
           CASE WHEN n %% 10 = 0 THEN 'order-' || n END,
           CASE WHEN state = 'running' THEN md5((n %% 20)::text)::uuid END,
           runs,
           CASE WHEN state = 'running' THEN now() + interval '1 hour' END,
           CASE WHEN state = 'blocked' THEN 1 ELSE 0 END,
           CASE WHEN {_SMALL} THEN 1 WHEN {_LARGE} THEN 2 END,
           at, CASE WHEN runs > 0 THEN at END, CASE WHEN runs > 0 THEN at END,
           CASE WHEN state IN ('succeeded', 'failed', 'cancelled') THEN at + interval '5 seconds' END
    FROM (
        SELECT n, now() - interval '10 days' * (%(jobs)s - n) / %(jobs)s AS at, {_STATES} AS state
        FROM generate_series(1, %(jobs)s) AS n
    ) AS given
    -- Every tenth one that ran failed first, and was retried.
    CROSS JOIN LATERAL (
        SELECT CASE WHEN state NOT IN ('running', 'succeeded', 'failed') THEN 0
                    WHEN n %% 10 = 0 THEN 2
                    ELSE 1 END AS runs
    ) AS had
    """,
    """
    INSERT INTO conveyor_payload (job_id, args, kwargs, traceparent)
    SELECT n, jsonb_build_array(n), '{"note": "a job like any other"}',
           CASE WHEN n %% 3 = 0 THEN '00-' || md5(n::text) || '-00f067aa0ba902b7-01' END
    FROM generate_series(1, %(jobs)s) AS n
    """,
    """
    INSERT INTO conveyor_ledger (job_id, step, lease_version, owner, result, committed_at)
    SELECT id, '', lease_version, gen_random_uuid(), '{"paid": true}', finished_at
    FROM conveyor_job WHERE state = 'succeeded'
    """,
    """
    INSERT INTO conveyor_attempt
        (job_id, number, lease_version, verb, owner, error_class, message, traceback, started_at, finished_at)
    SELECT job.id, run.version, run.version, run.verb, gen_random_uuid(), 'builtins.ValueError', 'no',
           repeat(md5(job.id::text), 30), job.started_at, run.at
    FROM conveyor_job AS job
    CROSS JOIN LATERAL (VALUES (1, 'retry', started_at + interval '1 second'),
                               (lease_version, 'fail', finished_at)) AS run (version, verb, at)
    WHERE run.verb = 'retry' AND job.lease_version = 2 OR run.verb = 'fail' AND job.state = 'failed'
    ORDER BY run.at
    """,
    """
    INSERT INTO conveyor_workflow (id, name, created_at, finished_at)
    VALUES (1, 'small', now() - interval '9 days', now()), (2, 'large', now() - interval '9 days', now())
    """,
    f"""
    INSERT INTO conveyor_dependency (job_id, needs_id, on_failure, resolved)
    SELECT n, n - back, 'cancel', true
    FROM generate_series(1, %(jobs)s) AS n CROSS JOIN (VALUES (10), (11)) AS needed (back)
    WHERE ({_SMALL} AND n - back >= 20000) OR ({_LARGE} AND n - back >= %(jobs)s - 59999)
    """,
    "INSERT INTO conveyor_queue (name, paused) SELECT 'queue-' || n, n = 7 FROM generate_series(0, 11) AS n",
    """
    INSERT INTO conveyor_cron
        (name, expression, zone, task, args, kwargs, enabled, declared, missed, max_missed, overlap, jitter_seconds,
         last_tick, created_at)
    SELECT 'entry-' || n, n || ' 3 * * *', 'Europe/Berlin', 'shop.tasks.task_' || n, '[]', '{}', true, false, 'latest',
           100, 'allow', 0, date_trunc('day', now()) - interval '1 hour', now()
    FROM generate_series(0, 39) AS n
    """,
    """
    INSERT INTO conveyor_worker
        (incarnation, host, pid, supervisor_pid, queues, slots, lease_seconds, holds_lock, draining, started_at,
         last_seen)
    SELECT md5(n::text)::uuid, 'web-' || n, 1000 + n, 999, '[]', 8, 86400, false, false, now() - interval '1 day', now()
    FROM generate_series(0, 19) AS n
    """,
    "SELECT setval(pg_get_serial_sequence('conveyor_job', 'id'), %(jobs)s)",
    "SELECT setval(pg_get_serial_sequence('conveyor_workflow', 'id'), 2)",
)


def pages(jobs: int) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield what is asked for: its name, the path, the parameters."""
    listed = "/admin/conveyor/job/"
    # What the process loads once is this page's.
    yield "index of the admin", "/admin/", {}
    yield "dashboard", "/admin/conveyor/dashboard/", {}
    yield "dashboard, as it renews itself", "/admin/conveyor/dashboard/live/", {}
    yield "list", listed, {}
    yield "list, far down", listed, {"before": str(jobs // 2)}
    for state in ("succeeded", "ready", "failed", "cancelled", "running", "blocked", "scheduled"):
        yield f"state {state}", listed, {"state": state}
    yield "common queue", listed, {"queue": "queue-3"}
    yield "rare queue, old jobs", listed, {"queue": "rare"}
    yield "common task", listed, {"task": "shop.tasks.task_7"}
    yield "rare task, old jobs", listed, {"task": "shop.tasks.rare"}
    yield "task that no job has", listed, {"task": "shop.tasks.gone"}
    yield "failed, of a task", listed, {"state": "failed", "task": "shop.tasks.task_0"}
    yield "failed, of a task that has none", listed, {"state": "failed", "task": "shop.tasks.rare"}
    yield "enqueued in the past hour", listed, {"enqueued": "1h"}
    yield "ended in the past day", listed, {"ended": "1d"}
    yield "ready, of a rare queue", listed, {"state": "ready", "queue": "rare"}
    yield "search an id", listed, {"q": "123456"}
    yield "search a key", listed, {"q": "order-123450"}
    yield "search a trace", listed, {"q": "eccbc87e4b5ce2fe28308fd9f2a7baf3"}
    yield "search nonsense", listed, {"q": "'; DROP TABLE conveyor_job; --"}
    yield "page of a job", f"{listed}1/change/", {}
    yield "page of a job of a workflow", f"{listed}20075/change/", {}
    yield "page of a job of a large workflow", f"{listed}{jobs - 50_000}/change/", {}
    yield "retry a job, the question", f"{listed}1/do/retry/", {}
    yield "retry a job with other arguments, the form", f"{listed}1/do/edit/", {}
    yield "retry all that match, the question", f"{listed}retry-matching/", {"state": "failed", "queue": "queue-0"}
    yield "list of workflows", "/admin/conveyor/workflow/", {}
    yield "page of a workflow of 150 jobs, drawn", "/admin/conveyor/workflow/1/change/", {}
    yield "page of a workflow of 20,000 jobs, counted", "/admin/conveyor/workflow/2/change/", {}
    yield "list of queues", "/admin/conveyor/queue/", {}
    yield "list of cron entries", "/admin/conveyor/cron/", {}


class Times(NamedTuple):
    """Of one page: its queries, and in milliseconds all of the first request, and of each that follows.

    `own` is this process's part of those.
    """

    queries: int
    first: float
    wall: list[float]
    own: list[float]


def main() -> None:
    """Fill, measure and print."""
    parser = argparse.ArgumentParser(description="How long the admin's pages take with many jobs.")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"how many there are ({JOBS:,})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"how often each page is asked for ({ROUNDS})")
    parser.add_argument("--fill", action="store_true", help="fill the tables anew, also where they hold so many")
    options = parser.parse_args()
    if options.jobs < LEAST:
        parser.error(f"--jobs must be {LEAST:,} or more: some pages are of jobs that are rare among so many")
    # As a server runs: otherwise Django keeps every query.
    os.environ["DEBUG"] = "0"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    fill(options.jobs, anew=options.fill)
    print(f"{options.jobs:,} jobs; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print(f"| page | queries | first, ms | least, median, worst of {options.rounds} more | of it Python, least |")
    print("|---|---|---|---|---|")
    for name, path, query in pages(options.jobs):
        told = measure(path, query, options.rounds)
        spread = f"{min(told.wall):.0f}, {statistics.median(told.wall):.0f}, {max(told.wall):.0f}"
        print(f"| {name} | {told.queries} | {told.first:.0f} | {spread} | {min(told.own):.0f} |", flush=True)


def fill(jobs: int, *, anew: bool) -> None:
    """Make the tables hold so many jobs, unless they do."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM conveyor_job")
        if cursor.fetchone()[0] == jobs and not anew:
            return
        # The ledger lets nobody truncate it.
        cursor.execute("SET session_replication_role = replica")
        for statement in _FILL:
            cursor.execute(statement, {"jobs": jobs})
        cursor.execute("RESET session_replication_role")
        cursor.execute("VACUUM ANALYZE")


def measure(path: str, query: dict[str, str], rounds: int) -> Times:
    """Ask for a page again and again, the second time to count its queries."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": "localhost"})
    client.force_login(_user())
    began = time.perf_counter()
    _get(client, path, query)
    first = (time.perf_counter() - began) * 1000
    with CaptureQueriesContext(connection) as captured:
        _get(client, path, query)
    times = Times(len(captured.captured_queries), first, [], [])
    for _ in range(rounds):
        began, own = time.perf_counter(), time.process_time()
        _get(client, path, query)
        times.wall.append((time.perf_counter() - began) * 1000)
        times.own.append((time.process_time() - own) * 1000)
    return times


def _get(client: Client, path: str, query: dict[str, str]) -> None:
    response = client.get(path, query)
    if response.status_code != HTTPStatus.OK:
        raise SystemExit(f"{path} {query}: {response.status_code}")


def _user() -> User:
    from django.contrib.auth.models import User

    user, _ = User.objects.get_or_create(username="benchmark", is_staff=True, is_superuser=True)
    return user


if __name__ == "__main__":
    main()
