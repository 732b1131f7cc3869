"""The migrations: from nothing to the tables and back, on a database of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.core.management import call_command
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from conveyor_django.db import Connection

from ..support.connections import scalar

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker

LATEST = [key for key in MigrationLoader(None).graph.leaf_nodes() if key[0] == "conveyor"]
ALL = sorted(key for key in MigrationLoader(None).graph.nodes if key[0] == "conveyor")

ALIAS = "fresh"

# Everything that lives in the schema: tables, indexes and sequences; functions; triggers; constraints.
OBJECTS = """
SELECT count(*) FROM (
    SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
    UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace
) AS object
WHERE name LIKE '%conveyor%'
"""


@pytest.fixture
def fresh(watcher: Connection) -> Iterator[BaseDatabaseWrapper]:
    """Django's connection to an empty database."""
    name = f"{connections['default'].settings_dict['NAME']}_migrations"
    watcher.execute(f'DROP DATABASE IF EXISTS "{name}"')
    watcher.execute(f'CREATE DATABASE "{name}"')
    # Under an alias of its own: what has been applied is read by alias.
    connections.databases[ALIAS] = connections["default"].settings_dict | {"NAME": name}
    yield connections[ALIAS]
    connections[ALIAS].close()
    del connections[ALIAS]
    del connections.databases[ALIAS]
    watcher.execute(f'DROP DATABASE "{name}"')


def migrate(wrapper: BaseDatabaseWrapper, targets: list[tuple[str, str | None]]) -> None:
    """Migrate the database to the targets."""
    MigrationExecutor(wrapper).migrate(targets)


def test_there_and_back_and_there_again(fresh: BaseDatabaseWrapper, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        migrate(fresh, LATEST)
        made = scalar(fresh, OBJECTS)
        assert made > 20
        migrate(fresh, [("conveyor", None)])
        assert scalar(fresh, OBJECTS) == 0
        migrate(fresh, LATEST)
        assert scalar(fresh, OBJECTS) == made


def test_step_by_step(fresh: BaseDatabaseWrapper, django_db_blocker: DjangoDbBlocker) -> None:
    counts = [0]
    with django_db_blocker.unblock():
        for step in ALL:
            migrate(fresh, [step])
            counts.append(scalar(fresh, OBJECTS))
        for index in reversed(range(len(ALL))):
            assert scalar(fresh, OBJECTS) == counts[index + 1]
            migrate(fresh, [ALL[index - 1] if index else ("conveyor", None)])
        assert scalar(fresh, OBJECTS) == 0


@pytest.mark.django_db
def test_the_models_have_no_change_that_is_not_migrated() -> None:
    call_command("makemigrations", "conveyor", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
def test_what_models_cannot_say_is_there() -> None:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE oid = 'conveyor_job'::regclass")
        options = cursor.fetchone()[0]
        cursor.execute("SELECT tgname FROM pg_trigger WHERE tgrelid = 'conveyor_ledger'::regclass AND NOT tgisinternal")
        triggers = cursor.fetchall()
    assert "fillfactor=70" in options
    assert triggers == [("conveyor_ledger_append_only",)]


# A project whose jobs live on an alias of their own, without a router: `migrate` of its SQLite default.
ON_SQLITE = """
import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection

settings.configure(
    INSTALLED_APPS=["django.contrib.contenttypes", "conveyor_django"],
    DATABASES={
        "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
        "pg": {"ENGINE": "django.db.backends.postgresql", "NAME": "nowhere", "HOST": "/nowhere"},
    },
    TASKS={"default": {"BACKEND": "conveyor_django.backend.ConveyorBackend"}},
    CONVEYOR={"DATABASE": "pg"},
)
django.setup()

def ours():
    return sum(name.startswith("conveyor") for name in connection.introspection.table_names())

call_command("migrate", verbosity=0, skip_checks=True)
made = ours()
call_command("migrate", "conveyor", "zero", verbosity=0, skip_checks=True)
print(made, ours())
"""


def test_there_and_back_on_a_default_database_that_is_not_postgresql() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", ON_SQLITE],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("12 0\n", "")
