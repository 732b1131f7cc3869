"""What an enqueue checks before any row exists."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from conveyor_django import Call
from conveyor_django.compat import InvalidTask
from conveyor_django.enqueue import prepare, prepared
from conveyor_django.errors import InvalidArguments, PayloadTooLarge
from conveyor_django.states import OnConflict

from ..support.produce import Holder, anonymous, anything, plain_add, renamed, with_context, with_options

LATER = dt.datetime(2030, 1, 2, 3, 4, tzinfo=dt.UTC)


def test_the_job_of_a_call() -> None:
    job = prepare(
        with_options.using(priority=5, queue_name="orders", run_after=LATER, idempotency_key="k"),
        (7,),
        {"note": "é"},
    )
    assert (job.task, job.queue, job.priority) == ("tests.support.produce.with_options", "orders", 5)
    assert (job.run_at, job.idempotency_key, job.max_attempts) == (LATER, "k", 3)
    assert (job.args, job.kwargs) == ("[7]", '{"note":"é"}')
    assert (job.traceparent, job.tracestate) == (None, None)


def test_without_an_option_the_settings_give_the_budget(settings: Settings) -> None:
    settings.CONVEYOR = {"MAX_ATTEMPTS": 11}
    assert prepare(plain_add, (1,), {}).max_attempts == 11


def test_tuples_become_lists() -> None:
    job = prepare(anything, ((1, (2,)),), {"x": (3,)})
    assert (json.loads(job.args), json.loads(job.kwargs)) == ([[1, [2]]], {"x": [3]})


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, "missing a required argument: 'order'"),
        ((1, "a", 2), {}, "too many positional arguments"),
        ((1,), {"nose": 1}, "unexpected keyword argument 'nose'"),
        ((1,), {"order": 1}, "multiple values for argument 'order'"),
    ],
)
def test_a_call_that_does_not_fit_the_function(args: Any, kwargs: Any, says: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        prepare(with_options, args, kwargs)
    assert "tests.support.produce.with_options(order" in str(caught.value)
    assert says in str(caught.value)


def test_the_context_is_not_the_callers_to_give() -> None:
    assert prepare(with_context, (1,), {}).args == "[1]"
    with pytest.raises(InvalidArguments, match="multiple values for argument 'context'"):
        prepare(with_context, (1,), {"context": 2})
    with pytest.raises(InvalidArguments, match="missing a required argument: 'order'"):
        prepare(with_context, (), {})


@pytest.mark.parametrize(
    ("args", "kwargs", "path"),
    [
        ((0, float("nan")), {}, "args[1] is nan"),
        ((), {"x": {"when": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}}, "kwargs['x']['when'] is datetime"),
        (([{1}],), {}, "args[0][0] is {1}"),
        ((), {"a\x00": 1}, "a key of kwargs is 'a\\x00'"),
    ],
)
def test_a_bad_argument_is_named(args: Any, kwargs: Any, path: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        prepare(anything, args, kwargs)
    assert str(caught.value).startswith("tests.support.produce.anything: ")
    assert path in str(caught.value)


def test_the_payload_is_bounded_in_bytes(settings: Settings) -> None:
    settings.CONVEYOR = {"MAX_PAYLOAD_BYTES": 100}
    # ["é…é"] and {"a":""}: 4 characters around 2 bytes each, and 8.
    assert prepare(anything, ("é" * 44,), {"a": ""}).kwargs == '{"a":""}'
    with pytest.raises(PayloadTooLarge) as caught:
        prepare(anything, ("é" * 45,), {"a": ""})
    assert "102 bytes" in str(caught.value)


@pytest.mark.parametrize(
    ("unfindable", "reason"),
    [(renamed, "it is a function, not a task"), (anonymous, "has no attribute '<lambda>'")],
)
def test_a_task_that_no_worker_could_find_is_refused(unfindable: Any, reason: str) -> None:
    with pytest.raises(InvalidTask) as caught:
        prepare(unfindable, (), {})
    assert reason in str(caught.value)


def test_a_task_inside_a_class_can_be_found() -> None:
    assert prepare(Holder.nested, (), {}).task == "tests.support.produce.Holder.nested"  # type: ignore[arg-type]


def test_a_naive_instant_means_the_projects_zone(settings: Settings) -> None:
    settings.USE_TZ = False
    settings.TIME_ZONE = "Europe/Berlin"
    job = prepare(anything.using(run_after=dt.datetime(2030, 1, 2, 12)), (), {})  # noqa: DTZ001
    assert job.run_at == dt.datetime(2030, 1, 2, 11, tzinfo=dt.UTC)
    assert timezone.is_aware(job.run_at)


@pytest.mark.parametrize(
    "never",
    [
        dt.datetime.max.replace(tzinfo=dt.timezone(dt.timedelta(hours=-12))),
        dt.datetime.max.replace(tzinfo=dt.UTC),
        dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=12))),
        dt.datetime.min.replace(tzinfo=dt.UTC),
        dt.datetime(9998, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-2))),
        dt.datetime(2, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    ],
    ids=str,
)
def test_an_instant_that_not_every_reader_could_hold(never: dt.datetime) -> None:
    with pytest.raises(InvalidTask) as caught:
        prepare(anything.using(run_after=never), (), {})
    assert str(caught.value).startswith(f"tests.support.produce.anything: run_after is {never.isoformat()}")
    assert "of the years 2 to 9998 in UTC" in str(caught.value)
    assert "leave it out" in str(caught.value)


@pytest.mark.parametrize(
    ("edge", "zone"),
    [(dt.datetime.min, "Europe/Berlin"), (dt.datetime.max, "America/New_York")],  # noqa: DTZ901
)
def test_a_naive_instant_that_has_no_place_in_utc(settings: Settings, edge: dt.datetime, zone: str) -> None:
    settings.USE_TZ = False
    settings.TIME_ZONE = zone
    with pytest.raises(InvalidTask, match="run_after is"):
        prepare(anything.using(run_after=edge), (), {})


# -- calls ------------------------------------------------------------------------------------------------


def test_a_call_is_bound_and_not_made() -> None:
    task = with_options.using(priority=5)
    call = task.bind(1, note="a")
    assert (call.task, call.args, call.kwargs) == (task, (1,), {"note": "a"})
    assert call == Call(task, (1,), {"note": "a"})
    with pytest.raises(dataclasses.FrozenInstanceError):
        call.args = ()  # type: ignore[misc]


def test_what_a_call_would_store() -> None:
    entry = prepared(with_options.using(idempotency_key="k", on_conflict="keep"), (1,), {}, "calls[3]")
    assert (entry.job.args, entry.key, entry.on_conflict, entry.place) == (
        "[1]", ("default", "k"), OnConflict.KEEP, "calls[3]",
    )  # fmt: skip
    plain = prepared(plain_add, (1,), {})
    assert (plain.has_key, plain.on_conflict, plain.place) == (False, None, "")


def test_an_error_says_which_call_it_is_about() -> None:
    with pytest.raises(InvalidArguments, match=r"^calls\[3\]: tests.support.produce.with_options\(order"):
        prepared(with_options, (), {}, "calls[3]")
