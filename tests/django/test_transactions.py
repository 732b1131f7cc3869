"""P4: an enqueue is part of the caller's transaction on the queue's database, or is refused."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from django.db import ProgrammingError, connections, transaction
from pytest_django import Settings

from conveyor_django.enqueue import open_transactions
from conveyor_django.errors import ForeignTransaction, InvalidArguments
from conveyor_django.models import Job

from ..support.produce import anything, plain_add, with_options

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_rollback_takes_the_job_with_it() -> None:
    with transaction.atomic():
        plain_add.enqueue(1)
        transaction.set_rollback(True)
    assert not Job.objects.exists()


@pytest.mark.parametrize("in_transaction", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_without_the_tables_the_error_says_migrate(in_transaction: bool, many: bool) -> None:
    connection = connections["default"]
    with connection.cursor() as cursor:
        cursor.execute("SET search_path TO nowhere")
    try:
        with pytest.raises(ProgrammingError) as caught, transaction.atomic() if in_transaction else nullcontext():
            plain_add.enqueue_many([(1,)]) if many else plain_add.enqueue(1)
    finally:
        # What was prepared meanwhile goes with the session.
        connection.close()
    assert 'relation "conveyor_' in str(caught.value)
    assert caught.value.__notes__ == ["Are Conveyor's tables there? Run: manage.py migrate --database default"]


def test_a_rollback_to_a_savepoint_takes_the_job_with_it() -> None:
    with transaction.atomic():
        plain_add.enqueue(1)
        with transaction.atomic():
            plain_add.enqueue(2)
            transaction.set_rollback(True)
    assert [job.payload.args for job in Job.objects.all()] == [[1]]


def test_inside_a_transaction_of_another_database_it_is_refused(elsewhere: str) -> None:
    with transaction.atomic(using=elsewhere):
        assert open_transactions() == [elsewhere]
        with pytest.raises(ForeignTransaction) as caught:
            plain_add.enqueue(1)
    assert "tests.support.produce.plain_add" in str(caught.value)
    assert "'default'" in str(caught.value)
    assert "'elsewhere'" in str(caught.value)
    assert not Job.objects.exists()


def test_also_inside_one_begun_by_hand(elsewhere: str) -> None:
    transaction.set_autocommit(False, using=elsewhere)
    with pytest.raises(ForeignTransaction):
        plain_add.enqueue(1)
    transaction.rollback(using=elsewhere)
    transaction.set_autocommit(True, using=elsewhere)
    plain_add.enqueue(1)


def test_with_a_transaction_on_both_it_belongs_to_the_queues(elsewhere: str) -> None:
    with transaction.atomic(using=elsewhere), transaction.atomic():
        plain_add.enqueue(1)
    assert Job.objects.count() == 1


def test_an_idle_connection_to_another_database_is_no_transaction(elsewhere: str) -> None:
    with connections[elsewhere].cursor() as cursor:
        cursor.execute("SELECT 1")
    plain_add.enqueue(1)
    assert Job.objects.count() == 1


def test_on_commit_waits_for_the_commit_of_the_other_database(elsewhere: str) -> None:
    with transaction.atomic(using=elsewhere):
        plain_on_commit = with_options.using(idempotency_key="k")
        plain_on_commit.enqueue_on_commit(1, note="a")
        assert not Job.objects.exists()
    job = Job.objects.get()
    assert (job.payload.args, job.payload.kwargs, job.idempotency_key) == ([1], {"note": "a"}, "k")


def test_on_commit_waits_for_the_commit_of_its_own_database() -> None:
    with transaction.atomic():
        with_options.enqueue_on_commit(1)
        assert not Job.objects.exists()
    assert Job.objects.count() == 1


def test_on_commit_without_a_transaction_enqueues_at_once() -> None:
    with_options.enqueue_on_commit(1)
    assert Job.objects.count() == 1


def test_on_commit_goes_with_a_rollback(elsewhere: str) -> None:
    with transaction.atomic(using=elsewhere):
        with_options.enqueue_on_commit(1)
        transaction.set_rollback(True, using=elsewhere)
    assert not Job.objects.exists()


@pytest.mark.parametrize(("undone", "jobs"), [("inner", 0), ("outer", 0), ("none", 1)])
def test_on_commit_waits_for_every_open_transaction(elsewhere: str, undone: str, jobs: int) -> None:
    with transaction.atomic(using=elsewhere):
        with transaction.atomic():
            with_options.enqueue_on_commit(1)
            if undone == "inner":
                transaction.set_rollback(True)
        assert not Job.objects.exists()
        if undone == "outer":
            transaction.set_rollback(True, using=elsewhere)
    assert Job.objects.count() == jobs


def test_on_commit_refuses_at_once_what_an_enqueue_would_refuse(elsewhere: str, settings: Settings) -> None:
    with transaction.atomic(using=elsewhere):
        with pytest.raises(InvalidArguments):
            with_options.enqueue_on_commit()  # type: ignore[call-arg]
        with pytest.raises(InvalidArguments):
            anything.enqueue_on_commit(float("nan"))
    assert not Job.objects.exists()


def test_on_commit_takes_the_arguments_as_they_are_now() -> None:
    lines = ["a"]
    with transaction.atomic():
        anything.enqueue_on_commit(lines)
        lines.append("b")
    assert Job.objects.get().payload.args == [["a"]]
