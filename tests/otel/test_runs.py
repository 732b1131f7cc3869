"""The span of a run: whose child it is and whose link it has, what it says of the end, and what is below it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode
from pytest_django import Settings

from conveyor_django import Cancel, ConveyorContext, Retry, Snooze
from conveyor_django.conf import conveyor_settings
from conveyor_django.errors import LeaseLost
from conveyor_django.models import Job
from conveyor_django.outcomes import Answer
from conveyor_django.spans.otel import RunSpan
from conveyor_django.testing import drain
from conveyor_django.worker.board import Board
from conveyor_django.worker.decide import given_back
from conveyor_django.worker.handler import Handlers
from conveyor_django.worker.inflight import Held
from conveyor_django.worker.interrupt import Interrupted
from conveyor_django.worker.report import report
from conveyor_django.worker.runs import Finished

from ..effects.conftest import Effects
from ..effects.test_groups import execute, rescue_one
from ..support import bench as support
from ..support.bench import A, Bench, delete_jobs, scripted, scripted_async, scripted_atomic
from ..support.connections import Connect
from ..support.flows import value
from ..support.groups import Crew, calls, commits, scripts
from ..support.pumps import Bench as PumpBench
from ..support.waits import wait_until
from .recorder import Recorder, ids_of, links_of, parent_of
from .test_enqueue import Broken

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def board() -> Iterator[Board]:
    """Where ends are counted."""
    made, file = Board.create(32)
    boards.append(made)
    yield made
    boards.clear()
    file.close()


boards: list[Board] = []


def settled(bench: Bench, finished: Finished) -> Answer:
    """Write the outcome and report it, as the pump does."""
    answer = bench.finish(finished)
    report(finished, answer, boards[-1])
    return answer


def call(handlers: Handlers, held: Held, does: Callable[[ConveyorContext], Any]) -> Finished:
    """Let the handler of a held job do that."""
    support.script = does
    return handlers.call(handlers.prepare(held))


def complete(bench: Bench, does: Callable[[ConveyorContext], Any]) -> Answer:
    """Run the one ready job, write its outcome and report it."""
    return settled(bench, bench.run(does))


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


# -- what is below it ---------------------------------------------------------------------------------------


def test_steps_and_effects_are_its_children_and_the_handlers_spans_are_where_they_belong(
    bench: Bench, recorder: Recorder
) -> None:
    scripted.enqueue()
    seen = []

    def works(context: ConveyorContext) -> None:
        with recorder.tracer.start_as_current_span("work"):
            context.step("capture-17", lambda: seen.append(trace.get_current_span()))
        context.atomic_step("mark", lambda: None)
        with context.effect() as effect, recorder.tracer.start_as_current_span("inside"):
            effect.result = 1
        with recorder.tracer.start_as_current_span("after"):
            """Still the run's."""

    complete(bench, works)
    run = ids_of(recorder.one("process default"))
    assert [parent_of(recorder.one(name)) for name in ("work", "atomic_step mark", "effect", "after")] == [run] * 4
    step = recorder.one("step capture-*")
    assert step.attributes["conveyor.step"] == "capture-17"
    assert parent_of(step) == ids_of(recorder.one("work"))
    assert ids_of(seen[0]) == ids_of(step)
    assert parent_of(recorder.one("inside")) == ids_of(recorder.one("effect"))
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_step_that_is_remembered_says_so_and_one_that_fails_too(bench: Bench, recorder: Recorder) -> None:
    scripted.enqueue()

    def fails(context: ConveyorContext) -> None:
        context.step("one", lambda: 1)
        context.step("two", lambda: 1 / 0)

    complete(bench, fails)
    complete(bench, lambda context: context.step("one", lambda: 2))
    first, second = recorder.named("step one")
    assert "conveyor.step.remembered" not in first.attributes
    assert second.attributes["conveyor.step.remembered"] is True
    failed = recorder.one("step two")
    assert (failed.status.status_code, failed.attributes["error.type"]) == (StatusCode.ERROR, "ZeroDivisionError")


def test_a_misused_step_is_an_error_of_the_handlers_alone(
    bench: Bench, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    scripted.enqueue()
    complete(bench, lambda context: context.step(5, lambda: None))  # type: ignore[arg-type]
    assert recorder.one("step").status.status_code is StatusCode.ERROR
    assert "spans.failed" not in caplog.text


def test_an_async_handlers_spans_are_below_its_run_in_its_tasks_and_threads_too(
    bench: Bench, recorder: Recorder
) -> None:
    scripted_async.enqueue()

    def spanned(name: str) -> None:
        with recorder.tracer.start_as_current_span(name):
            """A moment's work."""

    async def in_a_task(name: str) -> None:
        spanned(name)

    async def works(context: ConveyorContext) -> None:
        await asyncio.gather(in_a_task("one"), in_a_task("two"))
        await sync_to_async(spanned)("thread")
        await context.astep("first", in_a_task, "in step")
        await context.aatomic_step("second", spanned, "in atomic step")

    complete(bench, works)
    run = ids_of(recorder.one("process default"))
    names = ("one", "two", "thread", "step first", "atomic_step second")
    assert [parent_of(recorder.one(name)) for name in names] == [run] * 5
    assert parent_of(recorder.one("in step")) == ids_of(recorder.one("step first"))
    assert parent_of(recorder.one("in atomic step")) == ids_of(recorder.one("atomic_step second"))


def test_an_atomic_handlers_hooks_are_within_its_run(bench: Bench, recorder: Recorder) -> None:
    scripted_atomic.enqueue()
    complete(bench, lambda _: transaction.on_commit(scripted.enqueue))
    assert parent_of(recorder.named("send default")[1]) == ids_of(recorder.one("process default"))


def test_what_a_job_enqueues_goes_on_in_its_trace(bench: Bench, recorder: Recorder) -> None:
    scripted.enqueue()
    complete(bench, lambda _: scripted.enqueue().id)
    complete(bench, lambda _: None)
    first, second = recorder.named("process default")
    sent = recorder.named("send default")[1]
    assert parent_of(sent) == ids_of(first)
    assert links_of(second) == [ids_of(sent)]


# -- many in one thread -------------------------------------------------------------------------------------


def test_nothing_of_a_run_is_left_for_the_next_one_in_its_thread(recorder: Recorder, one: Crew) -> None:
    seen = []

    def leaves_a_span_current() -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)
        otel_context.attach(trace.set_span_in_context(recorder.tracer.start_span("left")))

    def looks() -> None:
        seen.append(trace.get_current_span().get_span_context().span_id)

    scripts["a"], scripts["b"] = leaves_a_span_current, looks
    one.run_all("a")
    after: list[Any] = []
    one.executor._inbox.put(lambda: after.append(trace.get_current_span()))
    one.run_all("b")
    assert after == [trace.INVALID_SPAN]
    assert len(set(seen)) == 2


def test_an_interrupt_on_the_way_out_of_a_run_leaves_nothing_either(
    recorder: Recorder, one: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_span: object, *_error: object) -> None:
        monkeypatch.undo()
        raise Interrupted

    monkeypatch.setattr(RunSpan, "__exit__", interrupted)
    one.run_all("a")
    after: list[Any] = []
    one.executor._inbox.put(lambda: after.append(trace.get_current_span()))
    one.run_all("b")
    assert after == [trace.INVALID_SPAN]


def test_each_member_of_a_group_has_a_span_of_its_own(recorder: Recorder, one: Crew, effects: Effects) -> None:
    def hook() -> None:
        with recorder.tracer.start_as_current_span("hook"):
            """After the commit of all."""

    scripts["a"] = lambda: transaction.on_commit(hook)
    scripts["b"] = lambda: 1 / 0
    held = one.run("a", "b", "c")
    ends = one.finish(held)
    for end in ends.values():
        report(end, Answer.WON, boards[-1])
    assert commits() == [{"first"}, {"a", "c"}]
    spans = {span.attributes["messaging.message.id"]: span for span in recorder.named("process default")}
    by_name = {name: spans[f"default:{job.claimed.id}"] for name, job in held.items()}
    assert {name: span.attributes["conveyor.outcome"] for name, span in by_name.items()} == {
        "a": "succeed", "b": "retry", "c": "succeed",
    }  # fmt: skip
    assert by_name["b"].status.status_code is StatusCode.ERROR
    assert parent_of(recorder.one("hook")) == ids_of(by_name["a"])
    assert {parent_of(span) for span in by_name.values()} == {None}
    assert len({ids_of(span)[0] for span in by_name.values()}) == 3


def test_a_run_that_is_undone_with_its_group_says_so_and_is_made_again(
    recorder: Recorder, one: Crew, effects: Effects
) -> None:
    def lose() -> None:
        if calls["b"] == 1:
            rescue_one(one, "a")

    scripts["b"] = lose
    for end in one.run_all("a", "b").values():
        report(end, Answer.WON, boards[-1])
    spans = recorder.named("process default")
    outcomes = [span.attributes["conveyor.outcome"] for span in spans]
    assert outcomes == ["undone", "release", "succeed"]
    assert [span.attributes.get("conveyor.lease_lost", False) for span in spans] == [False, True, False]


def test_one_that_must_be_alone_says_so_too(recorder: Recorder, one: Crew, effects: Effects) -> None:
    scripts["a"] = lambda: execute("SET LOCAL work_mem = '3MB'")
    for end in one.run_all("a", "b").values():
        report(end, Answer.WON, boards[-1])
    outcomes = sorted(span.attributes["conveyor.outcome"] for span in recorder.named("process default"))
    assert outcomes == ["succeed", "succeed", "undone"]


# -- where spans cannot be made ------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["on_start", "on_end"])
def test_an_error_of_tracing_fails_no_run_and_is_logged_once_for_each_place(
    bench: Bench, recorder: Recorder, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    recorder.add(Broken(place))
    scripted.enqueue()
    scripted.enqueue()

    def works(context: ConveyorContext) -> int:
        with context.effect() as effect:
            effect.result = context.job_id
        return context.job_id

    for _ in range(2):
        assert complete(bench, lambda context: context.step("one", lambda: None) or works(context)) is Answer.WON
    assert {job.state for job in Job.objects.all()} == {"succeeded"}
    failed = [record for record in caplog.records if "spans.failed" in record.getMessage()]
    assert len(failed) == 3  # An enqueue's, a run's, a part's.
    assert all(record.exc_info for record in failed)


def test_drain_ends_spans_too(bench: Bench, recorder: Recorder) -> None:
    value.enqueue(5)
    drain()
    assert recorder.one("process default").attributes["conveyor.outcome"] == "succeed"
