"""Real runs are accepted: no guard of the model refuses what the protocol does."""

from __future__ import annotations

import pytest

from .check import check
from .log import read_log
from .runs import RUNS, Traced


@pytest.mark.parametrize("name", RUNS)
def test_it_is_accepted(name: str, traced: Traced) -> None:
    RUNS[name](traced)
    log = read_log(traced.main)
    assert len(log) > 1
    assert check(log) is None
