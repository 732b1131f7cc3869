"""Atomic handlers: their writes, the ledger row and the transition commit together, or none does (P2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.db import Error as DjangoError

from ..effects import Fence
from ..outcomes import Committed

# How much later than a run's timeout the database ends its transaction: it only counts where the worker cannot.
MARGIN_SECONDS: Final = 5.0


class NotBegun(Exception):
    """The database did not let the transaction begin, so the handler was not called; its cause says why."""


def run_atomically(fence: Fence, call: Callable[[], Any], *, timeout: float | None = None) -> tuple[Committed, Any]:
    """Run `call` in a transaction that ends with the fenced success; return the outcome and its value.

    Raises what `Fence.success` and `call` raise, and NotBegun; nothing is committed then. `timeout` is the run's, in
    seconds.
    """
    has_begun = False
    try:
        with fence.success(timeout=None if timeout is None else timeout + MARGIN_SECONDS) as effect:
            has_begun = True
            effect.result = call()
    except DjangoError as error:
        if has_begun:
            raise
        raise NotBegun from error
    if fence.committed is None:  # What `success` has promised.
        raise RuntimeError(f"{fence.claimed.task}: its transaction ended without a word")
    return fence.committed, fence.result
