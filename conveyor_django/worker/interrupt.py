"""Stopping Python code in another thread.

CPython can raise an exception class in a thread at its next bytecode (`PyThreadState_SetAsyncExc`, CPython docs,
"Thread State and the Global Interpreter Lock"). Code that does not return to the interpreter (C) cannot be stopped
so. What must not happen is that the exception arrives late, in the next job or in the executor itself: hence the
lock, and the clearing of one that is still on its way.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in_thread.argtypes = (ctypes.c_ulong, ctypes.py_object)
# An empty py_object is NULL, which clears; None would be raised as an object.
_NULL = ctypes.py_object()


class Interrupted(BaseException):
    """Raised in a handler whose run must end; not an Exception, so that handlers rarely catch it."""


class Interrupter:
    """Lets another thread interrupt this one while it is inside `interruptible()`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ident: int | None = None

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Mark the code inside as what `interrupt` may stop; used by one thread at a time."""
        self._ident = threading.get_ident()
        try:
            yield
        finally:
            self.shield()

    def shield(self) -> None:
        """Be uninterruptible from here on; called by the thread inside `interruptible()`."""
        with self._lock:
            self._ident = None
            # One that was sent, but not yet raised, would otherwise hit whatever runs next.
            _raise_in_thread(threading.get_ident(), _NULL)

    def interrupt(self) -> bool:
        """Raise Interrupted in the thread inside `interruptible()`; False if none is."""
        with self._lock:
            if self._ident is None:
                return False
            return bool(_raise_in_thread(self._ident, Interrupted))
