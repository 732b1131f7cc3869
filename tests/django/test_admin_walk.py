"""Finding the newest jobs that match: in windows, within a moment, none twice and none left out."""

from __future__ import annotations

import datetime as dt

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conveyor_django.admin import candidates
from conveyor_django.models import Job
from conveyor_django.operate import walk

from ..support.factories import JobFactory, in_seconds

pytestmark = pytest.mark.django_db


@pytest.fixture
def _small_windows(monkeypatch):
    monkeypatch.setattr(walk, "FIRST", 3)
    monkeypatch.setattr(walk, "GROWTH", 1)


def pages(jobs, *, limit: int, **options) -> list[list[int]]:
    """Return the ids of each page, from the newest to the oldest; time is no matter unless it is given."""
    options = {"patience": 60} | options
    found = walk.walk(jobs, among=Job.objects.all(), before=None, limit=limit, **options)
    shown = [found.ids]
    while found.before is not None:
        assert len(shown) < 100
        found = walk.walk(jobs, among=Job.objects.all(), before=found.before, limit=limit, **options)
        shown.append(found.ids)
    return shown


@pytest.mark.usefixtures("_small_windows")
class TestWalk:
    @pytest.fixture
    def wanted(self) -> list[int]:
        """Twenty jobs; the ids of those of one queue, the newest first, unevenly spread."""
        ids = [JobFactory(queue="wanted" if n in {0, 1, 2, 9, 10, 19} else "other").pk for n in range(20)]
        return [ids[n] for n in (19, 10, 9, 2, 1, 0)]

    @pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 7])
    def test_every_match_is_on_one_page_the_newest_first(self, wanted, limit):
        shown = pages(Job.objects.filter(queue="wanted"), limit=limit)
        assert [job_id for page in shown for job_id in page] == wanted
        assert [len(page) for page in shown] == [limit] * (6 // limit) + ([6 % limit] if 6 % limit else [])

    @pytest.mark.parametrize("limit", [1, 4, 10])
    def test_out_of_time_it_says_where_to_look_on(self, wanted, limit):
        jobs = Job.objects.filter(queue="wanted")
        found = walk.walk(jobs, among=Job.objects.all(), before=None, limit=10, patience=0)
        assert (found.ids, found.gave_up) == (wanted[:1], True)
        # One window: three jobs, the last of which is where the next look begins.
        assert found.before == Job.objects.order_by("-pk")[2].pk
        shown = pages(jobs, limit=limit, patience=0)
        assert [job_id for page in shown for job_id in page] == wanted

    def test_nothing_matches(self, wanted):
        found = walk.walk(Job.objects.filter(queue="none"), among=Job.objects.all(), before=None, limit=5, patience=60)
        assert found == walk.Found([])

    def test_it_walks_among_those_of_an_index(self):
        failed = [JobFactory(failed=True, queue=queue).pk for queue in ("a", "b", "b", "b", "a")]
        JobFactory.create_batch(10)
        among = Job.objects.filter(state="failed")
        with CaptureQueriesContext(connection) as captured:
            found = walk.walk(among.filter(queue="a"), among=among, before=None, limit=5, patience=60)
        assert found.ids == [failed[4], failed[0]]
        # Two windows of those that failed, and none of the others.
        assert len(captured) == 4


def test_a_window_grows_with_the_time_that_is_left(monkeypatch):
    monkeypatch.setattr(walk, "FIRST", 2)
    JobFactory.create_batch(40)
    with CaptureQueriesContext(connection) as captured:
        walk.walk(Job.objects.filter(queue="none"), among=Job.objects.all(), before=None, limit=5, patience=60)
    # 2, 16, and the rest.
    assert len(captured) == 6


def test_the_newest_of_all_need_one_query():
    ids = [job.pk for job in JobFactory.create_batch(5)]
    with CaptureQueriesContext(connection) as captured:
        assert walk.newest(Job.objects.all(), before=None, limit=2) == walk.Found(ids[:2:-1], before=ids[3])
        assert walk.newest(Job.objects.all(), before=ids[3], limit=3) == walk.Found(ids[2::-1])
    assert len(captured) == 2


def test_few_are_sorted_here():
    ids = [job.pk for job in JobFactory.create_batch(5)]
    assert walk.pick(Job.objects.all(), before=None, limit=2) == walk.Found(ids[:2:-1], before=ids[3])
    assert walk.pick(Job.objects.all(), before=ids[3], limit=3) == walk.Found(ids[2::-1])


class TestCandidates:
    def test_by_state(self):
        jobs = {
            state: [job.pk for job in JobFactory.create_batch(2, **traits)]
            for state, traits in {"running": {"running": True}, "scheduled": {"scheduled": True}, "ready": {}}.items()
        }
        JobFactory(succeeded=True)
        for state, ids in jobs.items():
            assert candidates.few_candidates("default", state=state) == ids
        assert candidates.few_candidates("default", state="succeeded") is None
        assert candidates.few_candidates("default", state=None) is None

    def test_ready_ones_that_are_parked_are_among_them(self):
        ids = [job.pk for job in (JobFactory(), JobFactory(parked_by_key=True), JobFactory(parked_by_task=True))]
        assert candidates.few_candidates("default", state="ready") == ids
        JobFactory(queue="other")
        assert candidates.few_candidates("default", state="ready", queue="default") == ids

    def test_those_that_ended_since(self):
        JobFactory(succeeded=True, finished_at=in_seconds(-7200))
        late = JobFactory(succeeded=True, finished_at=in_seconds(-60))
        hour = in_seconds(0) - dt.timedelta(hours=1)
        assert candidates.few_candidates("default", state=None, ended_from=hour) == [late.pk]

    def test_many_are_no_candidates(self, monkeypatch):
        monkeypatch.setattr(candidates, "FEW", 2)
        JobFactory.create_batch(2, running=True)
        assert len(candidates.few_candidates("default", state="running")) == 2
        JobFactory(running=True)
        assert candidates.few_candidates("default", state="running") is None
