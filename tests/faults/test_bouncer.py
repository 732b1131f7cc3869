"""PgBouncer in transaction mode, and what a pooled session tells of its users."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.server import own_server

from .bouncer import own_bouncer

pytestmark = pytest.mark.fault

# A worker's connection, and then somebody who gives no name and gets the same session: there is but one.
SCRIPT = """
import django, psycopg, sys
django.setup()
from conveyor_django.db import connect, is_pooled
with connect("default", "conveyor 0123 pump", lease_seconds=30.0) as mine:
    print(is_pooled(mine))
    pid = mine.execute("SELECT pg_backend_pid()").fetchone()[0]
    with psycopg.connect(sys.argv[1], autocommit=True) as other:
        print(other.execute("SELECT pg_backend_pid()").fetchone()[0] == pid)
        print(other.execute("SHOW application_name").fetchone()[0])
"""


def test_a_pooled_session_is_passed_on_without_its_owners_name():
    """Who rescues that owner's jobs would else end a session that serves another."""
    with own_server() as server, own_bouncer(str(Path(server.socket).parent), pool=1) as bouncer:
        url = bouncer.url(server.url)
        server.environment["DATABASE_URL"] = url
        pooled, same_session, name = server.python("-c", SCRIPT, url).split()
    assert (pooled, same_session) == ("True", "True")
    assert name == "conveyor"
