"""What is below a run: steps, effects, the handler's own spans, the members of a group; and nothing is left of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import transaction
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.trace import StatusCode

from conveyor_django import ConveyorContext
from conveyor_django.models import Job
from conveyor_django.outcomes import Answer
from conveyor_django.spans.guard import guarded
from conveyor_django.spans.otel import RunSpan
from conveyor_django.testing import drain
from conveyor_django.worker.interrupt import Interrupted
from conveyor_django.worker.report import report

from ..effects.conftest import Effects
from ..effects.test_groups import execute, rescue_one
from ..support.bench import Bench, scripted, scripted_async, scripted_atomic
from ..support.flows import value
from ..support.groups import Crew, calls, commits, scripts
from .recorder import Recorder, ids_of, links_of, parent_of
from .running import boards, complete
from .test_enqueue import Broken

pytestmark = pytest.mark.django_db(transaction=True)


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


def test_a_step_whose_error_cannot_be_told_has_failed_with_that_error_all_the_same(
    bench: Bench, recorder: Recorder
) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise SystemExit

    def raises() -> None:
        raise Mute

    scripted.enqueue()
    complete(bench, lambda context: context.step("one", raises))
    for span in (recorder.one("step one"), recorder.one("process default")):
        assert span.attributes["error.type"].endswith("Mute")
    assert recorder.one("step one").status.description == "(its __str__ raised SystemExit)"


def test_what_is_in_the_context_of_its_thread_is_not_the_run_s(bench: Bench, recorder: Recorder) -> None:
    seen = []
    scripted.enqueue()
    token = otel_context.attach(baggage.set_baggage("of", "another"))
    try:
        complete(bench, lambda _: seen.append(baggage.get_all()))
    finally:
        otel_context.detach(token)
    assert seen == [{}]


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


def test_nothing_of_a_run_is_left_for_the_next_one_in_its_thread(
    recorder: Recorder, one: Crew, caplog: pytest.LogCaptureFixture
) -> None:
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
    # It complains of a context that is left twice.
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


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


def test_an_error_of_tracing_that_cannot_be_told_is_named(caplog: pytest.LogCaptureFixture) -> None:
    class Mute(Exception):
        def __repr__(self) -> str:
            raise RuntimeError("no word")

    @guarded
    def broken() -> int:
        raise Mute

    assert broken() is None
    assert "error=" in caplog.text
    assert "Mute" in caplog.text


def test_drain_ends_spans_too(bench: Bench, recorder: Recorder) -> None:
    value.enqueue(5)
    drain()
    assert recorder.one("process default").attributes["conveyor.outcome"] == "succeed"
