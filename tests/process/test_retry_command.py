"""`conveyor_retry` is stopped by Ctrl-C: what it says is done is done, and nothing else is."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

from conveyor_django.models import Job
from tests.support.databases import process_environment
from tests.support.factories import utc_now
from tests.support.waits import wait_until


def failed_jobs(count: int) -> None:
    now = utc_now()
    Job.objects.bulk_create(
        Job(
            queue="default", task="shop.tasks.noop", state="failed", run_at=now, max_attempts=1, created_at=now,
            finished_at=now,
        )
        for _ in range(count)
    )  # fmt: skip


def ready() -> int:
    return Job.objects.filter(state="ready").count()


def test_a_paced_retry_is_stopped_between_two_batches():
    # At this pace it would take minutes.
    failed_jobs(1_000)
    command = ["conveyor_retry", "--state", "failed", "--rate", "10", "--no-input", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "testproject", *command],
        env=process_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: ready() >= 2, "it has begun", patience=60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    told = json.loads(out)
    assert (process.returncode, told["interrupted"], told["matched"]) == (130, True, 1_000)
    assert told["became"] == {"retried": ready()}
    assert "Stopped by a signal between two batches" in err
