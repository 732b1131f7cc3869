"""The span of an enqueue, and what its jobs keep of the trace."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.db import connection, connections, transaction
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode
from pytest_django import Settings

from conveyor_django import IdempotencyConflict, cancel, enqueue_many, task, workflow
from conveyor_django.conf import conveyor_settings
from conveyor_django.models import Job
from conveyor_django.spans import switch
from conveyor_django.spans.names import operation
from conveyor_django.spans.switch import spans_in_use
from conveyor_django.tracecontext import trace_context

from .recorder import Recorder, forget, ids_of, opentelemetry_set_up, parent_of, stored_ids

pytestmark = pytest.mark.django_db

GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@task(queue_name="orders")
def pack(order: int) -> int:
    return order


@task
def bill(order: int) -> int:
    return order


def stored(job: Job | None = None) -> tuple[str, str]:
    """Return the (trace, span) ids that a job, or the one there is, has stored."""
    return stored_ids((job or Job.objects.get()).payload.traceparent)


def test_it_is_a_producers_span_below_the_current_one_and_the_job_stores_it(recorder: Recorder) -> None:
    with recorder.tracer.start_as_current_span("POST /orders", kind=SpanKind.SERVER) as request:
        result = pack.enqueue(42)
        assert trace.get_current_span() is request
    span = recorder.one("send orders")
    assert span.kind is SpanKind.PRODUCER
    assert parent_of(span) == ids_of(recorder.one("POST /orders"))
    assert stored() == ids_of(span)
    attributes = dict(span.attributes or {})
    assert attributes.pop("server.address")
    attributes.pop("server.port", None)
    assert attributes == {
        "messaging.system": "conveyor",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "orders",
        "messaging.message.id": result.id,
        "conveyor.task": f"{__name__}.pack",
        "conveyor.database": "default",
        "conveyor.enqueue.existing": False,
    }
    scope = span.instrumentation_scope
    assert scope is not None
    assert (scope.name, scope.schema_url) == ("conveyor_django", "https://opentelemetry.io/schemas/1.44.0")


def test_its_tracestate_is_stored_too(recorder: Recorder) -> None:
    with trace_context(GIVEN, "vendor=1,other=2"):
        pack.enqueue(42)
    assert Job.objects.get().payload.tracestate == "vendor=1,other=2"


def test_a_given_context_is_the_parent_where_no_span_is_current(recorder: Recorder) -> None:
    with trace_context(GIVEN):
        pack.enqueue(42)
        with recorder.tracer.start_as_current_span("request"):
            bill.enqueue(42)
    assert parent_of(recorder.one("send orders")) == stored_ids(GIVEN)
    assert parent_of(recorder.one("send default")) == ids_of(recorder.one("request"))


def test_a_key_that_is_taken_is_said_and_the_first_context_stays(recorder: Recorder) -> None:
    first = pack.using(idempotency_key="a").enqueue(42)
    again = pack.using(idempotency_key="a").enqueue(42)
    assert [span.attributes["conveyor.enqueue.existing"] for span in recorder.named("send orders")] == [False, True]
    assert {span.attributes["messaging.message.id"] for span in recorder.named("send orders")} == {first.id, again.id}
    assert stored() == ids_of(recorder.named("send orders")[0])


def test_an_enqueue_that_is_refused_has_failed(recorder: Recorder) -> None:
    pack.using(idempotency_key="a").enqueue(42)
    with pytest.raises(IdempotencyConflict):
        pack.using(idempotency_key="a").enqueue(43)
    refused = recorder.named("send orders")[1]
    assert refused.status.status_code is StatusCode.ERROR
    assert refused.attributes["error.type"] == "conveyor_django.errors.IdempotencyConflict"
    assert [event.name for event in refused.events] == ["exception"]
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_job_that_replaces_another_has_its_own_context_and_the_other_keeps_its(recorder: Recorder) -> None:
    pack.using(idempotency_key="a").enqueue(42)
    pack.using(idempotency_key="a", on_conflict="replace").enqueue(43)
    old, new = Job.objects.order_by("pk")
    assert (old.state, new.state) == ("cancelled", "ready")
    assert [stored(old), stored(new)] == [ids_of(span) for span in recorder.named("send orders")]
    assert stored(old) != stored(new)


def test_a_cancelled_job_keeps_its_context_and_has_no_run(recorder: Recorder) -> None:
    result = pack.enqueue(42)
    cancel(result)
    assert stored() == ids_of(recorder.one("send orders"))
    assert len(recorder.spans) == 1


def test_a_batch_has_one_span_that_all_of_its_jobs_store(recorder: Recorder) -> None:
    results = enqueue_many([pack.bind(order) for order in range(103)])
    span = recorder.one("send orders")
    assert span.attributes["messaging.batch.message_count"] == 103
    assert span.attributes["conveyor.job.ids"] == tuple(result.id for result in results[:100])
    assert "messaging.message.id" not in span.attributes
    assert {stored(job) for job in Job.objects.select_related("payload")} == {ids_of(span)}


def test_a_batch_for_several_queues_names_none(recorder: Recorder) -> None:
    enqueue_many([pack.bind(1), bill.bind(1)])
    span = recorder.one("send")
    assert "messaging.destination.name" not in span.attributes
    assert "conveyor.task" not in span.attributes


def test_of_a_batch_those_whose_key_was_taken_are_counted(recorder: Recorder) -> None:
    pack.using(idempotency_key="a").enqueue(1)
    enqueue_many([pack.using(idempotency_key="a").bind(1), pack.bind(2)])
    _, batch = recorder.named("send orders")
    assert batch.attributes["conveyor.enqueue.existing"] == 1
    assert len(batch.attributes["conveyor.job.ids"]) == 1


def test_a_workflow_has_one_span_that_all_of_its_jobs_store(recorder: Recorder) -> None:
    with workflow("order", on_completion=pack.bind(7)) as wf:
        first = wf.add(pack, 1)
        wf.add(bill, 2, after=first)
    span = recorder.one("send")
    assert span.attributes["messaging.batch.message_count"] == 3
    assert span.attributes["conveyor.workflow.id"] == wf.id
    assert [stored(job) for job in Job.objects.select_related("payload")] == [ids_of(span)] * 3


def test_what_is_not_sampled_is_stored_as_such(db: Any) -> None:
    recorder = Recorder(ALWAYS_OFF)
    with opentelemetry_set_up(recorder.provider):
        pack.enqueue(42)
    assert recorder.spans == []
    flags = Job.objects.get().payload.traceparent.rpartition("-")[2]
    assert not int(flags, 16) & trace.TraceFlags.SAMPLED


def test_its_own_statements_are_below_it(recorder: Recorder) -> None:
    """As those of an instrumented driver would be."""

    def watched(execute: Any, *args: Any) -> Any:
        with recorder.tracer.start_as_current_span("INSERT"):
            return execute(*args)

    with connection.execute_wrapper(watched):
        pack.enqueue(42)
    assert {parent_of(span) for span in recorder.named("INSERT")} == {ids_of(recorder.one("send orders"))}


def test_it_is_made_for_an_enqueue_that_is_rolled_back_too(recorder: Recorder) -> None:
    with transaction.atomic():
        pack.enqueue(42)
        transaction.set_rollback(True)
    assert recorder.one("send orders").status.status_code is StatusCode.UNSET
    assert not Job.objects.exists()


# -- where no spans are made --------------------------------------------------------------------------------


def test_off_makes_none_and_a_given_context_is_stored(recorder: Recorder, settings: Settings) -> None:
    settings.CONVEYOR = {"SPANS": "off"}
    with trace_context(GIVEN, "a=b"):
        pack.enqueue(42)
        enqueue_many([pack.bind(1)])
        with workflow("order") as wf:
            wf.add(bill, 1)
    assert recorder.spans == []
    contexts = {(job.payload.traceparent, job.payload.tracestate) for job in Job.objects.select_related("payload")}
    assert contexts == {(GIVEN, "a=b")}
    assert Job.objects.count() == 3


def test_a_set_up_that_comes_late_is_found() -> None:
    forget()
    pack.enqueue(1)
    assert Job.objects.get().payload.traceparent is None
    recorder = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "_TRACER_PROVIDER", recorder.provider)
        pack.enqueue(2)
    forget()
    assert len(recorder.named("send orders")) == 1


def test_an_sdk_that_is_disabled_makes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    recorder = Recorder()
    with opentelemetry_set_up(recorder.provider):
        pack.enqueue(1)
        # Nor is there anything to pay for.
        assert spans_in_use(conveyor_settings()) is None
    assert Job.objects.get().payload.traceparent is None


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"HOST": "db", "PORT": "5433"}, {"server.address": "db", "server.port": 5433}),
        ({"HOST": "db", "PORT": ""}, {"server.address": "db"}),
        # Of which host it would be nobody knows.
        ({"HOST": "", "PORT": "5433"}, {}),
        ({"HOST": "", "PORT": "", "OPTIONS": {"host": "/run"}}, {"server.address": "/run"}),
    ],
    ids=str,
)
def test_the_server_is_named_as_far_as_the_settings_do(
    monkeypatch: pytest.MonkeyPatch, place: dict[str, Any], said: dict[str, Any]
) -> None:
    monkeypatch.setitem(connections.settings, "there", {"OPTIONS": {}} | place)
    attributes = operation("send", "orders", "there")
    assert {name: value for name, value in attributes.items() if name.startswith("server.")} == said


# -- where they cannot be made ------------------------------------------------------------------------------


def test_an_opentelemetry_that_does_not_fit_is_asked_once_and_fails_no_enqueue(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = []

    def unfit() -> None:
        asked.append(1)
        raise ImportError("another version")

    forget()
    monkeypatch.setattr(switch._Switch, "find", staticmethod(unfit))
    pack.enqueue(1)
    pack.enqueue(2)
    assert (Job.objects.count(), len(asked)) == (2, 1)
    assert "another version" in caplog.text


class Broken(SpanProcessor):
    """A project's own, with a bug in one of its methods."""

    def __init__(self, place: str) -> None:
        self._place = place

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self._place == "on_start":
            raise RuntimeError("no start")

    def on_end(self, span: Any) -> None:
        if self._place == "on_end":
            raise RuntimeError("no end")


@pytest.mark.parametrize("place", ["on_start", "on_end"])
def test_an_error_of_tracing_fails_no_enqueue_and_is_logged_once(
    recorder: Recorder, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    recorder.add(Broken(place))
    with caplog.at_level(logging.ERROR, "conveyor"), trace_context(GIVEN):
        pack.enqueue(1)
        pack.enqueue(2)
        enqueue_many([pack.bind(3)])
    assert Job.objects.count() == 3
    assert caplog.text.count("spans.failed") == 1
    assert trace.get_current_span() is trace.INVALID_SPAN
    # The caller's context is better than none.
    assert {stored(job)[0] for job in Job.objects.all()} == {stored_ids(GIVEN)[0]}
