"""Stopping Python code in another thread.

CPython can raise an exception class in a thread at its next bytecode (`PyThreadState_SetAsyncExc`, CPython docs,
"Thread State and the Global Interpreter Lock"). Code that does not return to the interpreter (C) cannot be stopped
so. What must not happen is that the exception arrives late, in the next job or in the executor itself: hence the
lock, and the clearing of one that is still on its way. Nor may it be lost in a finalizer (``__del__``, the callback of
a weak reference), where Python tells `sys.unraisablehook` of an exception and goes on: then it is raised once more.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    Hook = Callable[[sys.UnraisableHookArgs], object]

_raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
_raise_in_thread.argtypes = (ctypes.c_ulong, ctypes.py_object)
# An empty py_object is NULL, which clears; None would be raised as an object.
_NULL = ctypes.py_object()


class Interrupted(BaseException):
    """Raised in a handler whose run must end; not an Exception, so that handlers rarely catch it."""


class Interrupter:
    """Lets another thread interrupt this one while it is inside a `with` block of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ident: int | None = None
        # Whether one was sent since the last shield; to clear one is dearer than to run a small handler.
        self._was_sent = False
        # Whether one was raised where Python ignores it.
        self._was_ignored = False

    def __enter__(self) -> None:
        """Mark the code inside as what `interrupt` may stop; used by one thread at a time."""
        self._was_ignored = False
        ident = threading.get_ident()
        _inside[ident] = self
        self._ident = ident

    def __exit__(self, *_error: object) -> None:
        """Be uninterruptible again."""
        self.shield()
        del _inside[threading.get_ident()]

    def shield(self) -> None:
        """Be uninterruptible from here on; called by the thread inside."""
        with self._lock:
            self._ident = None
            if self._was_sent:
                self._was_sent = False
                # One that is not yet raised would otherwise hit whatever runs next.
                _raise_in_thread(threading.get_ident(), _NULL)

    def interrupt(self) -> bool:
        """Raise Interrupted in the thread inside; False if none is."""
        with self._lock:
            if self._ident is None:
                return False
            self._was_sent = True
            return bool(_raise_in_thread(self._ident, Interrupted))

    def note_ignored(self) -> None:
        """Note that one was raised in vain; called in the thread that it was raised in."""
        self._was_ignored = True

    def interrupt_again(self) -> None:
        """Interrupt once more, if that was noted."""
        if self._was_ignored:
            self._was_ignored = False
            self.interrupt()


# By the thread that is inside.
_inside: Final[dict[int, Interrupter]] = {}


def noting_ignored(before: Hook) -> Hook:
    """Return a `sys.unraisablehook` that notes interrupts that are ignored; all else it passes on to `before`."""

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        interrupter = _inside.get(threading.get_ident())
        if interrupter is not None and unraisable.exc_type is Interrupted:
            # Not raised again from here: what is raised in a hook is ignored too.
            interrupter.note_ignored()
        else:
            before(unraisable)

    return hook


def interrupt_ignored_again() -> None:
    """Interrupt the threads in which an interrupt was ignored; to be called now and then, by another thread."""
    for interrupter in list(_inside.values()):
        interrupter.interrupt_again()
