"""What it costs to look at everything, with a million jobs: each statement of the overview, and the whole dashboard.

`python -m benchmarks.overview` needs an empty, migrated database as DATABASE_URL. It fills it in three shapes, one
after another, and empties it again: `mixed`, every state in 20 queues; `ready`, one queue in which all are ready;
`ended`, all succeeded within a day. In each, every tenth job had a run within the day that failed and was retried. It
prints milliseconds, of the first look, the best and the median, and the CPU of one look, here and in the server: on a
machine that does something else too, the CPU is what can be compared.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

JOBS: Final = 1_000_000
ROUNDS: Final = 7
SHAPES: Final = {
    "mixed": """CASE WHEN n % 1000 < 1 THEN 'running' WHEN n % 1000 < 6 THEN 'blocked'
                     WHEN n % 1000 < 56 THEN 'scheduled' WHEN n % 1000 < 256 THEN 'ready'
                     WHEN n % 1000 < 276 THEN 'failed' WHEN n % 1000 < 286 THEN 'cancelled' ELSE 'succeeded' END""",
    "ready": "'ready'",
    "ended": "'succeeded'",
}
_QUEUES: Final = {
    "mixed": "'q' || CASE WHEN n % 3 < 2 THEN 1 ELSE n % 20 END", "ready": "'q'", "ended": "'q' || n % 20",
}  # fmt: skip
_TABLES: Final = "conveyor_job, conveyor_payload, conveyor_attempt, conveyor_queue, conveyor_worker"


def main() -> None:
    """Measure each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--shape", choices=SHAPES, action="append", help="Default: all of them.")
    arguments = parser.parse_args()
    _set_up()
    from django.db import connection

    from conveyor_django.models import Job

    if Job.objects.exists():
        raise SystemExit(f"The database {connection.settings_dict['NAME']!r} holds jobs. Give an empty one.")
    print(f"{arguments.jobs:,} jobs; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for shape in arguments.shape or SHAPES:
        _fill(shape, arguments.jobs)
        try:
            _measure(shape)
        finally:
            _execute(f"TRUNCATE {_TABLES}")


def _measure(shape: str) -> None:
    from conveyor_django.models import Job
    from conveyor_django.operate.findings import wrong_now
    from conveyor_django.operate.overview import overview
    from conveyor_django.operate.overview.moment import COUNTED, ENDED_COUNTED, RETRIED_COUNTED, SAMPLED_PAGES

    jobs = Job.objects
    looks: dict[str, Callable[[], Any]] = {
        "count_ready": lambda: jobs.count_ready(limit=COUNTED),
        "count_states": lambda: jobs.count_states(limit=COUNTED),
        "count_ended": lambda: jobs.count_ended(limit=ENDED_COUNTED, failures=COUNTED),
        "count_retried": lambda: jobs.count_retried(limit=RETRIED_COUNTED),
        "sample_jobs": lambda: jobs.sample_jobs(pages=SAMPLED_PAGES),
        "list_runs": lambda: jobs.list_runs(limit=COUNTED, shown=10),
        "overview": lambda: overview("default"),
        "wrong_now": lambda: wrong_now("default"),
        "dashboard": _page(),
    }
    for name, look in looks.items():
        told = _timed(look)
        print(
            f"{shape:6} {name:13} first {told.first:7.1f} ms  best {told.best:6.1f} ms  median {told.median:6.1f} ms  "
            f"CPU {told.ours:5.1f} + {told.servers:5.1f} ms",
            flush=True,
        )


class Times(NamedTuple):
    """Milliseconds of looks, and of one the CPU, here and in the server."""

    first: float
    best: float
    median: float
    ours: float
    servers: float


def _timed(look: Callable[[], Any]) -> Times:
    times = []
    ours, servers = time.process_time(), _server_cpu()
    for _ in range(ROUNDS):
        began = time.perf_counter()
        look()
        times.append((time.perf_counter() - began) * 1000)
    return Times(
        times[0], min(times), statistics.median(times), (time.process_time() - ours) * 1000 / ROUNDS,
        (_server_cpu() - servers) * 1000 / ROUNDS,
    )  # fmt: skip


def _page() -> Callable[[], Any]:
    from django.contrib.auth.models import User
    from django.test import Client
    from django.urls import reverse

    client, url = Client(), reverse("admin:conveyor_dashboard_live")
    name = "overview-benchmark"
    client.force_login(User.objects.filter(username=name).first() or User.objects.create_superuser(name))
    return lambda: client.get(url)


def _server_cpu() -> float:
    """Return the CPU seconds of this connection's server process, which has to be on this machine."""
    import psutil
    from django.db import connection

    connection.ensure_connection()
    spent = psutil.Process(connection.connection.info.backend_pid).cpu_times()
    return float(spent.user + spent.system)


def _fill(shape: str, jobs: int) -> None:
    _execute(
        f"""
        INSERT INTO conveyor_job
            (queue, task, priority, state, run_at, ready_seq, attempt, max_attempts, lost_count, release_count,
             lease_version, pending_dependencies, created_at, started_at, claimed_at, finished_at, lease_owner,
             lease_expires_at)
        SELECT {_QUEUES[shape]}, 'shop.tasks.t' || n % 17, n % 3 - 1, given.state,
               now() + CASE given.state WHEN 'scheduled' THEN 1 ELSE -1 END * make_interval(secs => n % 86400),
               CASE WHEN given.state = 'ready' THEN nextval('conveyor_ready_seq') END, 1, 5, 0, 0, 1,
               CASE WHEN given.state = 'blocked' THEN 1 ELSE 0 END, now() - interval '2 days', now(), now(),
               CASE WHEN given.state IN ('succeeded', 'failed', 'cancelled')
                    THEN now() - make_interval(secs => (n::bigint * 7919) % 86400) END,
               CASE WHEN given.state = 'running' THEN md5((n / 1000 % 20)::text)::uuid END,
               CASE WHEN given.state = 'running' THEN now() + interval '1 day' END
        FROM generate_series(1, {jobs}) AS n CROSS JOIN LATERAL (SELECT {SHAPES[shape]} AS state) AS given
        """
    )
    # In the order in which they would have come.
    _execute(
        """
        INSERT INTO conveyor_attempt
            (job_id, number, lease_version, verb, owner, error_class, message, traceback, started_at, finished_at)
        SELECT id, 1, 1, 'retry', gen_random_uuid(), 'builtins.ValueError', 'no', repeat(md5(id::text), 30), at, at
        FROM (SELECT id, now() - make_interval(secs => (id * 7919) % 86400) AS at
              FROM conveyor_job WHERE id % 10 = 0) AS run
        ORDER BY at
        """
    )
    _execute("VACUUM ANALYZE conveyor_job, conveyor_attempt")


def _execute(text: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(text)


def _set_up() -> None:
    import django
    from django.conf import settings

    if not os.environ.get("DATABASE_URL"):
        raise SystemExit("Set DATABASE_URL to an empty database that `python -m testproject migrate` has prepared.")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    django.setup()
    # The test client's.
    settings.ALLOWED_HOSTS = ["testserver"]


if __name__ == "__main__":
    main()
