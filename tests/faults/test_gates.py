"""A fault and the handlers under it wait for each other."""

from __future__ import annotations

import threading
from pathlib import Path

from ..support.waits import wait_until
from .gates import EARLY, LATER, Gates


def test_a_run_waits_until_all_is_settled(tmp_path: Path) -> None:
    gates = Gates(tmp_path)
    run = threading.Thread(target=gates.wait, args=(EARLY, 7))
    run.start()
    wait_until(lambda: gates.waiting(EARLY) == {7}, "the run waits")
    assert gates.waiting(LATER) == set()
    assert run.is_alive()
    gates.settle()
    run.join(20.0)
    assert not run.is_alive()


def test_the_jobs_of_a_frozen_process_are_known(tmp_path: Path) -> None:
    gates = Gates(tmp_path)
    assert not gates.is_frozen
    gates.say_frozen({7, 11})
    assert gates.is_frozen
    assert [job for job in (1, 7, 11) if gates.was_frozen(job)] == [7, 11]
