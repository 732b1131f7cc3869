"""enqueue_jobs: many jobs in one statement, each tied to its place, its payload and its key."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from django.db import DataError, IntegrityError, transaction

from conveyor_django.managers.jobs import Accepted
from conveyor_django.models import Job, Payload

from ..support.factories import new_job
from .conftest import NOW, Clock

pytestmark = pytest.mark.django_db


def enqueue(*keys: str | None) -> list[Accepted | None]:
    """Enqueue a job per key, its place as its argument."""
    return Job.objects.enqueue_jobs(
        [new_job(idempotency_key=key, args=f"[{place}]") for place, key in enumerate(keys)], now=NOW
    )


def test_each_place_has_its_own_row() -> None:
    jobs = [
        new_job(queue="b", task="t.b", priority=1, args="[1]", kwargs='{"n": 1}', max_attempts=1),
        new_job(queue="a", task="t.a", run_at=NOW + dt.timedelta(hours=1), args="[2]", idempotency_key="k"),
        new_job(queue="c", task="t.c", traceparent="00-a", tracestate="b=c", args="[3]"),
    ]
    accepted = Job.objects.enqueue_jobs(jobs, now=NOW)
    for place, given in enumerate(jobs):
        entry = accepted[place]
        assert entry is not None
        job = Job.objects.select_related("payload").get(pk=entry.id)
        assert (job.queue, job.task, job.priority, job.max_attempts, job.idempotency_key) == (
            given.queue, given.task, given.priority, given.max_attempts, given.idempotency_key,
        )  # fmt: skip
        assert job.payload.args == [place + 1]
        assert job.payload.kwargs == ({"n": 1} if place == 0 else {})
        assert (job.payload.traceparent, job.payload.tracestate) == (given.traceparent, given.tracestate)
        assert (job.run_at, job.created_at, entry.created_at) == (given.run_at or NOW, NOW, NOW)
        assert job.state == entry.state == ("scheduled" if place == 1 else "ready")
        assert (job.ready_seq is None) == (place == 1)


def test_without_now_the_database_s_clock_rules(clock: Clock) -> None:
    with clock() as window:
        Job.objects.enqueue_jobs([new_job()])
    assert Job.objects.get().created_at in window


@pytest.mark.parametrize("keys", [(None,) * 5, ("e", "d", "c", "b", "a"), ("b", None, "a", None, "c")])
def test_they_get_ready_in_the_order_given(keys: tuple[str | None, ...]) -> None:
    enqueue(*keys)
    by_age = Job.objects.select_related("payload").order_by("ready_seq")
    assert [job.payload.args for job in by_age] == [[place] for place in range(5)]


def test_they_get_ready_in_the_places_given() -> None:
    seqs = Job.objects.draw_ready_seqs(3)[::-1]
    jobs = [new_job(), new_job(run_at=NOW + dt.timedelta(hours=1)), new_job()]
    accepted = Job.objects.enqueue_jobs(jobs, ready_seqs=seqs, now=NOW)
    given = dict(Job.objects.values_list("id", "ready_seq"))
    assert [given[entry.id] for entry in accepted if entry is not None] == [seqs[0], None, seqs[2]]


ODD_TEXTS = [
    "",
    "NULL",
    "{}",
    "a,b",
    'say "x"',
    "back\\slash",
    "\\",
    '"',
    "{a}",
    " é\u2028 ",
    "tab\t\n",
    "'; --",
    "\U0001f600",
]


def test_texts_arrive_as_they_were_given() -> None:
    args = [json.dumps([text], ensure_ascii=False) for text in ODD_TEXTS]
    Job.objects.enqueue_jobs([new_job(task=text, args=arg) for text, arg in zip(ODD_TEXTS, args, strict=True)])
    # The keys with gaps, which is another way to write an array.
    Job.objects.enqueue_jobs(
        [job for text in ODD_TEXTS for job in (new_job(task=text, idempotency_key=f"{text}!"), new_job(task="none"))]
    )
    stored = Job.objects.select_related("payload").order_by("ready_seq")
    plain, keyed = stored.filter(idempotency_key=None).exclude(task="none"), stored.exclude(idempotency_key=None)
    assert [(job.task, job.payload.args) for job in plain] == [(text, [text]) for text in ODD_TEXTS]
    assert [(job.task, job.idempotency_key) for job in keyed] == [(text, f"{text}!") for text in ODD_TEXTS]


@pytest.mark.parametrize("others", [[], [None]])
def test_a_text_that_postgresql_cannot_store_moves_no_other(others: list[None]) -> None:
    # In an array that is written at once, a NUL must not become the end of an item.
    keys = ["a", "b\x00c", *others]
    with pytest.raises((ValueError, DataError)), transaction.atomic():
        enqueue(*keys)
    assert not Job.objects.exists()


def test_what_only_some_have_stays_with_them() -> None:
    jobs = [
        new_job(priority=3), new_job(kwargs='{"a": 1}'), new_job(concurrency_key="c"), new_job(max_attempts=9),
        new_job(run_at=NOW + dt.timedelta(hours=1)), new_job(),
    ]  # fmt: skip
    accepted = Job.objects.enqueue_jobs(jobs, now=NOW)
    rows = [Job.objects.select_related("payload").get(pk=entry.id) for entry in accepted if entry is not None]
    assert [row.priority for row in rows] == [3, 0, 0, 0, 0, 0]
    assert [row.payload.kwargs for row in rows] == [{}, {"a": 1}, {}, {}, {}, {}]
    assert [row.concurrency_key for row in rows] == [None, None, "c", None, None, None]
    assert [row.max_attempts for row in rows] == [5, 5, 5, 9, 5, 5]
    assert [row.state for row in rows] == ["ready", "ready", "ready", "ready", "scheduled", "ready"]


def test_taken_keys_are_answered_with_none() -> None:
    enqueue("a")
    accepted = enqueue("b", "a", None)
    assert [entry is None for entry in accepted] == [False, True, False]
    assert Payload.objects.count() == Job.objects.count() == 3


def test_the_first_of_two_same_keys_in_one_call_wins() -> None:
    accepted = enqueue("b", "a", "b", "a")
    assert [entry is None for entry in accepted] == [False, False, True, True]
    assert sorted(args for [args] in Payload.objects.values_list("args", flat=True)) == [0, 1]


def test_nothing_given_nothing_stored() -> None:
    assert Job.objects.enqueue_jobs([]) == []


def test_one_that_the_table_refuses_refuses_all() -> None:
    with pytest.raises(IntegrityError, match="conveyor_job_priority"), transaction.atomic():
        Job.objects.enqueue_jobs([new_job(), new_job(priority=101)])
    assert not Job.objects.exists()


def test_thousands_at_once() -> None:
    accepted = Job.objects.enqueue_jobs([new_job(idempotency_key=f"k{n}") for n in range(3000)])
    ids = [entry.id for entry in accepted if entry is not None]
    assert len(set(ids)) == Job.objects.count() == Payload.objects.count() == 3000
