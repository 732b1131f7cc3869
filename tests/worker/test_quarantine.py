"""Jobs that were lost before, on given instants."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from conveyor_django.worker.quarantine import PATIENCE_SECONDS, Quarantine


def held(lost_count=1):
    return SimpleNamespace(claimed=SimpleNamespace(lost_count=lost_count))


@pytest.fixture
def quarantine() -> Quarantine:
    return Quarantine()


def test_only_jobs_that_were_lost_before_are_kept(quarantine):
    assert not quarantine.admits(held(0), 0.0)
    assert not quarantine.bars_claims
    assert quarantine.admits(held(1), 0.0)
    assert quarantine.bars_claims


def test_one_after_the_other_runs_once_nothing_else_does(quarantine):
    first, second = held(), held()
    quarantine.admits(first, 0.0)
    quarantine.admits(second, 0.0)
    assert quarantine.next(3) is None
    assert quarantine.next(2) is first
    # It runs: the other one waits, whatever the count says.
    assert quarantine.next(1) is None
    quarantine.forget(first)
    assert quarantine.next(1) is second
    quarantine.forget(second)
    assert not quarantine.bars_claims


def test_one_whose_neighbours_do_not_end_becomes_impatient(quarantine):
    suspect = held()
    quarantine.admits(suspect, 100.0)
    assert quarantine.seconds(100.0) == pytest.approx(PATIENCE_SECONDS, abs=0.01)
    assert quarantine.impatient(100.0 + PATIENCE_SECONDS) == []
    assert quarantine.impatient(100.1 + PATIENCE_SECONDS) == [suspect]
    quarantine.forget(suspect)
    assert quarantine.seconds(100.0) is None
    assert not quarantine.bars_claims


def test_nobody_is_impatient_while_another_suspect_runs(quarantine):
    first, second = held(), held()
    quarantine.admits(first, 0.0)
    quarantine.admits(second, 0.0)
    assert quarantine.next(2) is first
    assert quarantine.impatient(1000.0) == []
    assert quarantine.seconds(0.0) is None
