"""measure_tables: sizes, and what VACUUM knows."""

from __future__ import annotations

import pytest
from django.db import connection

from conveyor_django.models import Job

from ..support.connections import Connect, scalar

pytestmark = pytest.mark.django_db


def test_the_tables_that_exist_by_name() -> None:
    rows = Job.objects.measure_tables(["conveyor_queue", "conveyor_job", "no such table", "conveyor_nothing"])
    assert [row.name for row in rows] == ["conveyor_job", "conveyor_queue"]
    for row in rows:
        assert row.table_bytes == scalar(connection, "SELECT pg_table_size(%s)", (row.name,))
        assert row.index_bytes == scalar(connection, "SELECT pg_indexes_size(%s)", (row.name,)) > 0


def test_rows_and_vacuum(connect: Connect) -> None:
    own = connect()
    own.execute("CREATE TABLE conveyor_measured AS SELECT n FROM generate_series(1, 500) AS n")
    try:
        [before] = Job.objects.measure_tables(["conveyor_measured"], on=own)
        assert (before.row_count, before.vacuumed_at) == (0, None)
        own.execute("VACUUM conveyor_measured")
        [after] = Job.objects.measure_tables(["conveyor_measured"], on=own)
        assert after.row_count == 500
        assert after.vacuumed_at is not None
    finally:
        own.execute("DROP TABLE conveyor_measured")
