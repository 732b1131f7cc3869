"""From a return value or an exception to an outcome."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from conveyor_django import endings
from conveyor_django.errors import UnknownTask, UnstorableResult
from conveyor_django.options import TaskOptions
from conveyor_django.outcomes import Claimed, Fail, Release, Retry
from conveyor_django.states import Verb
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


OPTIONS = TaskOptions(retry_on=(OSError, KeyError), discard_on=(FileNotFoundError,))


@pytest.mark.parametrize(
    ("error", "attempt", "verb"),
    [
        (KeyError("x"), 1, Verb.RETRY),
        (ConnectionError("x"), 2, Verb.RETRY),
        (KeyError("x"), 3, Verb.FAIL),
        # Neither listed nor a subclass of what is.
        (ValueError("x"), 1, Verb.FAIL),
        # Both: discard_on is looked at first.
        (FileNotFoundError("x"), 1, Verb.CANCEL),
        (FileNotFoundError("x"), 3, Verb.CANCEL),
        # A handler's own word counts whatever the lists say.
        (endings.Retry(), 1, Verb.RETRY),
        (endings.Retry(), 3, Verb.FAIL),
        (endings.Snooze(1), 3, Verb.SNOOZE),
        (endings.Cancel(), 1, Verb.CANCEL),
        (endings.Fail(), 1, Verb.FAIL),
        (UnstorableResult("shop.pay", "x"), 1, Verb.FAIL),
    ],
    ids=repr,
)
def test_what_becomes_of_a_job_whose_handler_raised(error, attempt, verb):
    assert decide.verdict(claimed(attempt=attempt), error, OPTIONS) is verb


def test_with_nothing_to_retry_on_every_exception_fails_the_job():
    assert decide.verdict(claimed(), ValueError("x"), TaskOptions(retry_on=())) is Verb.FAIL
    assert decide.verdict(claimed(), endings.Retry(), TaskOptions(retry_on=())) is Verb.RETRY


@pytest.mark.parametrize("listed", [TaskOptions(discard_on=TypeError), TaskOptions(retry_on=TypeError)])
def test_an_unstorable_result_fails_the_job_though_it_is_a_type_error(listed):
    assert decide.verdict(claimed(), UnstorableResult("shop.pay", "x"), listed) is Verb.FAIL


def test_an_ending_keeps_its_reason_and_where_it_came_from():
    try:
        try:
            raise OSError("no route")
        except OSError as error:
            raise endings.Retry(5, "the bank is away") from error
    except endings.Retry as ending:
        outcome = decide.ended(claimed(), Verb.RETRY, ending, 5.0)
    assert (outcome.verb, outcome.delay) == (Verb.RETRY, 5.0)
    assert (outcome.error.error_class, outcome.error.message) == (
        "conveyor_django.endings.Retry",
        "the bank is away",
    )
    assert "no route" in outcome.error.traceback


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
