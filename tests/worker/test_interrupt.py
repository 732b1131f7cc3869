"""Interrupting Python code in another thread, and nothing else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

import pytest

from conveyor_django.worker.interrupt import Interrupted, Interrupter, interrupt_ignored_again, noting_ignored
from tests.support.waits import wait_until


def spin(started: threading.Event) -> None:
    started.set()
    while True:
        pass


def test_code_inside_is_interrupted():
    interrupter, started, seen = Interrupter(), threading.Event(), []

    def work():
        try:
            with interrupter:
                spin(started)
        except Interrupted:
            seen.append("interrupted")

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    assert interrupter.interrupt()
    thread.join()
    assert seen == ["interrupted"]


def test_nobody_is_interrupted_outside():
    interrupter = Interrupter()
    assert not interrupter.interrupt()
    with interrupter:
        pass
    assert not interrupter.interrupt()


@pytest.mark.parametrize("_turn", range(200))
def test_an_interrupt_at_the_end_never_reaches_what_comes_after(_turn):
    """The race at the end of the block, many times: the exception arrives inside, or not at all."""
    interrupter, inside, after = Interrupter(), threading.Event(), []

    def work():
        try:
            with interrupter:
                inside.set()
        except Interrupted:
            pass
        # An exception that came late would surface here.
        try:
            for _ in range(2000):
                pass
        except Interrupted:
            after.append("late")

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    interrupter.interrupt()
    thread.join()
    assert after == []


class Finalized:
    """Its finalizer goes on until it is interrupted."""

    def __init__(self, started: threading.Event) -> None:
        self._started = started

    def __del__(self) -> None:
        spin(self._started)


@pytest.fixture
def unraisable(monkeypatch) -> list[sys.UnraisableHookArgs]:
    """What the hook that was there before ours is told of."""
    told = []
    monkeypatch.setattr(sys, "unraisablehook", noting_ignored(told.append))
    return told


def interrupted_in_vain(ignoring: Callable[[], None], is_there: threading.Event) -> list[str]:
    """Interrupt a thread while it is in code that ignores it, then again; return whether the thread saw it."""
    interrupter, behind, seen = Interrupter(), threading.Event(), []

    def work():
        try:
            with interrupter:
                ignoring()
                spin(behind)
        except Interrupted:
            seen.append("interrupted")

    thread = threading.Thread(target=work)
    thread.start()
    is_there.wait()
    assert interrupter.interrupt()
    behind.wait()
    interrupt_ignored_again()
    thread.join()
    return seen


def test_an_interrupt_that_a_finalizer_swallowed_is_raised_again(unraisable):
    finalizing = threading.Event()

    def finalize():
        garbage = Finalized(finalizing)
        del garbage

    assert interrupted_in_vain(finalize, finalizing) == ["interrupted"]
    assert unraisable == []


def test_an_interrupt_that_a_callback_of_the_driver_swallowed_is_raised_again(unraisable, connect):
    """Psycopg's C code calls handlers of notices, and cannot pass on what they raise."""
    notified, session = threading.Event(), connect()
    session.add_notice_handler(lambda _notice: spin(notified))

    def be_notified():
        session.execute("DO $$ BEGIN RAISE NOTICE 'now'; END $$", prepare=False)

    assert interrupted_in_vain(be_notified, notified) == ["interrupted"]
    assert unraisable == []


def test_it_is_raised_again_once_only(unraisable):
    interrupter, finalizing, behind, go_on = (
        Interrupter(), threading.Event(), threading.Event(), threading.Event(),
    )  # fmt: skip
    seen = []

    def work():
        with interrupter:
            garbage = Finalized(finalizing)
            del garbage
            try:
                spin(behind)
            except Interrupted:
                seen.append("interrupted")
            while not go_on.is_set():
                pass

    thread = threading.Thread(target=work)
    thread.start()
    finalizing.wait()
    interrupter.interrupt()
    behind.wait()
    interrupt_ignored_again()
    wait_until(lambda: bool(seen), "it was interrupted")
    interrupt_ignored_again()
    go_on.set()
    thread.join()
    assert seen == ["interrupted"]


def test_other_exceptions_of_finalizers_are_the_project_s(unraisable):
    class Broken:
        def __del__(self) -> None:
            raise ValueError("broken")

    garbage = Broken()
    del garbage
    assert [told.exc_type for told in unraisable] == [ValueError]
