"""probe_job: whether somebody holds a job's row."""

from __future__ import annotations

import pytest

from conveyor_django.managers.looking import LookManager

from ..support.connections import Connect, scalar
from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_such_job() -> None:
    assert not LookManager().probe_job(1_000_000)


@pytest.mark.parametrize(
    ("strength", "held"), [("UPDATE", True), ("NO KEY UPDATE", True), ("SHARE", True), ("KEY SHARE", False)]
)
def test_held_by_what_keeps_claims_out(connect: Connect, strength: str, held: bool) -> None:
    job, holder = JobFactory(), connect()
    assert not LookManager().probe_job(job.pk)
    with holder.transaction():
        holder.execute(f"SELECT FROM conveyor_job WHERE id = %s FOR {strength}", [job.pk])
        assert LookManager().probe_job(job.pk) is held
    assert not LookManager().probe_job(job.pk)


def test_a_row_that_nobody_has_touched_is_not_touched(connect: Connect) -> None:
    job, looker = JobFactory(), connect()
    with looker.transaction():
        assert not LookManager().probe_job(job.pk, on=looker)
        assert scalar(looker, "SELECT pg_current_xact_id_if_assigned()") is None
