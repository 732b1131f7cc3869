"""The shop's task, drained in the test's own transaction; what it does in workers, `test_demo` shows."""

from __future__ import annotations

import pytest

from conveyor_django.testing import assert_enqueued, drain
from testproject.shop import tasks
from testproject.shop.models import Account, Payment
from testproject.shop.tasks import settle_order

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quick_bank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "BANK_SECONDS", 0)


def test_it_books_a_payment_and_adds_to_the_account() -> None:
    account = Account.objects.create(customer="Ada", balance=100)
    settle_order.enqueue(order="order-1", customer="Ada", cents=250)
    [run] = drain()
    account.refresh_from_db()
    payment = Payment.objects.get()
    assert account.balance == 350
    assert (payment.order, payment.account_id, payment.cents) == ("order-1", account.pk, 250)
    assert run.return_value == {"order": "order-1", "payment": payment.pk}


def test_a_retried_enqueue_with_a_key_books_once() -> None:
    Account.objects.create(customer="Ada")
    for _ in range(2):
        keyed = settle_order.using(idempotency_key="order-1")
        keyed.enqueue(order="order-1", customer="Ada", cents=250)
    assert_enqueued(settle_order, kwargs={"order": "order-1", "customer": "Ada", "cents": 250}, count=1)
    assert len(drain()) == 1


def test_it_has_no_guard_of_its_own_against_running_twice() -> None:
    """Else the demo would prove nothing: a doubled effect has to show."""
    account = Account.objects.create(customer="Ada")
    for _ in range(2):
        settle_order.call(order="order-1", customer="Ada", cents=250)
    account.refresh_from_db()
    assert account.balance == 500
    assert Payment.objects.count() == 2


def test_an_unknown_customer_leaves_nothing_behind() -> None:
    settle_order.enqueue(order="order-1", customer="Nobody", cents=250)
    [run] = drain()
    assert [error.exception_class_path for error in run.errors] == ["testproject.shop.models.Account.DoesNotExist"]
    assert not Payment.objects.exists()


def test_its_effect_and_its_success_are_one_commit() -> None:
    assert settle_order.atomic
    assert settle_order.queue_name == "orders"
