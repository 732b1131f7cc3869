"""The list of jobs: its filters and its search are cheap on a table of any size."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ..support.factories import JobFactory, QueueFactory
from .admin_jobs import LIST, assert_no_scan, job_queries

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]


def listed(response) -> list[int]:
    """Return the ids of the jobs on a list's page, in order."""
    return [job.pk for job in response.context["cl"].result_list]


class TestList:
    def test_it_shows_the_newest_first(self, admin_client):
        jobs = JobFactory.create_batch(3)
        response = admin_client.get(LIST)
        assert listed(response) == [job.pk for job in reversed(jobs)]
        assert "0/5" in response.content.decode()

    def test_what_it_asks_the_database(self, admin_client):
        JobFactory.create_batch(101)
        with CaptureQueriesContext(connection) as captured:
            response = admin_client.get(LIST)
        assert response.status_code == 200
        assert_no_scan(captured)
        # Session, user, the queues with settings, those with ready jobs, tasks by statistics, ids of the page, its rows,
        # estimate, bounded count.
        assert len(captured) == 9
        assert len(job_queries(captured)) == 6

    def test_the_number_of_queries_does_not_grow_with_the_jobs(self, admin_client):
        JobFactory()
        with CaptureQueriesContext(connection) as few:
            admin_client.get(LIST)
        JobFactory.create_batch(30)
        with CaptureQueriesContext(connection) as many:
            admin_client.get(LIST)
        assert len(few) == len(many)

    @pytest.mark.parametrize(
        "query",
        [{"state": "ready"}, {"queue": "default"}, {"state": "ready", "queue": "default"}, {"p": "2"}],
    )
    def test_no_page_of_it_counts_the_table(self, admin_client, query):
        JobFactory.create_batch(101)
        with CaptureQueriesContext(connection) as captured:
            assert admin_client.get(LIST, query).status_code == 200
        assert job_queries(captured)
        assert_no_scan(captured)

    @pytest.mark.parametrize("url", ["?o=3", "?o=-4.2", "?_facets=True"])
    def test_no_url_makes_it_sort_or_count_otherwise(self, admin_client, url):
        jobs = [JobFactory(queue=name) for name in ("b", "a", "c")]
        with CaptureQueriesContext(connection) as captured:
            response = admin_client.get(LIST + url)
        assert listed(response) == [job.pk for job in reversed(jobs)]
        assert_no_scan(captured)

    @pytest.mark.parametrize("lookup", ["task__contains", "queue__icontains", "payload__args"])
    def test_no_url_filters_by_what_has_no_index(self, admin_client, lookup):
        assert admin_client.get(LIST, {lookup: "x"}).status_code == 400


class TestFilters:
    def test_by_state(self, admin_client):
        JobFactory()
        failed = JobFactory(failed=True)
        assert listed(admin_client.get(LIST, {"state": "failed"})) == [failed.pk]

    def test_by_queue(self, admin_client):
        JobFactory()
        other = JobFactory(queue="elsewhere")
        assert listed(admin_client.get(LIST, {"queue": "elsewhere"})) == [other.pk]

    def test_by_both(self, admin_client):
        JobFactory(failed=True)
        JobFactory(queue="elsewhere")
        wanted = JobFactory(failed=True, queue="elsewhere")
        assert listed(admin_client.get(LIST, {"queue": "elsewhere", "state": "failed"})) == [wanted.pk]

    def test_the_queues_offered_are_those_that_need_no_scan(self, admin_client):
        QueueFactory(name="with-settings")
        JobFactory(queue="with-ready-jobs")
        JobFactory(queue="with-old-jobs", succeeded=True)
        filters = {spec.parameter_name: spec for spec in admin_client.get(LIST).context["cl"].filter_specs}
        offered = [value for value, _ in filters["queue"].lookup_choices]
        assert offered == ["default", "orders", "with-ready-jobs", "with-settings"]

    @pytest.mark.parametrize("query", [{"state": "no such state"}, {"queue": "a\x00b"}, {"queue": "nowhere"}])
    def test_nonsense_finds_nothing(self, admin_client, query):
        JobFactory()
        response = admin_client.get(LIST, query)
        assert (response.status_code, listed(response)) == (200, [])


class TestSearch:
    def test_by_id(self, admin_client):
        wanted, _ = JobFactory.create_batch(2)
        assert listed(admin_client.get(LIST, {"q": str(wanted.pk)})) == [wanted.pk]

    def test_by_the_id_of_the_task_result(self, admin_client):
        wanted, _ = JobFactory.create_batch(2)
        assert listed(admin_client.get(LIST, {"q": f"default:{wanted.pk}"})) == [wanted.pk]

    def test_by_idempotency_key_in_any_queue(self, admin_client):
        jobs = [JobFactory(queue=queue, idempotency_key="order-1") for queue in ("a", "b", "c")]
        JobFactory(queue="b", idempotency_key="order-2")
        JobFactory(queue="d")
        assert listed(admin_client.get(LIST, {"q": " order-1 "})) == [job.pk for job in reversed(jobs)]

    def test_a_key_that_looks_like_an_id_is_found_too(self, admin_client):
        by_id = JobFactory()
        by_key = JobFactory(idempotency_key=str(by_id.pk))
        assert listed(admin_client.get(LIST, {"q": str(by_id.pk)})) == [by_key.pk, by_id.pk]

    def test_with_a_filter(self, admin_client):
        JobFactory(queue="a", idempotency_key="order-1")
        wanted = JobFactory(queue="b", idempotency_key="order-1")
        assert listed(admin_client.get(LIST, {"q": "order-1", "queue": "b"})) == [wanted.pk]

    @pytest.mark.parametrize("term", ["order", "99999999999999999999", "-1", "1 OR 1=1", "%", "'", "٣"])
    def test_what_is_neither_finds_nothing(self, admin_client, term):
        JobFactory(idempotency_key="order-1")
        response = admin_client.get(LIST, {"q": term})
        assert (response.status_code, listed(response)) == (200, [])

    def test_it_goes_by_index(self, admin_client):
        JobFactory.create_batch(3, queue="a")
        JobFactory(queue="b", idempotency_key="order-1")
        with CaptureQueriesContext(connection) as captured:
            admin_client.get(LIST, {"q": "order-1"})
        assert_no_scan(captured)
        by_key = next(text for text in job_queries(captured) if "idempotency_key = 'order-1'" in text)
        with connection.cursor() as cursor:
            # The planner would scan a table of four rows; this shows that it need not. One of the probes is
            # made while the statement runs, so without ANALYZE the plan does not show it.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute("EXPLAIN (ANALYZE) " + by_key)
            plan = "\n".join(row[0] for row in cursor.fetchall())
        assert "Seq Scan on conveyor_job" not in plan
        assert plan.count("conveyor_job_key") == 3, plan


@pytest.mark.parametrize("model", ["Job", "Queue", "Worker"])
def test_every_page_is_about_conveyor_s_database(settings, model, rf):
    settings.CONVEYOR = {"DATABASE": "elsewhere"}
    page = next(page for cls, page in admin.site._registry.items() if cls.__name__ == model)
    request = rf.get("/")
    request.user = SimpleNamespace()
    assert page.get_queryset(request).db == "elsewhere"
