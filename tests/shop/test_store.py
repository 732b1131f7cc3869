"""What the demo does to the database and asks of it."""

from __future__ import annotations

import datetime as dt

import pytest
from django.core.management.base import CommandError

from conveyor_django.models import Attempt, Job, Ledger
from testproject.shop.demo import store
from testproject.shop.models import Account
from testproject.shop.orders import Order
from testproject.shop.tasks import settle_order
from tests.support.factories import AttemptFactory, JobFactory, WorkerFactory

pytestmark = pytest.mark.django_db

TASK = settle_order.module_path
ORDERS = [Order("order-1", "Ada", 100), Order("order-2", "Bo", 200), Order("order-3", "Ada", 300)]


def test_every_order_becomes_one_job_however_often_it_is_enqueued() -> None:
    opening = store.database_time()
    assert store.enqueue_orders(ORDERS, opening=opening, seconds=1) == 3
    assert store.enqueue_orders(ORDERS, opening=opening, seconds=1) == 0
    assert set(Job.objects.values_list("queue", "idempotency_key", "task")) == {
        ("orders", order.order, TASK) for order in ORDERS
    }


def test_orders_fall_due_in_waves() -> None:
    opening = store.database_time() + dt.timedelta(hours=1)
    orders = [Order(f"order-{n}", "Ada", 1) for n in range(4 * store.WAVE)]
    store.enqueue_orders(orders, opening=opening, seconds=4)
    due = list(Job.objects.order_by("pk").values_list("run_at", flat=True))
    waves = [opening + dt.timedelta(seconds=second) for second in range(4)]
    assert due == [wave for wave in waves for _ in range(store.WAVE)]


def test_accounts_are_opened_once_per_customer() -> None:
    assert store.open_accounts(ORDERS) == 2
    assert list(Account.objects.order_by("customer").values_list("customer", "balance")) == [
        ("Ada", 0),
        ("Bo", 0),
    ]


@pytest.mark.django_db(transaction=True)
def test_it_begins_afresh_though_the_ledger_is_append_only() -> None:
    job = JobFactory(task=TASK, succeeded=True)
    AttemptFactory(job=job)
    store.open_accounts(ORDERS)
    store.empty_tables()
    assert not any(model.objects.exists() for model in (Job, Ledger, Attempt, Account))


def test_it_empties_no_database_with_other_jobs_in_it() -> None:
    JobFactory(task="billing.tasks.charge")
    JobFactory(task=TASK)
    with pytest.raises(CommandError, match=r"holds 1 jobs that are not the demo's.*Point DATABASE_URL at another"):
        store.empty_tables()
    assert Job.objects.count() == 2


def test_a_look_tells_the_children_of_one_worker_what_they_run_and_what_they_lost() -> None:
    mine, other = WorkerFactory(pid=11, supervisor_pid=10), WorkerFactory(pid=21, supervisor_pid=20)
    JobFactory.create_batch(2, running=True, lease_owner=mine.incarnation)
    JobFactory(running=True, lease_owner=other.incarnation)
    AttemptFactory(job=JobFactory(), owner=mine.incarnation, verb="rescue")
    AttemptFactory(job=JobFactory(succeeded=True), owner=mine.incarnation, verb="retry")
    view = store.look(10)
    child = store.Child(11, mine.incarnation)
    assert view.children == [child]
    assert (view.running_of(child), view.lost_of(child)) == (2, 1)
    assert (view.jobs, view.ended) == (5, 1)
