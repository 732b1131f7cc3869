"""The options that say which jobs are meant, the same in every command; and the jobs that are named by id."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, Final

from django.core.management.base import CommandError

from ..conf import MAX_QUEUE_LENGTH, ConveyorSettings, is_queue_name
from ..errors import describe
from ..jsonrule import is_storable
from ..operate.filtering import JobFilter
from ..states import JobState
from .arguments import moment

# What narrows the choice down; without any of them, nothing was chosen.
_NARROWING: Final = ("states", "queues", "tasks", "since", "until", "error")


def add_places(parser: ArgumentParser, states: Sequence[JobState], default: str) -> None:
    """Define ``--queue``, ``--task`` and ``--state``; `default` says which states are meant without the last."""
    parser.add_argument("--queue", action="append", dest="queues", metavar="NAME", help="Of this queue; repeatable.")
    parser.add_argument("--task", action="append", dest="tasks", metavar="PATH", help="Of this task; repeatable.")
    parser.add_argument(
        "--state", action="append", dest="states", choices=[state.value for state in states],
        help=f"In this state; repeatable (default: {default}).",
    )  # fmt: skip


def add_times(parser: ArgumentParser, what: str) -> None:
    """Define ``--since`` and ``--until``; `what` is what the jobs did then."""
    for option, side in (("--since", "then or later"), ("--until", "before then")):
        parser.add_argument(
            option, type=moment, metavar="WHEN", help=f"That {what} {side}: 2026-11-30T14:00, or how long ago: 15m, 2d."
        )


def has_filter(options: dict[str, Any]) -> bool:
    """Say whether any of the options narrows the choice down."""
    return any(options.get(name) is not None for name in _NARROWING)


def filter_from(options: dict[str, Any], default: Sequence[JobState], **changes: Any) -> JobFilter:
    """Return what the options say; `default` are the states if they name none.

    Raises CommandError for a queue's name, a task's path or an error that no row can hold.
    """
    given = {name: options[name] for name in ("since", "until", "error") if options.get(name) is not None}
    queues, tasks = tuple(options["queues"] or ()), tuple(options["tasks"] or ())
    for queue in queues:
        if not is_queue_name(queue):
            raise CommandError(
                f"--queue {describe(queue)} is no queue's name: that is text of 1 to {MAX_QUEUE_LENGTH} characters."
            )
    for option, texts in (("--task", tasks), ("--error", (given.get("error", "x"),))):
        for text in texts:
            if not text or not is_storable(text):
                raise CommandError(f"{option} {describe(text)} finds nothing: pass text that PostgreSQL can store.")
    states = tuple(map(JobState, options["states"])) if options["states"] else tuple(default)
    return JobFilter(states=states, queues=queues, tasks=tasks, **given | changes)


def named_jobs(ids: Sequence[str], database: str | None, settings: ConveyorSettings) -> list[str]:
    """Return the result ids of jobs that are named by theirs, or by a bare id on `database`, each once.

    Raises CommandError for the id of another database than `database`.
    """
    alias = database or settings.database
    names = [f"{alias}:{text}" if text.isascii() and text.isdecimal() else text for text in ids]
    for name in names:
        if database and ":" in name and name.rpartition(":")[0] != database:
            raise CommandError(f"{name!r} is not of database {database!r}. Leave --database out, or correct the id.")
    return list(dict.fromkeys(names))
