"""`manage.py conveyor_enqueue`: enqueue a task by hand, with all the checks of an enqueue in code."""

from __future__ import annotations

import datetime as dt
from argparse import ArgumentParser
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.utils import timezone

from ...compat import InvalidTask
from ...conf import conveyor_settings
from ...enqueue import stores_jobs
from ...errors import ConveyorError, UnknownTask
from ...registry import resolve_task
from ..arguments import json_list, json_object, moment
from ..base import OperatingCommand
from ..startup import require_migrations

if TYPE_CHECKING:
    from ...compat import Task


class Command(OperatingCommand):
    """Call a task's own enqueue."""

    help = "Enqueue a task, and print the id of its result. Exit code: 0 if it is enqueued, 1 if it is refused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Define the options."""
        add = parser.add_argument
        add("task", metavar="TASK", help="The dotted path of the task, such as shop.tasks.charge.")
        add("--args", type=json_list, default=[], dest="arguments", metavar="JSON", help="A list, such as '[42]'.")
        add(
            "--kwargs",
            type=json_object,
            default={},
            dest="keywords",
            metavar="JSON",
            help="An object, such as '{\"a\": 1}'.",
        )
        add("--queue", metavar="NAME", help="In place of the task's own; its database follows from it.")
        add("--priority", type=int, help="From -100 to 100, in place of the task's own.")
        add("--run-after", type=moment, metavar="WHEN", help="Not before 2026-11-30T14:00, or for so long: 15m, 2d.")
        add("--key", help="The idempotency key: a second enqueue with it gives the same job back.")
        self.add_json(parser)

    def handle(self, *, task: str, arguments: list[Any], keywords: dict[str, Any], as_json: bool, **given: Any) -> None:
        """Enqueue once."""
        try:
            chosen = _changed(_stored(resolve_task(task)), given)
            settings = conveyor_settings()
            require_migrations(settings.database_of(chosen.queue_name), settings)
            result = chosen.enqueue(*arguments, **keywords)
        # A worker's words for it speak of the job that it holds.
        except UnknownTask as error:
            raise CommandError(
                f"Not enqueued: there is no task {error.path!r}: {error.reason}. Correct the path."
            ) from error
        # What an enqueue refuses says itself what is wrong and how to mend it.
        except (ConveyorError, InvalidTask, ImproperlyConfigured, TypeError, ValueError) as error:
            raise CommandError(f"Not enqueued: {error}") from error
        if as_json:
            self.print_json({"id": result.id, "task": task, "queue": chosen.queue_name, "status": result.status.name})
        else:
            self.stdout.write(result.id)


def _stored(task: Task[..., Any]) -> Task[..., Any]:
    """Return the task. Raises CommandError where its backend would not store a job."""
    if not stores_jobs(task.get_backend()):
        raise CommandError(
            f"Not enqueued: {task.module_path} is for the backend {task.backend!r}, which is not Conveyor's. Correct "
            f"TASKS, or name another task."
        )
    return task


def _changed(task: Task[..., Any], given: dict[str, Any]) -> Task[..., Any]:
    """Return the task with what the options change of it."""
    after = given["run_after"]
    changes: dict[str, Any] = {
        "queue_name": given["queue"],
        "priority": given["priority"],
        "run_after": timezone.now() + after if isinstance(after, dt.timedelta) else after,
        "idempotency_key": given["key"],
    }
    return task.using(**{name: value for name, value in changes.items() if value is not None})
