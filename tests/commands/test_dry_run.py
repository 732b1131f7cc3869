"""`--dry-run`: the first jobs that match, each with its last error."""

from __future__ import annotations

import pytest

from conveyor_django.models import Attempt

from ..support.factories import JobFactory
from .conftest import failed_with

pytestmark = pytest.mark.django_db

COMMAND = "conveyor_retry"


def test_a_dry_run_lists_them_with_their_last_error(run, run_json):
    late = failed_with("no card\nof that number", task="shop.tasks.charge", queue="orders")
    long = failed_with("x" * 121)
    odd = failed_with("\x1b[2Jgone")
    put_off = failed_with("put off")
    Attempt.objects.filter(job=put_off, lease_version=2).update(verb="snooze")
    never = JobFactory(failed=True)
    assert run(COMMAND, "--state", "failed", "--dry-run") == [
        f"default:{late.pk}  orders  shop.tasks.charge  failed  builtins.ValueError: no card",
        f"default:{long.pk}  default  shop.tasks.noop  failed  builtins.ValueError: {'x' * 119}…",
        f"default:{odd.pk}  default  shop.tasks.noop  failed  builtins.ValueError: \N{REPLACEMENT CHARACTER}[2Jgone",
        f"default:{put_off.pk}  default  shop.tasks.noop  failed  builtins.ValueError: an earlier one: disk full",
        f"default:{never.pk}  default  shop.tasks.noop  failed",
        "5 jobs match. Nothing was changed.",
    ]
    assert run_json(COMMAND, "--queue", "orders", "--dry-run")["jobs"] == [
        {
            "job": f"default:{late.pk}", "queue": "orders", "task": "shop.tasks.charge", "state": "failed",
            "error_class": "builtins.ValueError", "message": "no card",
        }
    ]  # fmt: skip


def test_a_dry_run_lists_the_first_and_says_how_many_more(run, run_json, monkeypatch):
    jobs = JobFactory.create_batch(22, failed=True)
    told = run(COMMAND, "--state", "failed", "--dry-run")
    assert [line.split()[0] for line in told[:20]] == [f"default:{job.pk}" for job in jobs[:20]]
    assert told[20:] == ["and 2 more", "22 jobs match. Nothing was changed."]
    assert len(run_json(COMMAND, "--state", "failed", "--dry-run")["jobs"]) == 20
    monkeypatch.setattr("conveyor_django.management.many.MOST_COUNTED", 21)
    assert run(COMMAND, "--state", "failed", "--dry-run")[20] == "and more than 1 more"
    assert "jobs" not in run_json(COMMAND, "--state", "failed", "--no-input")
