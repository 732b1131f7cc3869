"""list_idle_slots: slots that nobody reads (one that is there: tests/sharding/test_operate.py, on its own server)."""

from __future__ import annotations

import pytest
from django.db import connection

from conveyor_django.managers.looking import LookManager

from ..support.connections import scalar

pytestmark = pytest.mark.django_db


def test_as_many_as_the_server_has() -> None:
    idle = scalar(connection, "SELECT count(*) FROM pg_replication_slots WHERE NOT active AND restart_lsn IS NOT NULL")
    assert len(LookManager().list_idle_slots()) == idle
