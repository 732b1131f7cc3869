"""The decorator: checked where the module is imported, and nothing of the task is changed."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from conveyor_django import InvalidArguments, InvalidCron, cron, crontab
from conveyor_django.compat import InvalidTask, Task
from conveyor_django.conf import ConveyorSettings
from conveyor_django.cronspec import CronSpec
from conveyor_django.crontab import CronEntry, declared_entries, job_of, preview
from conveyor_django.managers.cron import CronRow
from conveyor_django.tasks import task

from ..support import produce


@pytest.fixture(autouse=True)
def _no_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test begin without entries, and leave none."""
    monkeypatch.setattr(crontab, "_entries", {})


def report(day: str, *, loud: bool = False) -> None:
    """A handler."""


def make(path_of: Any = report) -> Task[..., Any]:
    return task(path_of)


def entry() -> CronEntry:
    [only] = declared_entries().values()
    return only


def test_the_public_name_is_the_decorator_whatever_was_imported_before() -> None:
    import conveyor_django.crontab
    import conveyor_django.models.cron

    assert conveyor_django.cron is cron is crontab.cron


def test_the_task_comes_back_unchanged() -> None:
    given = make()
    assert cron("0 6 * * mon", args=["monday"])(given) is given


def test_an_entry_with_every_option() -> None:
    cron(
        "0 6 * * mon", tz="Europe/Berlin", name="weekly", args=("monday",), kwargs={"loud": True}, missed="all",
        max_missed=3, overlap="skip", jitter=30, queue_name="orders",
    )(make())  # fmt: skip
    assert entry().row() == CronRow(
        name="weekly", expression="0 6 * * mon", zone="Europe/Berlin", task=f"{__name__}.report", args='["monday"]',
        kwargs='{"loud":true}', queue="orders", enabled=True, declared=True, missed="all", max_missed=3, overlap="skip",
        jitter_seconds=30,
    )  # fmt: skip
    assert entry().queue == "orders"


def test_an_entry_with_none() -> None:
    cron("@daily")(produce.anything)
    assert entry().row() == CronRow(
        name="tests.support.produce.anything", expression="@daily", zone="UTC", task="tests.support.produce.anything",
        declared=True,
    )  # fmt: skip
    assert entry().queue == "default"


def test_the_context_is_no_argument() -> None:
    cron("@daily", args=(5,))(produce.with_context)
    assert entry().args == "[5]"


def test_a_task_of_the_framework_s_own_decorator() -> None:
    cron("@daily", args=(1,), queue_name="orders")(produce.plain_add)
    assert (entry().name, entry().queue) == ("tests.support.produce.plain_add", "orders")


class TestNames:
    def test_a_second_entry_of_a_task_needs_one(self) -> None:
        given = make()
        cron("@daily", args=("a",))(given)
        with pytest.raises(InvalidCron, match=r"there is a cron entry '.*\.report' already.*name=") as caught:
            cron("@hourly", args=("b",))(given)
        assert caught.value.field == "name"
        cron("@hourly", args=("b",), name="hourly report")(given)
        assert len(declared_entries()) == 2

    def test_two_tasks_cannot_share_one(self) -> None:
        cron("@daily", name="same", args=("a",))(make())
        with pytest.raises(InvalidCron, match=f"'same' already, for {__name__}.report"):
            cron("@daily", name="same")(produce.anything)
        assert entry().task.module_path == f"{__name__}.report"

    def test_a_module_that_is_imported_again_declares_anew(self) -> None:
        cron("@daily", args=("a",))(make())
        again = make()
        cron("@hourly", args=("a",))(again)
        assert (entry().task, entry().spec.expression) == (again, "@hourly")

    @pytest.mark.parametrize("name", ["", "x" * 201, "a\x00b"])
    def test_one_that_cannot_be(self, name: str) -> None:
        with pytest.raises(InvalidCron, match="1 to 200 characters"):
            cron("@daily", name=name, args=("a",))(make())
        assert declared_entries() == {}


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"expression": "61 * * * *"}, InvalidCron, "cannot be read"),
        ({"tz": "Europe/Atlantis"}, InvalidCron, "time zone 'Europe/Atlantis' is unknown"),
        ({"missed": "some"}, InvalidCron, "missed must be one of"),
        ({"max_missed": 0}, InvalidCron, "max_missed must be"),
        ({"overlap": "maybe"}, InvalidCron, "overlap must be one of"),
        ({"jitter": -1}, InvalidCron, "jitter must be"),
        ({"args": ()}, InvalidArguments, "missing a required argument: 'day'"),
        ({"args": ("a", "b")}, InvalidArguments, "too many positional arguments"),
        ({"kwargs": {"quiet": True}}, InvalidArguments, "unexpected keyword argument 'quiet'"),
        ({"args": (dt.date(2026, 1, 1),)}, InvalidArguments, "which JSON cannot hold"),
        ({"queue_name": "nowhere"}, InvalidTask, "nowhere"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_at_import(options: dict[str, Any], error: type[Exception], says: str) -> None:
    given: dict[str, Any] = {"expression": "@daily", "args": ("a",)} | options
    with pytest.raises(error, match=says):
        cron(given.pop("expression"), **given)(make())
    assert declared_entries() == {}


@pytest.mark.parametrize("given", [report, None, "tests.support.produce.anything"])
def test_what_is_no_task_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="put it above @task"):
        cron("@daily")(given)


def test_the_job_of_an_entry() -> None:
    where = {"alias": "default", "settings": ConveyorSettings()}
    job = job_of("tests.support.produce.with_options", [5], {"note": "x"}, "orders", **where)
    assert (job.queue, job.args, job.kwargs, job.max_attempts) == ("orders", "[5]", '{"note":"x"}', 3)
    assert (job.run_at, job.idempotency_key) == (None, None)
    assert job_of("tests.support.produce.plain_with_context", ["x"], {}, None, **where).queue == "orders"


class TestPreview:
    AFTER = dt.datetime(2026, 3, 27, 12, tzinfo=dt.UTC)

    def test_of_an_expression(self) -> None:
        ticks = preview("30 2 * * *", "Europe/Berlin", 3, after=self.AFTER)
        assert [f"{tick:%d %H:%M %z}" for tick in ticks] == ["28 02:30 +0100", "29 03:00 +0200", "30 02:30 +0200"]

    def test_of_an_entry(self) -> None:
        cron("30 2 * * *", tz="Europe/Berlin", args=("a",))(make())
        assert preview(entry(), n=1, after=self.AFTER) == preview("30 2 * * *", "Europe/Berlin", 1, after=self.AFTER)

    def test_of_a_spec_from_now_on(self) -> None:
        ticks = preview(CronSpec("* * * * *"))
        assert len(ticks) == 5
        assert ticks[0] > dt.datetime.now(dt.UTC)
        assert ticks[0] - dt.datetime.now(dt.UTC) <= dt.timedelta(minutes=1)

    def test_of_nonsense(self) -> None:
        with pytest.raises(InvalidCron):
            preview("nonsense")
