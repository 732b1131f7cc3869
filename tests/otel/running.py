"""Running jobs one by one, and reporting their ends as the pump does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conveyor_django import ConveyorContext
from conveyor_django.outcomes import Answer
from conveyor_django.worker.board import Board
from conveyor_django.worker.handler import Handlers
from conveyor_django.worker.inflight import Held
from conveyor_django.worker.report import report
from conveyor_django.worker.runs import Finished

from ..support import bench as support
from ..support.bench import Bench


@pytest.fixture(autouse=True)
def board() -> Iterator[Board]:
    """Where ends are counted."""
    made, file = Board.create(32)
    boards.append(made)
    yield made
    boards.clear()
    file.close()


boards: list[Board] = []


def settled(bench: Bench, finished: Finished) -> Answer:
    """Write the outcome and report it, as the pump does."""
    answer = bench.finish(finished)
    report(finished, answer, boards[-1])
    return answer


def call(handlers: Handlers, held: Held, does: Callable[[ConveyorContext], Any]) -> Finished:
    """Let the handler of a held job do that."""
    support.script = does
    return handlers.call(handlers.prepare(held))


def complete(bench: Bench, does: Callable[[ConveyorContext], Any]) -> Answer:
    """Run the one ready job, write its outcome and report it."""
    return settled(bench, bench.run(does))
