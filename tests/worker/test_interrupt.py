"""Interrupting Python code in another thread, and nothing else."""

from __future__ import annotations

import threading

import pytest

from conveyor_django.worker.interrupt import Interrupted, Interrupter


def spin(started: threading.Event) -> None:
    started.set()
    while True:
        pass


def test_code_inside_is_interrupted():
    interrupter, started, seen = Interrupter(), threading.Event(), []

    def work():
        try:
            with interrupter.interruptible():
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
    with interrupter.interruptible():
        pass
    assert not interrupter.interrupt()


@pytest.mark.parametrize("_turn", range(200))
def test_an_interrupt_at_the_end_never_reaches_what_comes_after(_turn):
    """The race at the end of the block, many times: the exception arrives inside, or not at all."""
    interrupter, inside, after = Interrupter(), threading.Event(), []

    def work():
        try:
            with interrupter.interruptible():
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
