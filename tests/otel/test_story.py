"""From a web request to the effect: one story in the spans that two processes have sent to a collector."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from opentelemetry.trace import SpanKind
from pytest_django import Settings

from conveyor_django.db import Connection
from conveyor_django.models import Job

from ..support.bench import delete_jobs
from ..support.connections import Connect
from ..support.processes import running
from ..support.waits import wait_until
from .apps import provider_for
from .collector import collecting
from .recorder import opentelemetry_set_up, stored_ids

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def connection(connect: Connect) -> Any:
    """For what is left of the test."""
    made: Connection = connect()
    yield made
    delete_jobs(made)


def test_a_request_an_attempt_that_fails_one_that_does_not_a_step_and_an_effect(
    client: Client, settings: Settings, connection: Connection
) -> None:
    settings.ROOT_URLCONF = "tests.otel.web"
    with collecting() as (collector, address):
        provider = provider_for(address)
        with opentelemetry_set_up(provider):
            web = provider.get_tracer("web")
            with web.start_as_current_span("POST /orders/", kind=SpanKind.SERVER):
                job = client.post("/orders/", {"order": 17}).content.decode()
        provider.shutdown()
        left = Job.objects.exclude(state="succeeded")
        own = {"DJANGO_SETTINGS_MODULE": "tests.otel.settings", "COLLECTOR": address}
        with running("conveyor_worker", "--no-scheduler", **own) as worker:
            wait_until(lambda: not left.exists() and Job.objects.count() == 2, "both jobs have succeeded")
            retried = worker.wait_for("job.retried")
            assert worker.stop() == 0

    request, send = collector.one("POST /orders/"), collector.named("send orders")[0]
    assert (send.kind, send.parent, send.attributes["messaging.message.id"]) == ("producer", request.ids, job)
    first_job, second_job = Job.objects.order_by("pk").select_related("payload")
    assert stored_ids(first_job.payload.traceparent) == send.ids

    runs = collector.named("process orders")
    first, second = [run for run in runs if run.attributes["messaging.message.id"] == job]
    assert {run.kind for run in runs} == {"consumer"}
    assert (first.parent, first.links) == (second.parent, second.links) == (None, [send.ids])
    assert len({first.ids[0], second.ids[0], send.ids[0]}) == 3
    assert [run.attributes["conveyor.attempt"] for run in (first, second)] == [1, 2]
    assert [run.attributes["conveyor.fencing_token"] for run in (first, second)] == [1, 2]
    assert [run.attributes["conveyor.outcome"] for run in (first, second)] == ["retry", "succeed"]
    assert [run.status for run in (first, second)] == ["ERROR", "UNSET"]
    assert first.attributes["error.type"] == "tests.otel.web.BankClosed"
    assert [event["attributes"]["exception.message"] for event in first.events] == ["ref-17"]
    assert first.process == second.process != send.process
    assert (retried["trace_id"], retried["span_id"]) == first.ids

    taken, remembered = collector.named("step authorise")
    assert (taken.parent, remembered.parent) == (first.ids, second.ids)
    assert ["conveyor.step.remembered" in step.attributes for step in (taken, remembered)] == [False, True]
    assert collector.one("bank").parent == taken.ids
    failed, captured = collector.named("step capture")
    assert [(step.parent, step.status) for step in (failed, captured)] == [(first.ids, "ERROR"), (second.ids, "UNSET")]
    effect = collector.one("effect")
    assert (effect.parent, effect.status) == (second.ids, "UNSET")

    onward = collector.named("send orders")[1]
    assert onward.parent == effect.ids
    assert stored_ids(second_job.payload.traceparent) == onward.ids
    [noted] = [run for run in runs if run not in (first, second)]
    assert (noted.parent, noted.links) == (None, [onward.ids])
    assert collector.one("write").parent == noted.ids
