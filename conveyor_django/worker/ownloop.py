"""Awaiting an atomic async handler: in the thread that holds its transaction, on an event loop of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, cast

from asgiref.sync import async_to_sync

from .inflight import Held
from .interrupt import Interrupted


def run_on_own_loop(held: Held, call: Callable[[], Awaitable[Any]]) -> Any:
    """Return what `call()` gives when it is awaited. Raises what it raises, CancelledError if it was interrupted."""
    return async_to_sync(_awaited)(held, call)


async def _awaited(held: Held, call: Callable[[], Awaitable[Any]]) -> Any:
    """Await on the loop that runs now; the thread only waits, in C, so the handler is interrupted here."""
    loop, task = asyncio.get_running_loop(), cast("asyncio.Task[Any]", asyncio.current_task())
    of_the_thread = held.interrupt

    def interrupt() -> None:
        # The loop may just have ended, and with it the handler.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(task.cancel)

    held.interrupt = interrupt
    try:
        if held.must_end:
            raise Interrupted
        return await call()
    finally:
        held.interrupt = of_the_thread
