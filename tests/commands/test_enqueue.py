"""`manage.py conveyor_enqueue`: the task's own enqueue, with all of its checks."""

from __future__ import annotations

import datetime as dt

import pytest
from django.core.management.base import CommandError
from django.db import connections

from conveyor_django.models import Job

from ..support import produce
from ..support.factories import in_seconds

pytestmark = pytest.mark.django_db

COMMAND = "conveyor_enqueue"
TASK = "tests.support.produce.anything"
PLAIN = "tests.support.produce.plain_add"


def test_the_result_s_id_is_printed(run):
    [printed] = run(COMMAND, TASK)
    job = Job.objects.get()
    assert (printed, job.task, job.queue, job.state) == (f"default:{job.pk}", TASK, "default", "ready")


def test_json(run_json):
    told = run_json(COMMAND, TASK, "--queue", "orders")
    assert told == {"id": f"default:{Job.objects.get().pk}", "task": TASK, "queue": "orders", "status": "READY"}


def test_with_arguments_and_options(run):
    run(
        COMMAND, TASK, "--args", '[42, "Ä", null]', "--kwargs", '{"deep": {"a": [1.5]}}', "--queue", "orders",
        "--priority", "-7", "--key", "k", "--run-after", "2031-05-06T07:08:09+02:00",
    )  # fmt: skip
    job = Job.objects.get()
    assert (job.payload.args, job.payload.kwargs) == ([42, "Ä", None], {"deep": {"a": [1.5]}})
    assert (job.queue, job.priority, job.idempotency_key, job.state) == ("orders", -7, "k", "scheduled")
    assert job.run_at == dt.datetime(2031, 5, 6, 5, 8, 9, tzinfo=dt.UTC)


def test_after_a_while(run):
    run(COMMAND, TASK, "--run-after", "90m")
    assert in_seconds(80 * 60) < Job.objects.get().run_at < in_seconds(100 * 60)


def test_a_task_of_django_s_own_decorator(run):
    run(COMMAND, PLAIN, "--args", "[1]", "--priority", "3", "--key", "k")
    job = Job.objects.get()
    assert (job.priority, job.idempotency_key) == (3, "k")


def test_a_key_that_is_taken_gives_that_job_back_or_says_why_not(run):
    first, second = (run(COMMAND, TASK, "--key", "k", "--args", "[1]") for _ in range(2))
    assert first == second
    with pytest.raises(CommandError, match="Not enqueued: idempotency key 'k' of queue 'default' already belongs to"):
        run(COMMAND, TASK, "--key", "k", "--args", "[2]")
    assert Job.objects.count() == 1


def test_a_task_that_is_not_there_is_no_worker_s_affair(run):
    with pytest.raises(CommandError) as caught:
        run(COMMAND, "tests.support.produce.anythin")
    assert str(caught.value) == (
        "Not enqueued: there is no task 'tests.support.produce.anythin': tests.support.produce has no attribute "
        "'anythin'. Correct the path."
    )


def test_without_the_tables_it_says_migrate(run, monkeypatch):
    settings = connections["default"].settings_dict
    monkeypatch.setitem(settings, "OPTIONS", settings["OPTIONS"] | {"options": "-c search_path=nowhere"})
    with pytest.raises(CommandError, match=r"Run `manage\.py migrate --database default`"):
        run(COMMAND, TASK)
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nosuch.task"], "there is no module 'nosuch'"),
        (["tests.support.produce.FOREIGN"], "it is a dict, not a task: decorate it with @task"),
        (["x"], "not a dotted path to a function in a module"),
        ([PLAIN, "--args", "[1, 2, 3]"], "cannot be called with these arguments: too many positional arguments"),
        ([PLAIN, "--kwargs", '{"c": 1}'], "cannot be called with these arguments"),
        ([TASK, "--args", "{}"], "must be a JSON list, such as '[42, \"Ada\"]', not '{}'"),
        ([TASK, "--kwargs", "[]"], "must be a JSON object, such as '{\"name\": \"Ada\"}', not '[]'"),
        ([TASK, "--args", "[1"], "is no JSON: Expecting ',' delimiter"),
        ([TASK, "--args", "[" * 100_000], "is no JSON"),
        ([TASK, "--args", "[NaN]"], "args[0]"),
        ([TASK, "--args", '["\\u0000"]'], "args[0]"),
        ([TASK, "--priority", "101"], "priority"),
        ([TASK, "--queue", "nosuch"], "nosuch"),
        ([TASK, "--key", ""], "idempotency_key"),
        ([TASK, "--run-after", "soon"], "or how long ago it is, such as 90s, 15m or 2d, not 'soon'"),
        ([TASK, "--run-after", "9999-12-31T23:59"], "--run-after: '9999-12-31T23:59' is no instant"),
    ],
    ids=lambda given: " ".join(given)[:60] if isinstance(given, list) else "",
)
def test_what_is_refused(run, arguments, says):
    with pytest.raises(CommandError) as caught:
        run(COMMAND, *arguments)
    assert says in str(caught.value)
    assert not Job.objects.exists()


def test_a_task_whose_backend_stores_no_jobs(run, settings, monkeypatch):
    settings.TASKS = produce.FOREIGN
    foreign = produce.framework.task(backend="foreign")(produce.anything.func)
    monkeypatch.setattr("conveyor_django.management.commands.conveyor_enqueue.resolve_task", lambda _path: foreign)
    with pytest.raises(CommandError, match="is for the backend 'foreign', which is not Conveyor's"):
        run(COMMAND, TASK)


@pytest.mark.django_db(transaction=True)
def test_on_the_database_of_its_queue(run, second):
    [printed] = run(COMMAND, TASK, "--queue", "orders")
    assert printed == f"second:{Job.objects.get().pk}"
