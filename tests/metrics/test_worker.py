"""A real worker's numbers over HTTP: right, of all of its processes, and never falling when one is killed."""

from __future__ import annotations

import os
import signal

import pytest
from django.utils import timezone

from conveyor_django.metrics.catalog import METRICS, Home
from conveyor_django.models import Job
from tests.support import jobs
from tests.support.factories import JobFactory
from tests.support.processes import PATIENCE, running
from tests.support.waits import wait_until

from .scrape import OPENMETRICS, Scrape, fell, port_of, scraped

pytestmark = pytest.mark.django_db(transaction=True)

QUICK, FAILS = "tests.support.jobs.quick", "tests.support.jobs.fails"


def wait_for_total(port: int, count: int, name: str = "conveyor_outcomes_total", **labels: str) -> Scrape:
    """Scrape until there are so many; an answer is counted a moment after its commit."""
    scrapes: list[Scrape] = []

    def enough() -> bool:
        scrapes.append(scraped(port))
        return scrapes[-1].total(name, **labels) >= count

    wait_until(enough, f"{count} × {name} {labels}", patience=PATIENCE)
    return scrapes[-1]


def test_the_numbers_are_right_and_outlive_a_process_that_is_killed(desk) -> None:
    for i in range(6):
        jobs.quick.enqueue(desk.folder, f"q{i}")
    jobs.fails.enqueue(desk.folder, "f")
    with running(
        "conveyor_worker", "--processes", "2", "--concurrency", "2", "--metrics-port", "0", lease=600.0
    ) as worker:
        port = port_of(worker)
        # Three runs of the one that fails: two retries and the end.
        before = wait_for_total(port, 9)
        assert before.total("conveyor_outcomes_total", task=QUICK, verb="succeed", queue="default") == 6
        assert before.total("conveyor_outcomes_total", task=FAILS, verb="retry") == 2
        assert before.total("conveyor_outcomes_total", task=FAILS, verb="fail") == 1
        assert before.total("conveyor_claimed_total", queue="default") == 9
        assert before.total("conveyor_run_seconds_count", task=QUICK) == 6
        assert before.total("conveyor_run_seconds_bucket", task=QUICK, le="+Inf") == 6
        # The first claim of each job, and no other.
        assert before.total("conveyor_wait_seconds_count", queue="default") == 7

        jobs.gated.enqueue(desk.folder, "g")
        [pid] = desk.wait_started(1, "g")
        wait_for_total(port, 1, "conveyor_worker_slots_in_use")
        os.kill(pid, signal.SIGKILL)
        worker.wait_for("child.died", pid=pid)
        desk.wait_started(2, "g")
        desk.go()
        after = wait_for_total(port, 10)
        assert fell(before, after) == []
        assert after.total("conveyor_worker_deaths_total") == 1
        assert after.total("conveyor_rescued_total", by="supervisor") == 1
        assert after.total("conveyor_outcomes_total", verb="succeed") == 7
        wait_for_total(port, 2, "conveyor_worker_listening")
        vitals = scraped(port, OPENMETRICS)
        assert (vitals.total("conveyor_worker_processes"), vitals.total("conveyor_worker_slots")) == (2, 4)
        assert fell(after, vitals) == []
        assert_as_in_the_catalog(vitals, Home.WORKER, Home.SCHEDULER)


def assert_as_in_the_catalog(scrape: Scrape, *homes: Home) -> None:
    """Every metric of these places is there, with its kind, help and labels, and no other."""
    expected = {name: one for name, one in METRICS.items() if set(one.homes) & set(homes)}
    assert set(scrape.types) == {name.removesuffix("_total") for name in expected}
    for name, one in expected.items():
        assert scrape.types[name.removesuffix("_total")] == one.kind
        assert scrape.helps[name.removesuffix("_total")] == one.help
        of_it = [s for s in scrape.samples if s.name.startswith(name)]
        assert {frozenset(s.labels) - {"le"} for s in of_it} == {frozenset(one.label_names)}


def test_what_two_workers_tell_adds_up_and_their_handlers_enqueues_count(desk) -> None:
    jobs.hands_on.enqueue(desk.folder, "of code that is not here")
    Job.objects.update(task="nowhere.at_all")
    for i in range(10):
        jobs.hands_on.enqueue(desk.folder, f"h{i}")
    options = ("--concurrency", "1", "--no-scheduler", "--metrics-port", "0")
    with running("conveyor_worker", *options) as first, running("conveyor_worker", *options) as second:
        ports = [port_of(first), port_of(second)]

        def summed(name: str, **labels: str) -> float:
            return sum(scraped(port).total(name, **labels) for port in ports)

        wait_until(lambda: summed("conveyor_outcomes_total", verb="succeed") >= 20, "all have run", patience=PATIENCE)
        assert summed("conveyor_outcomes_total", verb="succeed") == 20
        # A task that nobody knows makes no label. It is given back, later each time.
        wait_until(lambda: summed("conveyor_outcomes_total", task="(unknown)", verb="release") >= 1, "it is given back")
        tasks = {s.labels.get("task") for port in ports for s in scraped(port).samples}
        assert tasks == {None, "(unknown)", QUICK, "tests.support.jobs.hands_on"}
        assert summed("conveyor_run_seconds_count", task=QUICK) == 10
        assert summed("conveyor_enqueued_total", task=QUICK) == 10
        assert not scraped(ports[0]).has("conveyor_scheduler_looks_total")
    assert Job.objects.filter(state="succeeded").count() == 20


def test_a_scheduler_tells_of_its_duties() -> None:
    JobFactory(scheduled=True, run_at=timezone.now())
    with running("conveyor_scheduler", "--metrics-port", "0") as scheduler:
        scrape = wait_for_total(port_of(scheduler), 1, "conveyor_promoted_total")
        assert scrape.total("conveyor_scheduler_changes_total", duty="promote") == 1
        assert scrape.total("conveyor_scheduler_looks_total", duty="promote") >= 1
        assert scrape.total("conveyor_scheduler_errors_total") == 0
        assert scrape.total("conveyor_scheduler_look_age_seconds", duty="promote") < PATIENCE
        assert_as_in_the_catalog(scrape, Home.SCHEDULER)
