"""list_invalid_indexes: one that failed (how it comes about: tests/operate/test_doctor_tables.py)."""

from __future__ import annotations

import pytest
from django.db import connection

from conveyor_django.managers.looking import LookManager

pytestmark = pytest.mark.django_db


def test_none() -> None:
    assert LookManager().list_invalid_indexes() == []


@pytest.mark.parametrize("mark", ["indisvalid", "indisready"])
def test_one_of_ours_and_nobody_else_s(mark: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE pg_index SET {mark} = false WHERE indexrelid IN "
            "('conveyor_job_key'::regclass, 'auth_group_name_key'::regclass)"
        )
        assert LookManager().list_invalid_indexes() == [("conveyor_job_key", "conveyor_job")]
