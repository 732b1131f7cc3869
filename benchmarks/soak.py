"""Many no-op jobs through one worker command: none lost, none doubled; the rate, and the workers' memory.

    python -m benchmarks.soak --jobs 100000 --processes 2 --concurrency 16

Uses the project's database (DATABASE_URL, or the embedded one) and empties Conveyor's tables in it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from benchmarks.records import RECORD

BATCH = 10_000


def main() -> int:
    """Run the soak; exit code 1 if a job was lost or doubled."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    arguments = _arguments()
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory(prefix="conveyor-soak-") as folder:
        os.environ["CONVEYOR_BENCHMARK_RECORDS"] = folder
        enqueue_seconds = _enqueue(arguments.jobs)
        memory, wall = _work(arguments)
        ran = _records(Path(folder))
    report = _report(arguments, ran, memory) | {"enqueue_seconds": enqueue_seconds, "wall_seconds": wall}
    print(json.dumps(report, indent=2))
    return 0 if report["lost"] == report["doubled"] == 0 and report["succeeded"] == arguments.jobs else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--concurrency", type=int, default=16)
    return parser.parse_args()


def _enqueue(jobs: int) -> float:
    from django.db import connection

    from conveyor_django.managers.jobs import NewJob
    from conveyor_django.models import Job

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE conveyor_job, conveyor_payload, conveyor_ledger, conveyor_attempt")
    began = time.monotonic()
    for start in range(0, jobs, BATCH):
        numbers = range(start, min(start + BATCH, jobs))
        Job.objects.enqueue_jobs(
            [
                NewJob(queue="default", task="benchmarks.tasks.noop", args=f"[{n}]", kwargs="{}", max_attempts=1)
                for n in numbers
            ]
        )
    return time.monotonic() - began


def _work(arguments: argparse.Namespace) -> tuple[dict[int, list[int]], float]:
    """Run the worker until the queue is drained; return {pid: resident bytes, second by second} and the seconds."""
    began = time.monotonic()
    worker = psutil.Popen(
        [sys.executable, "-m", "testproject", "conveyor_worker", "--drain", "--queues", "default",
         "--processes", str(arguments.processes), "--concurrency", str(arguments.concurrency)],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    memory: dict[int, list[int]] = {}
    while worker.poll() is None:
        for process in [worker, *worker.children(recursive=True)]:
            try:
                memory.setdefault(process.pid, []).append(process.memory_info().rss)
            except psutil.Error:
                continue  # It has just ended.
        time.sleep(1.0)
    if worker.returncode != 0:
        raise SystemExit(f"the worker exited with {worker.returncode}")
    return memory, time.monotonic() - began


def _records(folder: Path) -> Counter[int]:
    """Return how often each number was run, as the handlers recorded it."""
    ran: Counter[int] = Counter()
    for file in folder.glob("*.record"):
        ran.update(number for (number,) in RECORD.iter_unpack(file.read_bytes()))
    return ran


def _report(arguments: argparse.Namespace, ran: Counter[int], memory: dict[int, list[int]]) -> dict[str, object]:
    from django.db.models import Count, Max, Min, Q

    from conveyor_django.models import Job, Ledger

    seen = Job.objects.aggregate(
        succeeded=Count("id", filter=Q(state="succeeded")), first=Min("started_at"), last=Max("finished_at")
    )
    seconds = (seen["last"] - seen["first"]).total_seconds()
    return {
        "jobs": arguments.jobs,
        "processes": arguments.processes,
        "concurrency": arguments.concurrency,
        "lost": arguments.jobs - len(ran),
        "doubled": sum(1 for times in ran.values() if times > 1),
        "succeeded": seen["succeeded"],
        "ledger_rows": Ledger.objects.count(),
        "seconds": round(seconds, 2),
        "jobs_per_second": round(arguments.jobs / seconds),
        # The second sample: by then the process has imported the project.
        "resident_mb": {
            pid: {"start": round(s[min(2, len(s) - 1)] / 2**20, 1), "end": round(s[-1] / 2**20, 1)}
            for pid, s in memory.items()
        },
    }


if __name__ == "__main__":
    sys.exit(main())
