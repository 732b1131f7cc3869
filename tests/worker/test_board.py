"""The memory that a child shares with its supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from conveyor_django.states import Verb
from conveyor_django.worker.board import SIGNS, Board, Limit

CHILD = """
import sys, time
from conveyor_django.worker.board import Board
board = Board(int(sys.argv[1]), 4)
board.mark_started((11, 1))
done = board.mark_started((12, 5))
board.mark_started((13, 2))
board.clear(done)
board.count("started", 3)
print("ready", flush=True)
sys.stdin.read()
"""


def test_started_runs_are_listed_until_cleared():
    board, file = Board.create(2)
    with file:
        first = board.mark_started((1, 10))
        board.mark_started((2, 20))
        assert sorted(board.started()) == [(1, 10), (2, 20)]
        board.clear(first)
        assert board.started() == [(2, 20)]
        board.mark_started((3, 30))
        assert sorted(board.started()) == [(2, 20), (3, 30)]


def test_the_board_outlives_a_child_killed_with_sigkill():
    board, file = Board.create(4)
    with file:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(file.fileno())],
            pass_fds=(file.fileno(),), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        with child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            os.kill(child.pid, signal.SIGKILL)
        assert child.returncode == -signal.SIGKILL
        assert sorted(board.started()) == [(11, 1), (13, 2)]
        assert board.counters()["started"] == 3


def test_a_run_is_overdue_from_its_time_on_until_it_is_excused_or_cleared():
    board, file = Board.create(2)
    with file:
        place = board.mark_started((1, 10))
        assert board.overdue(1e9) == {}
        limit = Limit(due_at=100.5, verb=Verb.RETRY, delay=2.25, timeout=0.5)
        board.limit(place, limit)
        assert board.overdue(100.4) == {}
        assert board.overdue(100.5) == {(1, 10): limit}
        cancelled = Limit(due_at=90.0, verb=Verb.CANCEL)
        board.limit(place, cancelled)
        assert board.overdue(95.0) == {(1, 10): cancelled}
        board.excuse(place)
        assert board.overdue(1e9) == {}
        assert board.started() == [(1, 10)]
        board.limit(place, limit)
        board.clear(place)
        # The next one in its place has a time of its own.
        board.mark_started((2, 20))
        board.mark_started((3, 30))
        assert board.overdue(1e9) == {}


def test_a_timeout_shorter_than_its_unit_is_one_all_the_same():
    board, file = Board.create(1)
    with file:
        board.limit(board.mark_started((1, 10)), Limit(due_at=1.0, verb=Verb.FAIL, timeout=0.0001))
        assert board.overdue(2.0)[(1, 10)].timeout == 0.001


def test_the_longest_times_fit():
    board, file = Board.create(1)
    with file:
        board.limit(board.mark_started((1, 1)), Limit(due_at=1e15, verb=Verb.FAIL, delay=1e17, timeout=1e300))
        assert board.overdue(1e9) == {}


def test_signs_are_given_once_and_stay():
    board, file = Board.create(1)
    with file:
        for _ in range(2):
            board.say_leaving()
            board.say_goodbye()
            board.say_draining()
        assert {name: board.counters()[name] for name in SIGNS} == {
            "pulse": 0, "looks": 0, "leaving": 1, "goodbye": 1, "draining": 1, "beaten_at": 0, "heard_at": 0,
        }  # fmt: skip
