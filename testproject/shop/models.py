"""The shop's tables: what its jobs write, and so the place where a doubled or lost effect would show."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Account(models.Model):
    """What one customer has paid so far."""

    customer = models.TextField(unique=True)
    balance = models.BigIntegerField(default=0, help_text="In cents.")

    def __str__(self) -> str:
        return f"{self.customer}: {self.balance / 100:.2f}"


class Payment(models.Model):
    """One payment of one order.

    Nothing here is unique on purpose: a job that took effect twice would leave two rows.
    """

    order = models.TextField()
    account = models.ForeignKey(Account, on_delete=models.PROTECT, related_name="payments")
    cents = models.BigIntegerField()
    paid_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.order}: {self.cents / 100:.2f}"
