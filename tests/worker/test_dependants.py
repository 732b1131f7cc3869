"""The pump and workflows: what an end releases runs at once, without a scheduler, a poll or a notification."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import psycopg
import pytest

from conveyor_django import workflow
from conveyor_django.models import Job, Workflow
from conveyor_django.outcomes import Claimed, Committed
from conveyor_django.worker import dependants
from conveyor_django.worker.dependants import release_dependants
from conveyor_django.worker.handler import Finished
from tests.support import flows
from tests.support.connections import Connect
from tests.support.waits import wait_until
from tests.support.workflows import assert_nothing_stuck

from .test_pump import Bench

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(uuid.uuid4())
    yield made
    made.stop()
    assert made.errors == []
    assert_nothing_stuck()


def test_a_dependant_and_then_the_callback_run_at_once(bench: Bench) -> None:
    with workflow("w", on_success=flows.value) as wf:
        first = wf.add(flows.value)
        second = wf.add(flows.value, after=first)
    bench.pump.start()
    order = []
    for count in (1, 2, 3):
        held = bench.wait_held(count)[-1]
        order.append(held.claimed.id)
        bench.succeed(held)
    wait_until(lambda: Job.objects.filter(state="succeeded").count() == 3, "the callback has ended")
    assert order[:2] == [first.id, second.id]
    assert Workflow.objects.get().finished_at is not None


def test_after_an_atomic_handler_s_own_commit(bench: Bench) -> None:
    """Its transaction has released the dependant; the pump hears of it with the outcome."""
    with workflow("w") as wf:
        first = wf.add(flows.value)
        second = wf.add(flows.value, after=first)
    bench.pump.start()
    [held] = bench.wait_held(1)
    outcome = Committed(id=first.id, version=held.claimed.version)
    Job.objects.succeed_jobs([outcome], owner=bench.owner)
    bench.pump.done(Finished(held, outcome))
    released = bench.wait_held(2)[1]
    assert released.claimed.id == second.id
    bench.succeed(released)


def test_what_was_locked_at_the_end_is_left_to_the_sweep(bench: Bench, connect: Connect) -> None:
    """Neither the outcome nor the look behind it waits for the row."""
    with workflow("w") as wf:
        first = wf.add(flows.value)
        child = wf.add(flows.value, after=first)
    bench.pump.start()
    [held] = bench.wait_held(1)
    somebody = connect()
    with somebody.transaction():
        somebody.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (child.id,))
        bench.succeed(held)
        wait_until(lambda: len(bench.inflight) == 0, "the outcome is settled")
        turns = bench.board.counters()["pulse"]
        wait_until(lambda: bench.board.counters()["pulse"] > turns, "the look behind it is over")
    assert Job.objects.get(pk=child.id).state == "blocked"
    assert_nothing_stuck()
    bench.pump.ring("default")
    bench.succeed(bench.wait_held(2)[1])


def claimed(workflow_id: int | None) -> Claimed:
    return Claimed(
        id=1, version=1, queue="q", task="t", args="[]", kwargs="{}", attempt=1, max_attempts=1, lost_count=0,
        release_count=0, lease_seconds=30.0, created_at=None, workflow_id=workflow_id,  # type: ignore[arg-type]
    )  # fmt: skip


def test_jobs_of_no_workflow_cost_nothing(connect: Connect) -> None:
    closed = connect()
    closed.close()
    assert release_dependants([claimed(None)], alias="default", on=closed) == set()


def test_an_error_is_logged_and_left_to_the_sweep(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connection = connect()

    def broken(**_: object) -> set[str]:
        raise psycopg.errors.UndefinedFunction("no such function")

    monkeypatch.setattr(dependants, "follow_up", broken)
    assert release_dependants([claimed(7)], alias="default", on=connection) == set()
    assert "workflows.release_failed workflows=7" in caplog.text
    connection.close()
    with pytest.raises(psycopg.Error):
        release_dependants([claimed(7)], alias="default", on=connection)
