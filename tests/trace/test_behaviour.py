"""TLC on a sample: a behaviour of the model is behind the log of a real run, and none is behind a wrong one."""

from __future__ import annotations

import pytest

from spec.tlc import find_tools

from ..support.races import MAX_LOST, MAX_RELEASES
from . import alterations as made
from .behaviour import Answer, ask_tlc
from .log import Step, read_log
from .runs import Traced
from .sample import sample

pytestmark = [pytest.mark.fault, pytest.mark.timeout(600)]


def ask(log: list[Step]) -> Answer:
    """Ask TLC of a log without the first step, which has no jobs."""
    return ask_tlc(log[1:], find_tools(), max_lost=MAX_LOST, max_releases=MAX_RELEASES, limit=300)


@pytest.fixture
def log(traced: Traced) -> list[Step]:
    """The log of the sample."""
    sample(traced)
    return read_log(traced.main)


def test_a_real_run_is_a_behaviour_of_the_model(log: list[Step]) -> None:
    answer = ask(log)
    assert answer.allowed
    assert answer.reached == answer.entries > 15


@pytest.mark.parametrize("alter", [made.zombie_success, made.rescue_of_a_finished_job], ids=lambda made: made.__name__)
def test_a_wrong_one_is_not(alter: made.Alter, log: list[Step]) -> None:
    wrong, index = alter(log)
    answer = ask(wrong)
    before = ask(wrong[:index])
    assert before.allowed
    assert not answer.allowed
    assert answer.reached < answer.entries
