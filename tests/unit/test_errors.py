"""Each exception names the value and says what to do."""

from __future__ import annotations

import pickle

import pytest

from conveyor_django import errors


@pytest.mark.parametrize(
    ("error", "names", "remedy"),
    [
        (errors.LeaseLost(7, 3), ["job 7", "version 3"], "Nothing needs to be done"),
        (errors.PayloadTooLarge("a.b", 2_000, 1_000), ["a.b", "2,000", "1,000"], "pass its id"),
        (
            errors.IdempotencyConflict("k", "q", "job 1", "a.b(2)"),
            ["'k'", "'q'", "job 1", "a.b(2)"],
            "Use another key",
        ),
        (
            errors.ForeignTransaction("a.b", "jobs", "default"),
            ["a.b", "'jobs'", "'default'"],
            "enqueue_on_commit",
        ),
        (errors.UnknownTask("a.b", "no module"), ["'a.b'", "no module"], "Deploy the code"),
        (errors.JobCancelled(7), ["job 7", "before its next run"], "requeue(7)"),
        (errors.JobCancelled(7, running=True), ["job 7", "while it ran"], "requeue(7)"),
        (errors.TaskTimeout("a.b", 2.5), ["a.b", "2.5 s", "interrupted"], "longer timeout="),
        (errors.TaskTimeout("a.b", 2.5, killed=True), ["a.b", "2.5 s", "process was ended"], "longer timeout="),
        (errors.WaitInTransaction("jobs"), ["'jobs'"], "leave wait out"),
        (errors.InvalidCron("zone", "zone 'x' is unknown. Give another."), ["'x'"], "Give another"),
        (errors.UnstorableResult("a.b", "a set"), ["a.b", "a set"], "Return JSON-compatible values"),
        (errors.DatabaseUnsupported("x", "SQLite"), ["'x'", "SQLite"], "Set CONVEYOR['DATABASE']"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_message(error: errors.ConveyorError, names: list[str], remedy: str) -> None:
    assert [name for name in names if name not in str(error)] == []
    assert remedy in str(error)


def test_callers_can_catch_them_by_their_usual_kinds() -> None:
    assert issubclass(errors.InvalidArguments, ValueError)
    assert issubclass(errors.PayloadTooLarge, errors.InvalidArguments)
    assert issubclass(errors.UnstorableResult, TypeError)
    assert issubclass(errors.TaskTimeout, TimeoutError)


@pytest.mark.parametrize(
    "error",
    [
        errors.LeaseLost(7, 3),
        errors.JobCancelled(7),
        errors.JobCancelled(7, running=True),
        errors.TaskTimeout("a.b", 2.5, killed=True),
    ],
)
def test_what_may_cross_a_process_can_be_pickled(error: errors.ConveyorError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_describe_is_short() -> None:
    assert errors.describe("abc") == "'abc'"
    assert errors.describe("a" * 100, limit=10) == "'aaaaaaaa…"


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(("value", "shown"), [(10**5000, "<int>"), (Mute(), "<Mute>")], ids=["digits", "mute"])
def test_describe_stands_what_cannot_be_shown(value: object, shown: str) -> None:
    assert errors.describe(value) == shown


@pytest.mark.parametrize(("value", "called"), [(object(), "an object"), ({}, "a dict"), (1, "an int"), ("", "a str")])
def test_a_kind_has_its_article(value: object, called: str) -> None:
    assert errors.kind_of(value) == called
