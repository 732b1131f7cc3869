"""The paginator of the lists: large tables are estimated, all others are counted to a bound."""

from __future__ import annotations

import pytest
from django.db import connection

from conveyor_django.admin import paginator
from conveyor_django.admin.paginator import EstimatingPaginator
from conveyor_django.models import Job

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db


class TestPaginator:
    """The table's estimate is made up here: what matters is what is done with it."""

    @pytest.fixture(autouse=True)
    def _count_to_five(self, monkeypatch):
        monkeypatch.setattr(paginator, "COUNTED", 5)

    @pytest.fixture
    def estimate(self):
        def set_estimate(rows: int) -> None:
            with connection.cursor() as cursor:
                cursor.execute("UPDATE pg_class SET reltuples = %s WHERE oid = 'conveyor_job'::regclass", (rows,))

        return set_estimate

    @staticmethod
    def count(queryset) -> int:
        return EstimatingPaginator(queryset.order_by("-id"), 2).count

    @pytest.mark.parametrize("estimated", [-1, 0, 5])
    def test_a_small_table_is_counted(self, estimate, estimated):
        JobFactory.create_batch(4)
        estimate(estimated)
        assert self.count(Job.objects.all()) == 4

    def test_a_large_table_is_not(self, estimate, django_assert_num_queries):
        JobFactory.create_batch(4)
        estimate(1_000_000)
        with django_assert_num_queries(1):
            assert self.count(Job.objects.all()) == 1_000_000

    def test_a_table_larger_than_its_estimate_is_counted_to_the_bound(self, estimate):
        JobFactory.create_batch(8)
        estimate(0)
        assert self.count(Job.objects.all()) == 6

    def test_a_filtered_list_never_takes_the_estimate(self, estimate):
        JobFactory.create_batch(8)
        JobFactory.create_batch(3, failed=True)
        estimate(1_000_000)
        assert self.count(Job.objects.filter(state="failed")) == 3
        assert self.count(Job.objects.filter(state="ready")) == 6
        assert self.count(Job.objects.none()) == 0
