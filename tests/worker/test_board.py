"""The memory that a child shares with its supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from conveyor_django.worker.board import Board

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
