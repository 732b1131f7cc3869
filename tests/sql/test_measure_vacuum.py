"""measure_vacuum: how far vacuum is with each table (dead rows: tests/operate/test_doctor_tables.py)."""

from __future__ import annotations

import datetime as dt

import pytest
from django.apps import apps
from django.db import connection

from conveyor_django.managers.looking import LookManager

from ..support.connections import scalar

pytestmark = pytest.mark.django_db


def test_each_table() -> None:
    tables = {model._meta.db_table for model in apps.get_app_config("conveyor").get_models()}
    assert {each.table for each in LookManager().measure_vacuum()} == tables


def test_what_calls_autovacuum_by_the_table_s_own_setting_and_by_the_server_s() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_class SET reltuples = 1000 WHERE relname IN ('conveyor_job', 'conveyor_worker')")
    triggers = {each.table: each.trigger for each in LookManager().measure_vacuum()}
    assert triggers["conveyor_job"] == pytest.approx(500 + 0.02 * 1000)
    assert triggers["conveyor_worker"] == pytest.approx(
        float(scalar(connection, "SHOW autovacuum_vacuum_threshold"))
        + float(scalar(connection, "SHOW autovacuum_vacuum_scale_factor")) * 1000
    )


def test_whether_it_may_come() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE conveyor_cron SET (autovacuum_enabled = off)")
    assert {each.table for each in LookManager().measure_vacuum() if not each.enabled} == {"conveyor_cron"}


@pytest.mark.django_db(transaction=True)
def test_how_long_ago_the_last_one_was() -> None:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM conveyor_pausedtask")
        last = scalar(
            connection,
            "SELECT greatest(last_vacuum, last_autovacuum) FROM pg_stat_user_tables "
            "WHERE relname = 'conveyor_pausedtask'",
        )
    found = LookManager().measure_vacuum(now=last + dt.timedelta(seconds=90))
    assert next(each.since for each in found if each.table == "conveyor_pausedtask") == 90
