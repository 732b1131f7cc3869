"""What a child counts by queue and task, and how its supervisor reads it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from conveyor_django.errors import UnknownTask
from conveyor_django.outcomes import Answer, Claimed, Succeed
from conveyor_django.states import Verb
from conveyor_django.worker import decide
from conveyor_django.worker.board import Board
from conveyor_django.worker.config import ChildConfig
from conveyor_django.worker.inflight import Held
from conveyor_django.worker.processes import ChildProcess
from conveyor_django.worker.runs import Finished
from conveyor_django.worker.tally import BOUNDS, OTHER, PLACES, UNKNOWN, Tally
from conveyor_django.worker.totals import Totals
from tests.support.factories import utc_now

CHILD = """
import sys
from conveyor_django.worker.tally import Tally
tally = Tally(int(sys.argv[1]))
tally.enqueued("räder", "shop.tasks.charge", 3)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def tally() -> Iterator[Tally]:
    tally, file = Tally.create()
    with file:
        yield tally


def claimed(**changes: object) -> Claimed:
    values = {
        "id": 1, "version": 1, "queue": "q", "task": "t", "args": "[]", "kwargs": "{}", "attempt": 1, "max_attempts": 5,
        "lost_count": 0, "release_count": 0, "lease_seconds": 30.0, "created_at": utc_now(),
    }  # fmt: skip
    return Claimed(**values | changes)


def test_waits_are_those_of_first_claims_outside_of_workflows(tally: Tally) -> None:
    tally.claimed(
        [
            claimed(waited_seconds=0.01),
            claimed(waited_seconds=0.0101),
            claimed(waited_seconds=1e6),
            # A clock that was set back.
            claimed(waited_seconds=-5.0),
            claimed(version=2, waited_seconds=7.0),
            claimed(workflow_id=3, waited_seconds=7.0),
        ]
    )
    [(label, figures)] = tally.figures().items()
    assert (label, figures.claimed) == (("q", ""), 6)
    assert figures.waits.cumulated == [2, *[3] * (len(BOUNDS) - 1), 4]
    assert figures.waits.seconds == pytest.approx(1e6 + 0.0201)


def test_a_task_that_was_never_found_has_no_label_of_its_own(tally: Tally) -> None:
    job = claimed(task="nowhere.at_all")
    outcome = decide.unknown_task(job, UnknownTask(job.task, "no such module"))
    tally.answered(Finished(Held(job, 0.0), outcome), Answer.WON)
    [(label, figures)] = tally.figures().items()
    assert (label, figures.ended(Verb.RELEASE)) == (("q", UNKNOWN), 1)


def test_what_the_database_refused_is_no_outcome(tally: Tally) -> None:
    tally.answered(Finished(Held(claimed(), 0.0), Succeed(id=1, version=1)), Answer.LOST)
    tally.answered(Finished(Held(claimed(), 0.0), Succeed(id=1, version=1)), Answer.WON_BEFORE)
    [figures] = tally.figures().values()
    assert figures.ended(Verb.SUCCEED) == 1


def test_labels_are_bounded_and_what_has_no_place_is_counted_all_the_same(tally: Tally) -> None:
    for number in range(PLACES + 50):
        tally.enqueued("q", f"t{number}", 1)
        tally.claimed([claimed(queue=f"q{number}")])
    tally.enqueued("q" * 2000, "t", 1)
    figures = tally.figures()
    assert len(figures) == PLACES
    assert sum(one.enqueued for one in figures.values()) == PLACES + 51
    assert sum(one.claimed for one in figures.values()) == PLACES + 50
    assert figures[OTHER, OTHER].enqueued > 50
    assert figures[OTHER, ""].claimed > 50


def child_of(tally: Tally, board: Board) -> ChildProcess:
    config = ChildConfig(
        incarnation=uuid.uuid4(), alias="default", database="d", queues=(), concurrency=1, grace=1.0, poll=1.0,
        supervisor_pid=1, board_fd=0,
    )  # fmt: skip
    return ChildProcess(config, None, board, [], tally)


def test_what_a_killed_child_has_counted_stays_in_the_totals(tally: Tally) -> None:
    board, board_file = Board.create(1)
    _, tally_file = Tally.create()
    with board_file, tally_file:
        shared = Tally(tally_file.fileno())
        script = [sys.executable, "-c", CHILD, str(tally_file.fileno())]
        with subprocess.Popen(
            script, pass_fds=(tally_file.fileno(),), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            os.kill(process.pid, signal.SIGKILL)
        board.count("claimed", 2)
        dead, living = child_of(shared, board), child_of(tally, board)
        totals = Totals()
        for child in (dead, living):
            totals.join(child)
        tally.enqueued("räder", "shop.tasks.charge", 1)
        label = ("räder", "shop.tasks.charge")
        assert (totals.figures()[label].enqueued, totals.counters()["claimed"]) == (4, 4)
        totals.leave(dead)
        assert (totals.figures()[label].enqueued, totals.counters()["claimed"]) == (4, 4)
        assert totals.living() == [living]
        # Adding up has not written into what the dead one left.
        assert totals.figures()[label].enqueued == 4
