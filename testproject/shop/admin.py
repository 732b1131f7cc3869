"""The shop in the admin."""

from __future__ import annotations

from django.contrib import admin

from .models import Account, Payment


@admin.register(Account)
class AccountAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Accounts and their balances."""

    list_display = ("customer", "balance")
    search_fields = ("customer",)
    ordering = ("customer",)


@admin.register(Payment)
class PaymentAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Payments, the newest first."""

    list_display = ("order", "account", "cents", "paid_at")
    list_select_related = ("account",)
    search_fields = ("order", "account__customer")
    ordering = ("-pk",)
