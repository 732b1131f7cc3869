"""From a return value or an exception to an outcome."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from conveyor_django.errors import UnknownTask, UnstorableResult
from conveyor_django.outcomes import Claimed, Fail, Release, Retry
from conveyor_django.worker import decide


def claimed(**changes) -> Claimed:
    values = {
        "id": 7, "version": 3, "queue": "default", "task": "shop.pay", "args": "[]", "kwargs": "{}", "attempt": 1,
        "max_attempts": 3, "lost_count": 0, "release_count": 0, "lease_seconds": 30.0,
        "created_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    }  # fmt: skip
    return Claimed(**values | changes)


def test_a_result_is_stored_as_json_text():
    assert decide.succeeded(claimed(), {"a": (1, 2)}).result == '{"a":[1,2]}'


def test_none_needs_no_result():
    assert decide.succeeded(claimed(), None).result is None


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a\x00b", "a\ufffdb"),
        ("\ud800", "\ufffd"),
        ({"k\x00": ["\udfff"]}, {"k\ufffd": ["\ufffd"]}),
        ([float("nan"), float("inf"), 1.5], [None, None, 1.5]),
        ({1: "int key"}, {"1": "int key"}),
    ],
)
def test_what_postgresql_refuses_is_scrubbed_from_a_result(value, stored):
    assert json.loads(decide.succeeded(claimed(), value).result) == stored


@pytest.mark.parametrize("value", [object(), {1, 2}, dt.datetime(2026, 1, 1, tzinfo=dt.UTC), b"\xff"])
def test_a_result_that_json_cannot_hold_is_named(value):
    with pytest.raises(UnstorableResult, match=r"shop\.pay returned a value that cannot be stored"):
        decide.succeeded(claimed(), value)


def test_a_result_that_contains_itself_is_refused():
    loop: list = []
    loop.append(loop)
    with pytest.raises(UnstorableResult):
        decide.succeeded(claimed(), loop)


def test_an_exception_retries_while_the_budget_lasts():
    outcome = decide.failed_run(claimed(attempt=2), ValueError("x"), delay=4.0)
    assert isinstance(outcome, Retry)
    assert (outcome.id, outcome.version, outcome.delay) == (7, 3, 4.0)


def test_the_last_attempt_fails():
    assert isinstance(decide.failed_run(claimed(attempt=3), ValueError("x"), delay=4.0), Fail)


def test_an_unstorable_result_is_not_run_again():
    error = UnstorableResult("shop.pay", "x")
    assert isinstance(decide.failed_run(claimed(), error, delay=4.0), Fail)


def test_the_error_keeps_class_message_and_traceback():
    try:
        raise ValueError("no\x00pe \ud800")
    except ValueError as error:
        info = decide.error_info(error)
    assert info.error_class == "builtins.ValueError"
    assert info.message == "no\ufffdpe \ufffd"
    assert "test_decide.py" in info.traceback


def test_a_huge_message_is_cut_in_the_middle():
    info = decide.error_info(ValueError("a" * 50_000 + "end"))
    assert len(info.message) < decide.MAX_MESSAGE + 100
    assert info.message.endswith("end")


def test_an_exception_whose_str_raises_is_still_an_outcome():
    class Rude(Exception):
        def __str__(self):
            raise RuntimeError("no")

    assert "RuntimeError" in decide.error_info(Rude()).message


def test_an_unknown_task_waits_longer_each_time():
    error = UnknownTask("shop.gone", "no such module")
    delays = [decide.unknown_task(claimed(release_count=n), error).delay for n in (0, 3, 60)]
    assert delays[0] <= 1.0
    assert 4.0 <= delays[1] <= 8.0
    assert decide.UNKNOWN_CAP_SECONDS / 2 <= delays[2] <= decide.UNKNOWN_CAP_SECONDS
    assert isinstance(decide.unknown_task(claimed(), error), Release)
