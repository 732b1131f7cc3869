"""System checks: `msg` is the problem, `hint` the fix; the ids are stable.

| id | what is wrong |
|---|---|
| conveyor.E001 | settings.CONVEYOR has an unknown key or an impossible value |
| conveyor.E002 | CONVEYOR["DATABASE"], or that of one of CONVEYOR["QUEUES"], is not in DATABASES |
| conveyor.E003 | such a database is not PostgreSQL |
| conveyor.E004 | its driver is psycopg2 |
| conveyor.E005 | its alias is too long for the ids of results |
| conveyor.E006 | a backend has OPTIONS that it does not know |
| conveyor.E007 | a backend has QUEUES that are not a list of names |
| conveyor.W001 | no backend in TASKS is Conveyor's |
| conveyor.W002 | Django reads and writes Conveyor's models in another database |
| conveyor.W003 | its connections are pooled, which workers do without |
| conveyor.W004 | CONVEYOR["QUEUES"] has a queue that no backend declares |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, router

from .compat import task_backends
from .conf import MAX_ID, MAX_QUEUE_LENGTH, ConveyorSettings, conveyor_settings, is_queue_name
from .errors import describe
from .results import result_id

if TYPE_CHECKING:
    from .backend import ConveyorBackend

# What the framework allows for an id.
MAX_RESULT_ID = 64


def register() -> None:
    """Register Conveyor's checks; twice is once."""
    checks.register(check_settings)
    checks.register(check_database)
    checks.register(check_backends)


def check_settings(**_: Any) -> list[checks.CheckMessage]:
    """Check settings.CONVEYOR itself."""
    try:
        conveyor_settings()
    except ImproperlyConfigured as error:
        return [checks.Error(str(error), hint="Correct CONVEYOR in the settings.", id="conveyor.E001")]
    return []


def check_database(**_: Any) -> list[checks.CheckMessage]:
    """Check the databases that CONVEYOR names, without connecting to them."""
    try:
        found = conveyor_settings()
    except ImproperlyConfigured:
        return []  # E001 tells.
    unknown = [alias for alias in found.databases if alias not in connections.settings]
    known = [alias for alias in found.databases if alias not in unknown]
    return [
        *(_unknown(found, alias) for alias in unknown),
        *(message for alias in known for message in (*_unsupported(alias), *_long_alias(alias), *_pooled(alias))),
        *([] if unknown else _misrouted(found.databases)),
    ]


def check_backends(**_: Any) -> list[checks.CheckMessage]:
    """Check that some task backend stores its tasks with Conveyor."""
    from .backend import ConveyorBackend

    ours = [backend for backend in task_backends.all() if isinstance(backend, ConveyorBackend)]
    if ours:
        return list(_undeclared(ours))
    return [
        checks.Warning(
            "No backend in TASKS is Conveyor's, so nothing is enqueued to it.",
            hint="Set TASKS['default']['BACKEND'] to 'conveyor_django.backend.ConveyorBackend'.",
            id="conveyor.W001",
        )
    ]


def check_backend(alias: str) -> Iterable[checks.CheckMessage]:
    """Check the entry of one of Conveyor's backends in settings.TASKS; the backend's `check` calls it."""
    entry = settings.TASKS[alias]
    for name in entry.get("OPTIONS") or {}:
        yield checks.Error(
            f"TASKS[{alias!r}]['OPTIONS'] has {name!r}, which Conveyor's backend does not know.",
            hint="Remove it: the backend takes no options; Conveyor's settings are in CONVEYOR.",
            id="conveyor.E006",
        )
    queues = entry.get("QUEUES", [])
    if isinstance(queues, str) or not all(is_queue_name(name) for name in queues):
        yield checks.Error(
            f"TASKS[{alias!r}]['QUEUES'] is {describe(queues)}, not a list of queue names.",
            hint=f"Give a list of texts of 1 to {MAX_QUEUE_LENGTH} characters; [] allows any queue.",
            id="conveyor.E007",
        )


def _undeclared(backends: Iterable[ConveyorBackend]) -> Iterator[checks.CheckMessage]:
    declared = [set(backend.queues) for backend in backends]
    try:
        named = conveyor_settings().queues
    except ImproperlyConfigured:
        return  # E001 tells.
    if not all(declared):
        return  # One of them takes any queue.
    for queue in sorted(set(named).difference(*declared)):
        yield checks.Warning(
            f"CONVEYOR['QUEUES'] has {queue!r}, which no Conveyor backend in TASKS declares.",
            hint=f"Correct the name, or add {queue!r} to QUEUES of a Conveyor backend in TASKS.",
            id="conveyor.W004",
        )


def _unknown(found: ConveyorSettings, alias: str) -> checks.CheckMessage:
    queues = [name for name, queue in found.queues.items() if queue.database == alias]
    place = "CONVEYOR['DATABASE']" if alias == found.database else f"CONVEYOR['QUEUES'][{queues[0]!r}]['DATABASE']"
    return checks.Error(
        f"{place} is {alias!r}, which is not in DATABASES.",
        hint=f"Name one of {', '.join(map(repr, connections.settings))}, or add {alias!r} to DATABASES.",
        id="conveyor.E002",
    )


def _unsupported(alias: str) -> Iterator[checks.CheckMessage]:
    connection: Any = connections[alias]
    if connection.vendor != "postgresql":
        yield checks.Error(
            f"Database {alias!r} is {connection.display_name}, but Conveyor needs PostgreSQL.",
            hint="Name the alias of a PostgreSQL database in CONVEYOR.",
            id="conveyor.E003",
        )
    elif connection.Database.__name__ != "psycopg":
        yield checks.Error(
            f"Database {alias!r} is driven by {connection.Database.__name__}, but Conveyor needs psycopg 3.",
            hint="Install it: pip install 'psycopg[binary]'. Django prefers it to psycopg2.",
            id="conveyor.E004",
        )


def _long_alias(alias: str) -> Iterator[checks.CheckMessage]:
    longest = len(result_id(alias, MAX_ID))
    if longest > MAX_RESULT_ID:
        yield checks.Error(
            f"The ids of results would have up to {longest} characters, more than the {MAX_RESULT_ID} that "
            f"the task framework allows: they hold the database alias {alias!r}.",
            hint=f"Shorten the alias by {longest - MAX_RESULT_ID} characters.",
            id="conveyor.E005",
        )


def _misrouted(aliases: Sequence[str]) -> Iterator[checks.CheckMessage]:
    from .models import Job

    used = {router.db_for_read(Job), router.db_for_write(Job)} - set(aliases)
    if used:
        yield checks.Warning(
            f"Jobs live in database {' and '.join(map(repr, aliases))}, but Django's ORM looks for Conveyor's models "
            f"in {', '.join(map(repr, sorted(used)))}.",
            hint=f"Add a database router that sends the app label 'conveyor' to {aliases[0]!r}.",
            id="conveyor.W002",
        )
    for alias in aliases:
        if not router.allow_migrate_model(alias, Job):
            yield checks.Warning(
                f"Jobs live in database {alias!r}, but a database router keeps Conveyor's tables out of it.",
                hint=f"Let allow_migrate({alias!r}, 'conveyor', ...) return True or None.",
                id="conveyor.W002",
            )


def _pooled(alias: str) -> Iterator[checks.CheckMessage]:
    if connections[alias].vendor == "postgresql" and connections.settings[alias]["OPTIONS"].get("pool"):
        yield checks.Warning(
            f"Database {alias!r} has a pool, but workers and schedulers ignore it: each of their threads keeps a "
            f"connection of its own.",
            hint="Let the server's max_connections have room for one to each of a worker's threads and a few more to "
            "each of its processes, and add 'conveyor.W003' to SILENCED_SYSTEM_CHECKS.",
            id="conveyor.W003",
        )
