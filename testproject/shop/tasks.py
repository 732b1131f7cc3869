"""The shop's tasks."""

from __future__ import annotations

import time

from django.db.models import F

from conveyor_django import task

from .models import Account, Payment

# How long the bank takes to answer.
BANK_SECONDS = 0.05


@task(queue_name="orders", atomic=True, max_attempts=5, http=True)
def settle_order(order: str, customer: str, cents: int) -> dict[str, str | int]:
    """Book the payment of one order to its customer's account.

    Nothing here guards against running twice: the two writes, the job's ledger row and its success are one
    commit, and Conveyor lets only the holder of the job's newest lease make it.
    """
    account = Account.objects.get(customer=customer)
    payment = Payment.objects.create(order=order, account=account, cents=cents)
    time.sleep(BANK_SECONDS)
    # Last, and by an expression: the account's row is locked for a moment only, and no addition is lost.
    Account.objects.filter(pk=account.pk).update(balance=F("balance") + cents)
    return {"order": order, "payment": payment.pk}
