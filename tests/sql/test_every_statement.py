"""Every statement has a test file, a manager method, typed parameters and one clock, and can be prepared."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from django.apps import apps

from conveyor_django.managers.cron import CronManager
from conveyor_django.managers.duties import DutyStatements
from conveyor_django.managers.fenced import FencedStatements
from conveyor_django.managers.jobs import JobManager
from conveyor_django.managers.limits import LimitStatements
from conveyor_django.managers.looking import LookManager
from conveyor_django.managers.queues import QueueManager
from conveyor_django.managers.workers import WorkerManager
from conveyor_django.managers.workflows import WorkflowManager
from conveyor_django.sql import names, numbered, positional, statement

from ..support.connections import Connect, plain_connection
from ..support.plans import explain_prepared
from ..support.samples import SAMPLES

FOLDER = Path(__file__).parent


def code_of(name: str) -> str:
    """Return the statement without its comments."""
    return re.sub(r"--.*", "", statement(name))


def test_each_has_its_test_file() -> None:
    tested = {path.stem.removeprefix("test_") for path in FOLDER.glob("test_*.py")}
    assert set(names()) <= tested, f"without a test file: {set(names()) - tested}"


def test_each_has_sample_parameters() -> None:
    assert set(SAMPLES) == set(names())


@pytest.mark.parametrize("name", names())
def test_each_has_its_manager_method(name: str) -> None:
    managers = (
        JobManager,
        CronManager,
        DutyStatements,
        FencedStatements,
        LimitStatements,
        LookManager,
        QueueManager,
        WorkerManager,
        WorkflowManager,
    )
    assert any(name in vars(manager) for manager in managers)


@pytest.mark.parametrize("name", names())
def test_each_begins_with_what_it_is_for(name: str) -> None:
    assert statement(name).startswith("-- ")


@pytest.mark.parametrize("name", names())
def test_each_parameter_is_cast(name: str) -> None:
    uncast = re.findall(r"%\(\w+\)s(?!::)", code_of(name))
    assert uncast == []


@pytest.mark.parametrize("name", names())
def test_each_takes_the_sample_s_parameters_and_no_other(name: str) -> None:
    assert set(numbered(code_of(name)).parameters) == set(SAMPLES[name])


@pytest.mark.parametrize("name", names())
def test_no_statement_reads_the_transaction_s_frozen_clock(name: str) -> None:
    frozen = re.findall(
        r"\bnow\(\)|current_timestamp|localtimestamp|transaction_timestamp", code_of(name), re.IGNORECASE
    )
    assert frozen == []
    if "statement_timestamp()" in code_of(name):
        assert "coalesce(%(now)s::timestamptz, statement_timestamp())" in code_of(name) or name == "cancel_job"


@pytest.fixture(scope="module")
def unknown_tables(django_db_setup: None) -> None:
    """Make the planner forget what autovacuum saw in earlier tests: of a few rows, every plan reads all."""
    models = apps.get_app_config("conveyor").get_models()
    tables = [model._meta.db_table for model in models]
    with closing(plain_connection()) as connection:
        # The ledger's trigger lets nobody truncate it.
        connection.execute("SET session_replication_role = replica")
        connection.execute(f"TRUNCATE {', '.join(tables)}".encode())
        connection.execute("DELETE FROM pg_statistic WHERE starelid = ANY(%s::regclass[])", [tables])


@pytest.mark.parametrize("name", names())
def test_each_can_be_prepared_and_explained(name: str, unknown_tables: None, connect: Connect) -> None:
    connection = connect()
    plan = explain_prepared(connection, statement(name), SAMPLES[name])
    assert plan.seq_scans() <= {"conveyor_worker", "conveyor_queue"}


@pytest.mark.parametrize("name", names())
def test_a_dedicated_connection_prepares_it_at_its_first_use(name: str, connect: Connect) -> None:
    connection = connect()
    connection.execute("BEGIN")
    connection.execute(statement(name), SAMPLES[name])
    prepared = connection.execute("SELECT statement FROM pg_prepared_statements", prepare=False).fetchall()
    assert len([text for (text,) in prepared if text == positional(name).text]) == 1
    connection.execute("ROLLBACK")
