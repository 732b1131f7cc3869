"""Overview, status and dashboard where jobs live on two servers: each is of one of them."""

from __future__ import annotations

import json
import uuid

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from conveyor_django.admin.places import page_of
from conveyor_django.models import Cron, Job, Queue, Worker
from conveyor_django.operate.overview import overview

from ..support.produce import anything

PAGE = reverse("admin:conveyor_dashboard_changelist")
JOBS = reverse("admin:conveyor_job_changelist")


@pytest.fixture
def jobs(shard: str) -> None:
    anything.enqueue(1)
    anything.using(queue_name="orders").enqueue(2)
    anything.using(queue_name="orders").enqueue(3)


def ready(alias: str) -> dict[str, int]:
    return {queue.name: queue.depth.ready.jobs for queue in overview(alias).queues}


def test_each_overview_is_of_one_server(jobs: None, shard: str) -> None:
    assert ready("default") == {"default": 1}
    assert ready(shard) == {"orders": 2}


def test_the_command_looks_at_all_or_at_one(jobs: None, shard: str, capsys: pytest.CaptureFixture[str]) -> None:
    for database, expected in ((None, ["default", shard]), (shard, [shard])):
        call_command("conveyor_status", database=database, json=True)
        looked = json.loads(capsys.readouterr().out)["databases"]
        assert [one["database"] for one in looked] == expected
    call_command("conveyor_status")
    assert [line.split(",")[0] for line in capsys.readouterr().out.splitlines() if line.startswith("Database")] == [
        "Database default",
        f"Database {shard}",
    ]


def test_the_dashboard_offers_them_and_its_links_stay(jobs: None, shard: str, admin_client: Client) -> None:
    row = Queue.objects.using(shard).create(name="orders", paused=True)
    entry = Cron.objects.using(shard).create(name="there", expression="* * * * *", task="a.b")
    page = admin_client.get(PAGE, {"database": shard}).content.decode()
    Cron.objects.using(shard).all().delete()
    assert f'<a href="?database={shard}" aria-current="page">' in page
    assert f'data-url="{reverse("admin:conveyor_dashboard_live")}?database={shard}"' in page
    assert f'href="{JOBS}?database={shard}&amp;queue=orders&amp;state=ready"' in page
    for linked in (row, entry):
        assert f'href="{page_of(linked)}"' in page
    assert f'href="{PAGE}?database={shard}"' in admin_client.get(JOBS, {"database": shard}).content.decode()


def test_what_runs_there_leads_there(shard: str, admin_client: Client) -> None:
    anything.using(queue_name="orders").enqueue(1)
    owner = uuid.uuid4()
    Worker.objects.db_manager(shard).register_worker(
        incarnation=owner, host="web1", pid=7, supervisor_pid=6, queues=["orders"], slots=1, lease_seconds=30.0,
        holds_lock=False,
    )  # fmt: skip
    Job.objects.db_manager(shard).claim_plain_jobs(owner=owner, queues={"orders": 30.0}, limit=1)
    page = admin_client.get(PAGE, {"database": shard}).content.decode()
    for row in (*Job.objects.using(shard).all(), *Worker.objects.using(shard).all()):
        assert f'href="{page_of(row)}"' in page
