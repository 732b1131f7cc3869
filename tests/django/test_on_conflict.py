"""on_conflict: what becomes of an enqueue whose key is taken; the same for one and for many."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from conveyor_django import enqueue_many
from conveyor_django.compat import InvalidTask, TaskResult
from conveyor_django.errors import IdempotencyConflict
from conveyor_django.models import Job
from conveyor_django.tasks import Conflict

from ..support.factories import JobFactory
from ..support.produce import anything

pytestmark = pytest.mark.django_db

Enqueue = Callable[..., Any]  # of a TaskResult


@pytest.fixture(params=["one", "many"])
def enqueue(request: pytest.FixtureRequest) -> Enqueue:
    """Enqueue with the key "k", alone or among others."""

    def one(mode: Conflict | None, *args: Any, **using: Any) -> TaskResult[..., Any]:
        task = anything.using(idempotency_key="k", on_conflict=mode, **using)
        if request.param == "one":
            return task.enqueue(*args)
        return enqueue_many([anything.bind("before"), task.bind(*args), anything.bind("after")])[1]

    return one


def holder(key: str | None = "k") -> Job:
    return Job.objects.select_related("payload").get(idempotency_key=key)


@pytest.mark.parametrize("mode", [None, "keep", "error", "replace"])
def test_a_free_key_is_taken(enqueue: Enqueue, mode: Conflict | None) -> None:
    result = enqueue(mode, 1)
    assert result.id == f"default:{holder().pk}"
    assert holder().payload.args == [1]


@pytest.mark.parametrize("args", [1, 2])
def test_keep_gives_the_job_back_whatever_its_work(enqueue: Enqueue, args: int) -> None:
    first = enqueue(None, 1)
    again = enqueue("keep", args)
    assert (again.id, again.args) == (first.id, [1])


@pytest.mark.parametrize("args", [1, 2])
def test_error_raises_also_for_the_same_work(enqueue: Enqueue, args: int) -> None:
    enqueue(None, 1)
    before = Job.objects.count()
    with pytest.raises(IdempotencyConflict, match="key 'k' of queue 'default' already belongs to job") as caught:
        enqueue("error", args)
    fix = {
        1: "It is the same work: leave on_conflict out to get that job back.",
        2: "Use another key for another piece of work.",
    }
    assert str(caught.value).endswith(fix[args])
    assert Job.objects.count() == before


@pytest.mark.parametrize("waits", [{}, {"run_after": timezone.now() + dt.timedelta(hours=1)}], ids=["ready", "later"])
def test_replace_takes_the_place_of_a_job_that_waits(enqueue: Enqueue, waits: dict[str, Any]) -> None:
    first = enqueue(None, 1, **waits)
    second = enqueue("replace", 2)
    assert first.id != second.id == f"default:{holder().pk}"
    assert (holder().payload.args, holder().state) == ([2], "ready")
    old = Job.objects.select_related("payload").get(pk=int(first.id.partition(":")[2]))
    assert (old.state, old.idempotency_key, old.payload.args) == ("cancelled", None, [1])


@pytest.mark.parametrize("state", ["succeeded", "failed", "cancelled"])
def test_replace_takes_the_key_of_a_job_that_has_ended(enqueue: Enqueue, state: str) -> None:
    ended = JobFactory(**{state: True}, idempotency_key="k", task=anything.module_path)
    before = Job.objects.filter(pk=ended.pk).values().get()
    second = enqueue("replace", 2)
    assert second.id == f"default:{holder().pk}"
    assert Job.objects.filter(pk=ended.pk).values().get() == before | {"idempotency_key": None}


def test_replace_again_and_again_leaves_the_last(enqueue: Enqueue) -> None:
    for n in range(4):
        enqueue("replace", n)
    assert holder().payload.args == [3]
    assert Job.objects.filter(state="cancelled").count() == 3


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"running": True}, r"\(running\), .* A job that runs cannot be replaced: enqueue again when it has ended"),
        ({"workflow_id": 7}, r" of a workflow, .* Cancel the workflow, or use another key\."),
        ({"workflow_id": 7, "blocked": True}, " of a workflow, "),
    ],
    ids=str,
)
def test_replace_is_refused_where_others_count_on_the_job(enqueue: Enqueue, fields: dict[str, Any], says: str) -> None:
    job = JobFactory(**fields, idempotency_key="k", task=anything.module_path)
    with pytest.raises(IdempotencyConflict, match=f"already belongs to job {job.pk} ?{says}"):
        enqueue("replace", 2)
    before = job.state
    job.refresh_from_db()
    assert (job.state, job.idempotency_key, Job.objects.count()) == (before, "k", 1)


def test_a_rollback_brings_the_replaced_job_back(enqueue: Enqueue) -> None:
    enqueue(None, 1)
    with transaction.atomic():
        enqueue("replace", 2)
        transaction.set_rollback(True)
    assert (holder().payload.args, holder().state) == ([1], "ready")


def test_many_that_fail_leave_the_job_that_they_would_have_replaced() -> None:
    anything.using(idempotency_key="k").enqueue(1)
    JobFactory(running=True, idempotency_key="l", task=anything.module_path)
    with pytest.raises(IdempotencyConflict, match=r"^calls\[1\]: "):
        enqueue_many(anything.using(idempotency_key=key, on_conflict="replace").bind(2) for key in "kl")
    assert (holder().payload.args, Job.objects.count()) == ([1], 2)


def test_the_last_of_many_that_replace_answers_for_all() -> None:
    first = anything.using(idempotency_key="k").enqueue(0)
    replacing = anything.using(idempotency_key="k", on_conflict="replace")
    results = enqueue_many([replacing.bind(1), replacing.bind(2)])
    assert len({first.id, *(result.id for result in results)}) == 2
    assert [result.args for result in results] == [[2], [2]]
    assert Job.objects.count() == 2


def test_each_of_many_has_its_own_mode() -> None:
    for key in "abcd":
        anything.using(idempotency_key=key).enqueue(1)
    results = enqueue_many([
        anything.using(idempotency_key="a").bind(1), anything.using(idempotency_key="b", on_conflict="keep").bind(2),
        anything.using(idempotency_key="c", on_conflict="replace").bind(3), anything.using(idempotency_key="d").bind(1),
    ])  # fmt: skip
    assert [result.args for result in results] == [[1], [1], [3], [1]]
    assert Job.objects.filter(state="ready").count() == 4


def test_error_within_one_batch_names_the_second() -> None:
    once = anything.using(idempotency_key="k", on_conflict="error")
    with pytest.raises(IdempotencyConflict, match=r"^calls\[1\]: "):
        enqueue_many([once.bind(1), once.bind(1)])


def test_without_a_key_it_says_nothing() -> None:
    with pytest.raises(InvalidTask, match="on_conflict='keep' says nothing without an idempotency_key"):
        anything.using(on_conflict="keep")


@pytest.mark.parametrize("value", ["update", 5, True, b"keep"])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(InvalidTask, match=r"on_conflict must be one of 'keep', 'error', 'replace', not "):
        anything.using(idempotency_key="k", on_conflict=value)
