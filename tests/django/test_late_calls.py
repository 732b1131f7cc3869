"""Many calls at once: each is prepared while the server stores others, and nobody can tell by what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction

from conveyor_django import bulk, enqueue_many, store
from conveyor_django.calls import Call
from conveyor_django.conflicts import Entry
from conveyor_django.errors import IdempotencyConflict, InvalidArguments
from conveyor_django.models import Job, Payload
from conveyor_django.tracecontext import trace_context

from ..support.produce import anything

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 40
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture(autouse=True)
def small_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "CHUNK", 10)


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Note which call is prepared, by its place, and whether the connection has a transaction open by then."""
    seen: list[tuple[str, bool]] = []
    ours = bulk.prepared

    def noted(task: Any, args: Any, kwargs: Any, place: str, settings: Any) -> Entry:
        seen.append((place, connection.in_atomic_block))
        return ours(task, args, kwargs, place, settings)

    monkeypatch.setattr(bulk, "prepared", noted)
    return seen


def key_of(n: int) -> str:
    """Return a key; they are in another order than the numbers."""
    return f"k{(n * 7) % COUNT:02}"


def calls(bad: tuple[int, ...] = ()) -> list[Call[..., Any]]:
    return [anything.using(idempotency_key=key_of(n)).bind(float("nan") if n in bad else n) for n in range(COUNT)]


def stored() -> list[Any]:
    """Return the arguments of the jobs, in the order in which they stand in line."""
    return [job.payload.args for job in Job.objects.select_related("payload").order_by("ready_seq")]


def test_they_are_prepared_late_in_the_order_of_their_keys_and_stand_in_that_given(
    prepared: list[tuple[str, bool]],
) -> None:
    results = enqueue_many(calls())
    assert prepared == [(f"calls[{n}]", True) for n in sorted(range(COUNT), key=key_of)]
    assert stored() == [[n] for n in range(COUNT)] == [result.args for result in results]
    ids = {result.id: job.payload.args for result in results for job in Job.objects.filter(pk=result.id.split(":")[1])}
    assert ids == {result.id: result.args for result in results}


def test_few_are_prepared_before_anything_begins(prepared: list[tuple[str, bool]]) -> None:
    enqueue_many(calls()[:10])
    assert prepared == [(f"calls[{n}]", False) for n in range(10)]


def test_of_several_that_are_refused_the_first_given_is_told_and_nothing_stored() -> None:
    first, by_key = 17, min((17, 23, 35), key=key_of)
    assert first != by_key
    with transaction.atomic():
        anything.enqueue("before")
        with pytest.raises(InvalidArguments, match=r"^calls\[17\]: .*nan"):
            enqueue_many(calls(bad=(17, 23, 35)))
        anything.enqueue("after")
    assert stored() == [["before"], ["after"]]


def test_a_key_that_is_taken_is_settled() -> None:
    [old] = enqueue_many([anything.using(idempotency_key=key_of(5)).bind(5)])
    results = enqueue_many(calls())
    assert results[5].id == old.id
    assert stored() == [[5], *([n] for n in range(COUNT) if n != 5)]


def test_a_conflict_stores_nothing() -> None:
    enqueue_many([anything.using(idempotency_key=key_of(5)).bind("other work")])
    with pytest.raises(IdempotencyConflict, match=r"^calls\[5\]"):
        enqueue_many(calls())
    assert stored() == [["other work"]]


def test_one_that_replaces_is_replaced_by_the_last_of_its_key() -> None:
    replacing = anything.using(idempotency_key=key_of(5), on_conflict="replace")
    given = calls()
    given[5] = replacing.bind("never stored")
    results = enqueue_many([*given, replacing.bind("instead")])
    assert results[5].id == results[-1].id
    assert ["instead"] in stored()
    assert Job.objects.count() == COUNT


def test_a_concurrency_key_that_asks_the_database_is_asked_before(prepared: list[tuple[str, bool]]) -> None:
    def counted(n: int) -> str:
        return f"{Job.objects.count()}-{n}"

    task = replace(anything, concurrency_key=counted)
    enqueue_many([task.bind(n) for n in range(COUNT)])
    assert prepared == [(f"calls[{n}]", False) for n in range(COUNT)]
    assert Job.objects.filter(concurrency_key__startswith="0-").count() == COUNT


class Counted(Sequence[int]):
    """Asks the database for what is in it, as a page of a query does."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, place: Any) -> Any:
        return [Job.objects.count()][place]


@pytest.mark.parametrize("nest", [lambda value: value, lambda value: [{"page": value}]], ids=["plain", "nested"])
def test_an_argument_that_asks_the_database_is_asked_before(
    prepared: list[tuple[str, bool]], nest: Callable[[Any], Any]
) -> None:
    enqueue_many([anything.bind(nest(Counted()) if n == 30 else n) for n in range(COUNT)])
    assert prepared == [(f"calls[{n}]", False) for n in range(COUNT)]
    assert stored()[30] == [nest([0])]


def test_all_store_the_trace_context_that_is_open() -> None:
    with trace_context(TRACEPARENT):
        enqueue_many(calls())
    assert set(Payload.objects.values_list("traceparent", flat=True)) == {TRACEPARENT}
