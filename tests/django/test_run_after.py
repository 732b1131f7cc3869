"""The earliest and the latest instant that a job can wait for: its row can be read in every time zone."""

from __future__ import annotations

import datetime as dt

import pytest

from conveyor_django.compat import InvalidTask
from conveyor_django.models import Job

from ..support.connections import Connect, scalar
from ..support.produce import anything

pytestmark = pytest.mark.django_db(transaction=True)

EDGES = [dt.datetime(2, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 1, 1, tzinfo=dt.UTC) - dt.datetime.resolution]


@pytest.mark.parametrize("edge", EDGES, ids=str)
def test_the_edges_can_be_read(connect: Connect, edge: dt.datetime) -> None:
    anything.using(run_after=edge).enqueue()
    assert Job.objects.get().run_at == edge
    reader = connect()
    for zone in ("Etc/GMT+12", "Etc/GMT-14"):
        reader.execute(f"SET TimeZone = '{zone}'")
        assert scalar(reader, "SELECT run_at FROM conveyor_job") == edge


def test_what_lies_beyond_leaves_no_row() -> None:
    for beyond in (EDGES[0] - dt.datetime.resolution, EDGES[1] + dt.datetime.resolution):
        with pytest.raises(InvalidTask):
            anything.using(run_after=beyond).enqueue()
    assert not Job.objects.exists()


@pytest.mark.parametrize("hours", [-23, 21])
def test_an_offset_that_postgresql_does_not_read_is_stored_as_its_instant(hours: int) -> None:
    zone = dt.timezone(dt.timedelta(hours=hours))
    local = dt.datetime(2035, 1, 1, tzinfo=zone)
    anything.using(run_after=local).enqueue()
    anything.using(run_after=local).enqueue_many([(1,)])
    assert [job.run_at for job in Job.objects.all()] == [local] * 2
