"""`manage.py conveyor_pause` and `conveyor_resume`."""

from __future__ import annotations

import pytest
from django.core.management.base import CommandError

from conveyor_django.models import PausedTask, Queue

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db

TASK = "tests.support.produce.anything"


def paused() -> tuple[set[str], set[str]]:
    """Return the queues and the tasks that are paused."""
    queues = Queue.objects.filter(paused=True).values_list("name", flat=True)
    return set(queues), set(PausedTask.objects.values_list("task", flat=True))


def test_queues_and_tasks_there_and_back(run):
    assert run("conveyor_pause", "default", "orders", "--task", TASK) == [
        "queue default: nothing more of it is claimed; what runs, runs on.",
        "queue orders: nothing more of it is claimed; what runs, runs on.",
        f"task {TASK}: nothing more of it is claimed; what runs, runs on.",
    ]
    assert paused() == ({"default", "orders"}, {TASK})
    assert run("conveyor_resume", "orders") == ["queue orders: its jobs are claimed again."]
    assert paused() == ({"default"}, {TASK})
    run("conveyor_resume", "default", "--task", TASK)
    assert paused() == (set(), set())


def test_json(run_json):
    assert run_json("conveyor_pause", "default", "--task", TASK) == {"queues": ["default"], "tasks": [TASK]}


@pytest.mark.parametrize("command", ["conveyor_pause", "conveyor_resume"])
def test_what_is_none_is_said_and_the_others_are_done(run, capsys, command):
    Queue.objects.create(name="default", paused=command == "conveyor_resume")
    with pytest.raises(CommandError) as caught:
        run(command, "nosuch", "default", "--task", "no.such.task")
    said = str(caught.value)
    assert "declares the queue 'nosuch'" in said
    assert "'no.such.task' is no task" in said
    assert capsys.readouterr().out.startswith("queue default: ")
    assert Queue.objects.get(name="default").paused is (command == "conveyor_pause")


@pytest.mark.parametrize("command", ["conveyor_pause", "conveyor_resume"])
def test_nothing_is_named(run, command):
    with pytest.raises(CommandError, match="Name a queue, or a task by --task"):
        run(command)


def test_a_task_that_is_only_known_by_its_jobs(run):
    JobFactory(task="gone.from.code")
    run("conveyor_pause", "--task", "gone.from.code")
    assert paused() == (set(), {"gone.from.code"})
