"""P3: a retried enqueue with a key is harmless; the same key for other work is an error that names both."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction

from conveyor_django.compat import TaskResult, TaskResultStatus
from conveyor_django.db import Connection
from conveyor_django.errors import ConveyorError, IdempotencyConflict
from conveyor_django.models import Job

from ..support.barriers import at_once
from ..support.factories import JobFactory
from ..support.produce import anything, with_options
from ..support.waits import PATIENCE, wait_until_blocked

pytestmark = pytest.mark.django_db
# Both sides must see what the other has committed.
with_commits = pytest.mark.django_db(transaction=True)

keyed = anything.using(idempotency_key="k")


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ((1, "a"), (1, "a")),
        (((1, 2),), ([1, 2],)),
        ((b"a",), ("a",)),
        (({"a": 1, "b": 2},), ({"b": 2, "a": 1},)),
        ((1.0,), (1,)),
        ((1e23, 1.5e-7, 1e16), (1e23, 1.5e-7, 1e16)),
        ((2**80,), (2**80,)),
        (("é\u2028😀",), ("é\u2028😀",)),
    ],
    ids=ascii,
)
def test_the_same_call_gives_the_same_job(first: Any, again: Any) -> None:
    assert keyed.enqueue(*first).id == keyed.enqueue(*again).id
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (((1,), {}), ((2,), {})),
        (((1,), {}), ((True,), {})),
        (((0,), {}), ((False,), {})),
        (((1,), {}), (("1",), {})),
        (((None,), {}), ((), {})),
        (((), {"a": 1}), ((), {"b": 1})),
        (((1,), {}), ((), {"a": 1})),
        ((([1],), {}), (([[1]],), {})),
        ((("a",), {}), (("a ",), {})),
    ],
    ids=ascii,
)
def test_another_call_with_the_same_key_is_an_error(first: Any, again: Any) -> None:
    keyed.enqueue(*first[0], **first[1])
    with pytest.raises(IdempotencyConflict):
        keyed.enqueue(*again[0], **again[1])
    assert Job.objects.count() == 1


def test_the_error_names_both() -> None:
    result = keyed.enqueue(1, note="a")
    with pytest.raises(IdempotencyConflict) as caught:
        with_options.using(idempotency_key="k").enqueue(1, note="x" * 500)
    message = str(caught.value)
    assert "idempotency key 'k' of queue 'default'" in message
    assert f"job {result.id.removeprefix('default:')}, tests.support.produce.anything(1, note='a')" in message
    assert "tests.support.produce.with_options(1, note='xxx" in message
    assert len(message) < 500


def test_a_conflict_leaves_the_transaction_usable() -> None:
    with transaction.atomic():
        keyed.enqueue(1)
        with pytest.raises(IdempotencyConflict):
            keyed.enqueue(2)
        anything.enqueue(3)
    assert Job.objects.count() == 2


def test_a_key_belongs_to_its_queue() -> None:
    assert keyed.enqueue(1).id != keyed.using(queue_name="orders").enqueue(1).id


def test_options_of_the_enqueue_are_not_part_of_the_work() -> None:
    assert keyed.enqueue(1).id == keyed.using(priority=5, max_attempts=9).enqueue(1).id
    assert Job.objects.get().priority == 0


@pytest.mark.parametrize(
    ("trait", "status"),
    [
        ("scheduled", TaskResultStatus.READY),
        ("running", TaskResultStatus.RUNNING),
        ("succeeded", TaskResultStatus.SUCCESSFUL),
        ("failed", TaskResultStatus.FAILED),
        ("cancelled", TaskResultStatus.FAILED),
    ],
)
def test_the_job_comes_back_as_it_is_by_now(trait: str, status: TaskResultStatus) -> None:
    job = JobFactory(
        **{trait: True}, task=keyed.module_path, idempotency_key="k", payload__args=[1], payload__kwargs={}
    )
    result = keyed.enqueue(1)
    assert (result.id, result.status) == (f"default:{job.pk}", status)


def test_a_rollback_frees_the_key() -> None:
    with transaction.atomic():
        keyed.enqueue(1)
        transaction.set_rollback(True)
    keyed.enqueue(2)
    assert Job.objects.get().payload.args == [2]


def test_a_key_whose_payload_is_gone_is_an_error_not_a_loop() -> None:
    JobFactory(idempotency_key="k", payload=None)
    with pytest.raises(ConveyorError, match="vanished 5 times"):
        keyed.enqueue(1)


# -- races ------------------------------------------------------------------------------------------------


class Rival:
    """Another thread's enqueue, on Django's connection of that thread."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._pids: queue.Queue[int] = queue.Queue()

    def start(self, call: Callable[[], Any]) -> Future[Any]:
        """Start the call."""
        return self._pool.submit(self._run, call)

    def pid(self) -> int:
        """Return the server process that it uses."""
        return self._pids.get(timeout=PATIENCE)

    def _run(self, call: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            self._pids.put(connection.connection.info.backend_pid)
            return call()
        finally:
            connection.close()


@contextmanager
def rivals() -> Iterator[Callable[[], Rival]]:
    with ThreadPoolExecutor(thread_name_prefix="rival") as pool:
        yield lambda: Rival(pool)


@with_commits
@pytest.mark.parametrize("in_transaction", [False, True])
def test_the_second_waits_for_the_first_and_gets_its_job(watcher: Connection, in_transaction: bool) -> None:
    def enqueue() -> TaskResult[..., Any]:
        if not in_transaction:
            return keyed.enqueue(1)
        with transaction.atomic():
            return keyed.enqueue(1)

    with rivals() as rival:
        second = rival()
        with transaction.atomic():
            first = keyed.enqueue(1)
            answer = second.start(enqueue)
            wait_until_blocked(watcher, second.pid())
        assert answer.result(PATIENCE).id == first.id
    assert Job.objects.count() == 1


@with_commits
def test_the_second_waits_for_the_first_and_is_refused(watcher: Connection) -> None:
    with rivals() as rival:
        second = rival()
        with transaction.atomic():
            keyed.enqueue(1)
            answer = second.start(lambda: keyed.enqueue(2))
            wait_until_blocked(watcher, second.pid())
        with pytest.raises(IdempotencyConflict):
            answer.result(PATIENCE)
    assert Job.objects.get().payload.args == [1]


@with_commits
def test_the_second_takes_the_key_when_the_first_rolls_back(watcher: Connection) -> None:
    with rivals() as rival:
        second = rival()
        with transaction.atomic():
            keyed.enqueue(1)
            answer = second.start(lambda: keyed.enqueue(2))
            wait_until_blocked(watcher, second.pid())
            transaction.set_rollback(True)
        answer.result(PATIENCE)
    assert Job.objects.get().payload.args == [2]


@with_commits
def test_an_existing_job_is_not_locked() -> None:
    keyed.enqueue(1)
    with transaction.atomic():
        Job.objects.select_for_update().get()
        with ThreadPoolExecutor(thread_name_prefix="rival") as pool:
            # While this transaction holds the row.
            answer = Rival(pool).start(lambda: keyed.enqueue(1)).result(PATIENCE)
    assert answer.status == TaskResultStatus.READY


@with_commits
def test_many_at_once_make_one_job() -> None:
    def enqueue() -> str:
        try:
            return keyed.enqueue(1).id
        finally:
            connection.close()

    assert len(set(at_once(*[enqueue] * 8))) == 1
    assert Job.objects.count() == 1
