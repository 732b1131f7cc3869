"""Which tasks are quick, on durations and instants that the test says."""

from __future__ import annotations

from conveyor_django.worker.paces import ALONE_SECONDS, GROUP_SECONDS, MOST_SECONDS, QUICK_SECONDS, Paces

NOW = 1000.0
# Nothing that ends then had begun when the first run ended.
LATER = NOW + 1


def test_a_task_that_was_never_seen_is_not_quick() -> None:
    assert not Paces().is_quick("a", NOW)


def test_it_is_quick_by_its_own_average() -> None:
    paces = Paces()
    paces.note("a", 0.001, NOW)
    paces.note("b", 2 * QUICK_SECONDS, NOW)
    assert (paces.is_quick("a", NOW), paces.is_quick("b", NOW)) == (True, False)
    for _ in range(20):
        paces.note("a", 2 * QUICK_SECONDS, LATER)
        paces.note("b", 0.001, LATER)
    assert (paces.is_quick("a", LATER), paces.is_quick("b", LATER)) == (False, True)


def test_what_began_before_the_first_run_had_ended_is_no_measure() -> None:
    """The first runs of a process open its connections and fill its caches, and wait for each other."""
    paces = Paces()
    for _ in range(16):
        paces.note("a", 3.0, NOW)
    paces.note("a", 0.001, LATER)
    assert paces.is_quick("a", LATER)
    paces.note("a", 3.0, NOW + 4)
    assert not paces.is_quick("a", NOW + 4)


def test_one_slow_run_is_enough_for_a_while() -> None:
    paces = Paces()
    paces.note("a", 0.0001, NOW)
    for _ in range(50):
        paces.note("a", 0.0001, LATER)
    paces.note("a", 0.11, LATER)
    for _ in range(50):
        paces.note("a", 0.0001, LATER)
    assert not paces.is_quick("a", LATER + ALONE_SECONDS - 1)
    assert paces.is_quick("a", LATER + ALONE_SECONDS)


def test_one_that_fell_out_with_a_group_runs_alone_for_a_while() -> None:
    paces = Paces()
    paces.note("a", 0.001, NOW)
    paces.keep_alone("a", NOW)
    paces.keep_alone("never seen", NOW)
    assert not paces.is_quick("a", NOW + ALONE_SECONDS - 1)
    assert paces.is_quick("a", NOW + ALONE_SECONDS)


def test_where_transactions_take_long_a_handler_may_too() -> None:
    paces = Paces()
    paces.note("a", 3 * QUICK_SECONDS, NOW)
    assert (paces.is_quick("a", NOW), paces.group_seconds) == (False, GROUP_SECONDS)
    paces.note_transaction(4 * QUICK_SECONDS)
    assert (paces.is_quick("a", NOW), paces.group_seconds) == (True, 4 * QUICK_SECONDS)
    for _ in range(50):
        paces.note_transaction(10.0)
    assert paces.group_seconds == MOST_SECONDS
