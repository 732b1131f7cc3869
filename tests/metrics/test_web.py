"""What the web process tells: its own enqueues, and the tables of each database."""

from __future__ import annotations

import datetime as dt
import itertools
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from conveyor_django import counting, enqueue_many, workflow
from conveyor_django.db import NAME_AT_CONNECT
from conveyor_django.metrics import databases, enqueued
from conveyor_django.metrics.catalog import METRICS, Home
from conveyor_django.models import Cron, Job
from conveyor_django.operate.overview import Moment
from tests.support import jobs
from tests.support.connections import Connect, scalar
from tests.support.databases import process_environment
from tests.support.factories import CronFactory, JobFactory, QueueFactory, WorkerFactory

from .scrape import OPENMETRICS, Scrape, parsed

pytestmark = pytest.mark.django_db

QUICK = "tests.support.jobs.quick"
PRODUCER = """
import django; django.setup()
from conveyor_django.metrics import enqueued
from conveyor_django.metrics.enqueued import count_enqueues
from tests.support.jobs import quick
count_enqueues()
quick.enqueue("folder", "a")
count_enqueues().count("orders", "elsewhere", 3)
enqueued.MOST = 2
for number in range(4):
    count_enqueues().count(f"q{number}", "t", 1)
"""
READER = """
import django; django.setup()
from prometheus_client import Counter
from conveyor_django.metrics.collector import registry_of
from conveyor_django.metrics.client import choose_encoder
from conveyor_django.metrics.databases import database_source
from conveyor_django.metrics.enqueued import count_enqueues
from tests.support.jobs import quick
count_enqueues()
quick.enqueue("folder", "b")
Counter("theirs", "The project's own.").inc()
registry = registry_of()
registry.register(count_enqueues())
print(choose_encoder("")[0](registry).decode())
print("# EOF")
both = registry_of(database_source("other"), database_source("default"))
print(choose_encoder("")[0](both).decode())
"""


@pytest.fixture(autouse=True)
def _fresh(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has not counted or read anything."""
    settings.ROOT_URLCONF = "tests.metrics.urls"
    monkeypatch.setattr(enqueued, "_enqueued", None)
    monkeypatch.setattr(counting, "on_enqueued", None)
    databases.forget()
    enqueued.count_enqueues()
    yield
    databases.forget()


def scrape(client: Client, path: str = "/metrics/", **headers: str) -> Scrape:
    databases.forget()
    response = client.get(path, headers=headers)
    assert response.status_code == 200
    return parsed(response.content.decode(), response.headers["Content-Type"])


# -- enqueued -----------------------------------------------------------------------------------------------


def test_every_way_to_enqueue_counts_what_it_has_stored(client: Client) -> None:
    for _ in range(2):
        jobs.quick.using(idempotency_key="k").enqueue("f", "the second one is not stored")
    enqueue_many(
        [jobs.quick.bind("f", "a"), jobs.quick.bind("f", "b"), jobs.fails.using(queue_name="orders").bind("f", "c")]
    )
    with workflow("w") as wf:
        wf.add(jobs.quick, "f", "d")
    found = scrape(client)
    assert found.total("conveyor_enqueued_total", task=QUICK, queue="default", database="default") == 4
    assert found.total("conveyor_enqueued_total", queue="orders") == 1
    assert found.total("conveyor_enqueued_total") == Job.objects.count() == 5


def test_queues_that_are_made_up_are_counted_under_one_label_at_last(client: Client, monkeypatch) -> None:
    monkeypatch.setattr(enqueued, "MOST", 2)
    counter = enqueued.count_enqueues()
    for number in range(5):
        counter.count(f"q{number}", "t", 1)
    found = scrape(client)
    assert found.total("conveyor_enqueued_total") == 5
    assert found.total("conveyor_enqueued_total", queue="(other)", task="(other)") == 3


@pytest.mark.django_db(transaction=True)
def test_in_multiprocess_mode_one_process_tells_what_all_have_counted(tmp_path: Path) -> None:
    """And a database that is away keeps nobody from reading the other."""
    environment = process_environment() | {
        "PROMETHEUS_MULTIPROC_DIR": str(tmp_path),
        "OTHER_DATABASE_URL": "postgresql://nobody@/nothing?host=/nowhere",
        "CONVEYOR_QUEUES": '{"orders": {"DATABASE": "other"}}',
    }

    def run(code: str) -> str:
        ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    run(PRODUCER)
    counted, _, read = run(READER).partition("# EOF")
    found = parsed(counted)
    # The one of the process that has ended, and its own.
    assert found.total("conveyor_enqueued_total", task=QUICK, queue="default", database="default") == 2
    # Each queue's under its database.
    assert found.total("conveyor_enqueued_total", queue="orders", database="other") == 3
    # Those that are too many under one label.
    assert found.total("conveyor_enqueued_total", queue="(other)", task="(other)") == 4
    assert found.total("conveyor_enqueued_total") == 9
    # What the project counts is not given twice.
    assert {s.name for s in found.samples} == {"conveyor_enqueued_total"}
    found = parsed(read)
    assert found.total("conveyor_database_read", database="default") == 4
    assert found.has("conveyor_database_read", database="other")
    assert found.total("conveyor_database_read", database="other") == 0
    assert {s.name for s in found.samples if s.labels["database"] == "other"} == {"conveyor_database_read"}


# -- databases ----------------------------------------------------------------------------------------------


def test_every_metric_of_the_web_process_is_there_as_in_the_catalog(client: Client) -> None:
    jobs.quick.enqueue("f", "a")
    CronFactory(last_tick=timezone.now())
    for accept in ("text/plain", OPENMETRICS):
        found = scrape(client, accept=accept)
        expected = {name: one for name, one in METRICS.items() if Home.WEB in one.homes}
        assert set(found.types) == {name.removesuffix("_total") for name in expected}
        for name, one in expected.items():
            assert found.types[name.removesuffix("_total")] == one.kind
            assert found.helps[name.removesuffix("_total")] == one.help
            assert {frozenset(s.labels) for s in found.samples if s.name == name} == {frozenset(one.label_names)}


def test_queues_are_told_by_state_with_their_age_and_their_workers(client: Client) -> None:
    hour_ago = timezone.now() - dt.timedelta(hours=1)
    JobFactory.create_batch(2, queue="orders", run_at=hour_ago, created_at=hour_ago)
    JobFactory(queue="orders", scheduled=True)
    JobFactory(queue="default", failed=True)
    QueueFactory(name="orders", paused=True)
    WorkerFactory(queues=["orders"])
    WorkerFactory(queues=["orders"], draining=True)
    found = scrape(client)
    assert found.total("conveyor_queue_jobs", queue="orders", state="ready") == 2
    assert found.total("conveyor_queue_jobs", queue="orders", state="scheduled") == 1
    assert found.total("conveyor_queue_jobs", queue="default", state="failed") == 1
    assert 3600 <= found.total("conveyor_queue_oldest_ready_age_seconds", queue="orders") < 7200
    assert found.total("conveyor_queue_oldest_ready_age_seconds", queue="default") == 0
    assert found.total("conveyor_queue_paused", queue="orders") == 1
    assert found.total("conveyor_queue_workers", queue="orders") == 1
    assert found.total("conveyor_queue_workers", queue="default") == 0


def test_a_late_cron_entry_and_a_broken_one(client: Client) -> None:
    CronFactory(name="late", expression="* * * * *", last_tick=timezone.now() - dt.timedelta(minutes=10))
    CronFactory(name="early", expression="0 0 1 1 *", last_tick=timezone.now())
    CronFactory(name="off", expression="* * * * *", enabled=False, last_tick=timezone.now() - dt.timedelta(minutes=10))
    CronFactory(name="gone", expression="* * * * *", declared=True, last_tick=timezone.now() - dt.timedelta(minutes=10))
    CronFactory(name="broken")
    # By hand: neither the admin nor the model takes it.
    Cron.objects.filter(name="broken").update(expression="nonsense")
    found = scrape(client)
    assert 480 <= found.total("conveyor_cron_lateness_seconds", entry="late") <= 1200
    assert found.total("conveyor_cron_lateness_seconds", entry="early") == 0
    assert {s.labels["entry"] for s in found.samples if "entry" in s.labels} == {"late", "early"}
    assert found.total("conveyor_cron_broken") == 1


@pytest.mark.django_db(transaction=True)
def test_a_snapshot_that_is_held_open_is_told(client: Client, connect: Connect) -> None:
    with connect() as holder:
        holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        holder.execute("SELECT FROM conveyor_job LIMIT 1")
        assert scrape(client).total("conveyor_oldest_snapshot_age_seconds") > 0


@pytest.mark.django_db(transaction=True)
def test_what_takes_too_long_is_told_and_the_rest_is_read(
    client: Client, connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(databases, "_PARTS", {name: databases._PARTS[name] for name in ("tables", "crons")})
    before = scalar(connection, "SHOW statement_timeout")
    with connect() as locker, caplog.at_level(logging.WARNING, "conveyor.metrics"):
        locker.execute("BEGIN")
        locker.execute("LOCK TABLE conveyor_cron")
        with monkeypatch.context() as hurried:
            hurried.setattr(databases, "LOOK_SECONDS", 0.5)
            found = scrape(client)
        locker.execute("ROLLBACK")
    assert found.total("conveyor_database_read", part="crons") == 0
    assert "canceling statement due to statement timeout" in caplog.text
    assert found.has("conveyor_database_read", part="tables")
    assert not found.has("conveyor_cron_broken")
    # The request's own session is as it was.
    assert scrape(client).total("conveyor_database_read") == 2
    assert scalar(connection, "SHOW statement_timeout") == before


def test_a_look_has_its_time_in_all_and_each_part_what_is_left_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def limit(_: Moment) -> Iterator[databases.Number]:
        text = "SELECT setting::integer FROM pg_settings WHERE name = 'statement_timeout'"
        yield databases.Number("milliseconds", scalar(connection, text))

    # It begins at 2, and may take 5 seconds.
    monkeypatch.setattr(databases, "time", SimpleNamespace(monotonic=itertools.count(step=2).__next__))
    monkeypatch.setattr(databases, "_PARTS", dict.fromkeys(["a", "b", "c"], limit))
    told = databases.DatabaseNumbers("default").now()
    assert [number.value for number in told if number.metric == "milliseconds"] == [3000, 1000, 1]


def test_a_table_s_bytes_are_its_indexes_too(client: Client) -> None:
    JobFactory()
    size = scalar(connection, "SELECT pg_total_relation_size('conveyor_job')")
    assert scrape(client).total("conveyor_table_bytes", table="conveyor_job") == size


@pytest.mark.django_db(transaction=True)
def test_where_a_pooler_hides_schedulers_there_is_no_number_of_them(client: Client, connect: Connect) -> None:
    assert scrape(client).has("conveyor_schedulers")
    connect(NAME_AT_CONNECT)
    assert not scrape(client).has("conveyor_schedulers")


def test_many_scrapes_look_once(client: Client, django_assert_num_queries) -> None:
    client.get("/metrics/")
    JobFactory(queue="orders")
    with django_assert_num_queries(0):
        again = client.get("/metrics/")
    assert parsed(again.content.decode()).total("conveyor_queue_jobs", queue="orders") == 0
    assert scrape(client).total("conveyor_queue_jobs", queue="orders", state="ready") == 1


# -- who may ask --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given", [None, "", "s3crét", "Bearer ", "Bearer s3cré", "Bearer s3crétt", "Basic s3crét", "Digest s3crét"]
)
def test_without_the_token_nothing_is_told(client: Client, given: str | None) -> None:
    # As a server hands a header's bytes on (PEP 3333).
    headers = {} if given is None else {"authorization": given.encode().decode("latin-1")}
    response = client.get("/guarded/", headers=headers)
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, 'Bearer realm="metrics"')
    assert b"conveyor" not in response.content


def test_with_the_token_it_is(client: Client) -> None:
    assert scrape(client, "/guarded/", authorization="Bearer s3crét".encode().decode("latin-1")).samples


def test_an_empty_token_is_refused(client: Client) -> None:
    with pytest.raises(ImproperlyConfigured, match="empty"):
        client.get("/broken/")


def test_it_only_answers_who_reads(client: Client) -> None:
    assert client.post("/metrics/").status_code == 405
    assert client.head("/metrics/").status_code == 200
    assert "no-store" in client.get("/metrics/").headers["Cache-Control"]


def test_middleware_that_asks_everybody_to_log_in_leaves_it_alone(client: Client, settings: Settings) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    assert scrape(client).samples


def test_it_is_no_part_of_a_project_s_transactions() -> None:
    from conveyor_django.metrics.views import metrics

    assert metrics._non_atomic_requests == {"default"}
    assert transaction.get_connection().in_atomic_block
