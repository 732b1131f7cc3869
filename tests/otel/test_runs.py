"""The span of a run: whose child it is and whose link it has, and what it says of the end."""

from __future__ import annotations

import logging
import uuid

import pytest
from opentelemetry.trace import SpanKind, StatusCode
from pytest_django import Settings

from conveyor_django import Cancel, ConveyorContext, Retry, Snooze
from conveyor_django.conf import conveyor_settings
from conveyor_django.errors import LeaseLost
from conveyor_django.models import Job
from conveyor_django.outcomes import Answer
from conveyor_django.worker.decide import given_back
from conveyor_django.worker.handler import Handlers
from conveyor_django.worker.runs import Finished

from ..support.bench import A, Bench, delete_jobs, scripted
from ..support.connections import Connect
from ..support.pumps import Bench as PumpBench
from ..support.waits import wait_until
from .recorder import Recorder, ids_of, links_of, parent_of
from .running import call, complete, settled

pytestmark = pytest.mark.django_db(transaction=True)


def test_it_is_a_trace_of_its_own_with_a_link_to_the_enqueue(bench: Bench, recorder: Recorder) -> None:
    with recorder.tracer.start_as_current_span("request"):
        result = scripted.enqueue()
        # Whatever is current in the thread that runs it.
        complete(bench, lambda _: "done")
    span, send = recorder.one("process default"), recorder.one("send default")
    assert span.kind is SpanKind.CONSUMER
    assert parent_of(span) is None
    assert links_of(span) == [ids_of(send)]
    assert ids_of(span)[0] != ids_of(send)[0]
    assert span.status.status_code is StatusCode.UNSET
    attributes = {name: value for name, value in (span.attributes or {}).items() if not name.startswith("server.")}
    assert attributes == {
        "messaging.system": "conveyor",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "default",
        "messaging.message.id": result.id,
        "messaging.client.id": str(A),
        "conveyor.task": scripted.module_path,
        "conveyor.database": "default",
        "conveyor.attempt": 1,
        "conveyor.max_attempts": 9,
        "conveyor.lost_count": 0,
        "conveyor.fencing_token": 1,
        "conveyor.outcome": "succeed",
        "conveyor.answer": "won",
    }


def test_it_is_the_enqueues_child_where_a_setting_says_so(
    recorder: Recorder, settings: Settings, connect: Connect
) -> None:
    settings.CONVEYOR = {"SPANS": "child"}
    bench = Bench(connect())
    with recorder.tracer.start_as_current_span("request"):
        scripted.enqueue()
        complete(bench, lambda _: None)
    delete_jobs(bench.connection)
    span, send = recorder.one("process default"), recorder.one("send default")
    assert parent_of(span) == ids_of(send)
    assert links_of(span) == [ids_of(send)]


def test_a_job_without_a_context_has_a_run_without_a_link(bench: Bench, recorder: Recorder) -> None:
    scripted.enqueue()
    payload = Job.objects.get().payload
    payload.traceparent = "<script>"
    payload.save(update_fields=["traceparent"])
    complete(bench, lambda _: None)
    assert recorder.one("process default").links == ()


# -- how it ended -------------------------------------------------------------------------------------------


def test_a_failed_attempt_is_an_error_with_its_exception_and_the_retry_is_noted(
    bench: Bench, recorder: Recorder
) -> None:
    scripted.enqueue()
    complete(bench, lambda _: {}["missing"])
    complete(bench, lambda _: None)
    first, second = recorder.named("process default")
    assert first.status.status_code is StatusCode.ERROR
    assert first.status.description == "'missing'"
    assert first.attributes["error.type"] == "KeyError"
    assert (first.attributes["conveyor.outcome"], first.attributes["conveyor.retry.delay_seconds"]) == ("retry", 0)
    [event] = first.events
    assert (event.name, event.attributes["exception.type"]) == ("exception", "KeyError")
    assert "KeyError: 'missing'" in event.attributes["exception.stacktrace"]
    assert [span.attributes["conveyor.attempt"] for span in (first, second)] == [1, 2]
    assert [span.attributes["conveyor.fencing_token"] for span in (first, second)] == [1, 2]
    assert links_of(first) == links_of(second) == [ids_of(recorder.one("send default"))]
    assert ids_of(first)[0] != ids_of(second)[0]


@pytest.mark.parametrize(("end", "verb"), [(Snooze(5), "snooze"), (Cancel("gone"), "cancel")], ids=repr)
def test_a_handlers_own_word_is_no_error(bench: Bench, recorder: Recorder, end: BaseException, verb: str) -> None:
    scripted.enqueue()

    def ends(context: ConveyorContext) -> None:
        context.step("one", lambda: (_ for _ in ()).throw(end))

    complete(bench, ends)
    span = recorder.one("process default")
    assert (span.attributes["conveyor.outcome"], span.status.status_code) == (verb, StatusCode.UNSET)
    assert recorder.one("step one").status.status_code is StatusCode.UNSET
    # It is told why a job was cancelled; to be put off is nothing to tell.
    assert [event.name for event in span.events] == (["exception"] if verb == "cancel" else [])


def test_a_retry_that_the_handler_asks_for_is_a_failed_attempt(bench: Bench, recorder: Recorder) -> None:
    scripted.enqueue()
    complete(bench, lambda _: Retry(in_=7))
    span = recorder.one("process default")
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["conveyor.retry.delay_seconds"] == 7


def test_a_lease_that_was_lost_is_said(bench: Bench, recorder: Recorder) -> None:
    scripted.enqueue()

    def loses(context: ConveyorContext) -> None:
        bench.take_over()
        with context.effect():
            """The fence refuses its end."""

    assert complete(bench, loses) is Answer.LOST
    span, effect = recorder.one("process default"), recorder.one("effect")
    assert span.attributes["conveyor.lease_lost"] is True
    assert (span.attributes["conveyor.outcome"], span.attributes["conveyor.answer"]) == ("release", "lost")
    for each in (span, effect):
        assert each.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == "LeaseLost"
    assert effect.attributes["error.type"] == f"{LeaseLost.__module__}.LeaseLost"


def test_an_outcome_that_is_refused_as_stale_is_said(bench: Bench, recorder: Recorder) -> None:
    scripted.enqueue()
    finished = bench.run(lambda _: bench.take_over() and "too late")
    assert settled(bench, finished) is Answer.LOST
    span = recorder.one("process default")
    assert (span.attributes["conveyor.outcome"], span.attributes["conveyor.answer"]) == ("succeed", "lost")
    assert span.attributes["conveyor.lease_lost"] is True
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "LeaseLost")


def test_a_lease_that_could_not_be_kept_in_time_is_said(bench: Bench, recorder: Recorder) -> None:
    scripted.enqueue()
    finished = bench.run(lambda _: None)
    assert finished.run is not None
    finished.held.lapsed_at = 1.0
    late = Finished(finished.held, given_back(finished.held.claimed, "the lease could not be kept"), finished.run)
    assert settled(bench, late) is Answer.WON
    span = recorder.one("process default")
    assert (span.attributes["conveyor.lease_lost"], span.attributes["error.type"]) == (True, "LeaseLost")


def test_a_run_that_is_given_back_is_a_failed_attempt_and_no_lost_lease(bench: Bench, recorder: Recorder) -> None:
    scripted.enqueue()
    finished = bench.run(lambda _: None)
    back = Finished(finished.held, given_back(finished.held.claimed, "its worker stops"), finished.run)
    assert settled(bench, back) is Answer.WON
    span = recorder.one("process default")
    assert (span.attributes["conveyor.outcome"], span.status.status_code) == ("release", StatusCode.ERROR)
    assert span.status.description == "its worker stops"
    assert "conveyor.lease_lost" not in span.attributes


def test_it_lasts_as_long_as_the_handler_whenever_its_outcome_is_written(bench: Bench, recorder: Recorder) -> None:
    scripted.enqueue()
    finished = bench.run(lambda _: None)
    with recorder.tracer.start_as_current_span("meanwhile"):
        settled(bench, finished)
    assert recorder.one("process default").end_time <= recorder.one("meanwhile").start_time


def test_a_run_whose_job_was_given_back_meanwhile_is_not_lost(recorder: Recorder) -> None:
    """Its process stops, and has given it back; then the handler ends."""
    pumping = PumpBench(uuid.uuid4())
    scripted.enqueue()
    pumping.pump.start()
    [held] = pumping.wait_held(1)
    pumping.pump.quit_claiming()
    pumping.pump.give_back("its worker stopped")
    wait_until(lambda: not len(pumping.inflight), "it is given back")
    handlers = Handlers(owner=pumping.owner, alias="default", settings=conveyor_settings())
    pumping.pump.done(call(handlers, held, lambda _: "late"))
    wait_until(lambda: bool(recorder.named("process default")), "its span has ended")
    pumping.stop()
    assert pumping.errors == []
    span = recorder.one("process default")
    assert (span.attributes["conveyor.outcome"], span.attributes["conveyor.answer"]) == ("succeed", "given back")


def test_its_log_lines_carry_its_ids(bench: Bench, recorder: Recorder, caplog: pytest.LogCaptureFixture) -> None:
    scripted.enqueue()
    with caplog.at_level(logging.WARNING, "conveyor"):
        complete(bench, lambda _: 1 / 0)
    trace_id, span_id = ids_of(recorder.one("process default"))
    assert f"trace_id={trace_id} span_id={span_id}" in caplog.text
