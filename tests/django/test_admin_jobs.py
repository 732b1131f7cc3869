"""The list of jobs: its filters and its search are cheap on a table of any size."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models.functions import Substr
from django.test.utils import CaptureQueriesContext

from conveyor_django.admin import JobAdmin, joblist
from conveyor_django.models import Payload, Queue
from conveyor_django.models.job import TRACE_ID
from conveyor_django.operate import walk

from ..support.factories import JobFactory, PayloadFactory, QueueFactory, in_seconds
from .admin_jobs import LIST, assert_no_scan, job_queries

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


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
        # Session, user, the queues with settings, those with ready jobs, tasks by statistics, the page's ids, its rows,
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
        [
            {"state": "ready"},
            {"state": "failed"},
            {"queue": "default"},
            {"state": "ready", "queue": "default"},
            {"task": "shop.tasks.noop"},
            {"enqueued": "1h"},
            {"ended": "1h"},
            {"p": "2"},
            {"before": "9999999"},
        ],
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


class TestPages:
    @pytest.fixture(autouse=True)
    def _few_on_a_page(self, monkeypatch):
        monkeypatch.setattr(JobAdmin, "list_per_page", 2)

    @pytest.mark.parametrize("query", [{}, {"queue": "default"}, {"state": "failed"}, {"q": "k"}, {"state": "running"}])
    def test_from_the_newest_to_the_oldest(self, admin_client, query):
        traits = {query["state"]: True} if "state" in query else {}
        # A key is one job's in each queue.
        places = [{"queue": f"q{n}", "idempotency_key": "k"} if "q" in query else {} for n in range(5)]
        jobs = [JobFactory(**traits, **place) for place in places]
        url, shown = LIST + "?" + urlencode(query), []
        while url:
            response = admin_client.get(url)
            shown.append(listed(response))
            older = response.context["cl"].older_url
            assert (older is not None) == ("Older jobs" in response.content.decode())
            url = older and LIST + older
        ids = [job.pk for job in reversed(jobs)]
        assert shown == [ids[:2], ids[2:4], ids[4:]]
        assert "Newest jobs" in response.content.decode()

    def test_other_links_do_not_keep_the_place(self, admin_client):
        jobs = JobFactory.create_batch(3)
        text = admin_client.get(LIST, {"before": jobs[2].pk}).content.decode()
        assert text.count(f"before={jobs[2].pk}") == 0
        # The form of the search does not either.
        assert 'name="before"' not in text

    def test_a_page_says_how_many_there_are(self, admin_client):
        JobFactory.create_batch(3)
        assert admin_client.get(LIST).context["cl"].told == "3 jobs"
        assert admin_client.get(LIST, {"queue": "default"}).context["cl"].told == "2 jobs on this page, and older ones"
        assert admin_client.get(LIST, {"queue": "none"}).context["cl"].told == "0 jobs"

    def test_where_it_gave_up_it_offers_to_look_further(self, admin_client, monkeypatch):
        monkeypatch.setattr(walk, "FIRST", 2)
        monkeypatch.setattr(joblist, "walk", partial(walk.walk, patience=0))
        rare = JobFactory(queue="rare")
        JobFactory.create_batch(3)
        response = admin_client.get(LIST, {"queue": "rare"})
        found = response.context["cl"].found
        assert (found.ids, found.gave_up) == ([], True)
        text = response.content.decode()
        assert "0 jobs found down to job" in text
        assert "Look further" in text
        assert listed(admin_client.get(LIST + response.context["cl"].older_url)) == [rare.pk]

    @pytest.mark.parametrize("before", ["", "x", "-1", "9" * 19, "9" * 5000, "٣"])
    def test_a_place_that_is_none_leads_back_to_the_list(self, admin_client, before):
        JobFactory()
        response = admin_client.get(LIST, {"before": before})
        assert (response.status_code, response.url) == (302, f"{LIST}?e=1")
        assert listed(admin_client.get(response.url))


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

    def test_by_task(self, admin_client):
        JobFactory()
        other = JobFactory(task="shop.tasks.other")
        assert listed(admin_client.get(LIST, {"task": " shop.tasks.other "})) == [other.pk]

    def test_the_tasks_offered_are_those_of_the_statistics(self, admin_client):
        for task in ("shop.tasks.b", "shop.tasks.a"):
            JobFactory.create_batch(5, task=task)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE conveyor_job")
        text = admin_client.get(LIST).content.decode()
        assert text.index("?task=shop.tasks.a") < text.index("?task=shop.tasks.b")

    def test_by_when_it_was_enqueued(self, admin_client):
        old = JobFactory(created_at=in_seconds(-7200))
        new = JobFactory()
        assert listed(admin_client.get(LIST, {"enqueued": "1h"})) == [new.pk]
        assert listed(admin_client.get(LIST, {"enqueued": "1d"})) == [new.pk, old.pk]
        hour_ago = in_seconds(-3600).isoformat()
        assert listed(admin_client.get(LIST, {"enqueued": f"..{hour_ago}"})) == [old.pk]

    @pytest.mark.parametrize("state", [None, "failed"])
    def test_by_when_it_ended(self, admin_client, state):
        JobFactory()
        JobFactory(failed=True, finished_at=in_seconds(-7200))
        new = JobFactory(failed=True)
        query = {"ended": "1h"} | ({"state": state} if state else {})
        assert listed(admin_client.get(LIST, query)) == [new.pk]

    def test_what_is_no_time_finds_nothing_and_says_so(self, admin_client):
        JobFactory()
        response = admin_client.get(LIST, {"enqueued": "' OR 1=1 --"})
        assert (response.status_code, listed(response)) == (200, [])
        text = response.content.decode()
        assert "&#x27;&#x27; OR 1=1 --&#x27;" in text or "is no span of time" in text
        assert "' OR 1=1" not in text

    def test_a_typed_filter_keeps_the_others(self, admin_client):
        text = admin_client.get(LIST, {"state": "failed", "task": '"><script>x'}).content.decode()
        assert '<input type="hidden" name="state" value="failed">' in text
        assert 'value="&quot;&gt;&lt;script&gt;x"' in text
        assert "<script>x" not in text

    def test_the_tasks_to_choose_from_are_said_to_be_not_all(self, admin_client):
        text = admin_client.get(LIST).content.decode()
        by_task = text.split("<summary>By task</summary>")[1].split("</details>")[0]
        assert "Listed are only those that the database&#x27;s statistics know." in by_task
        assert text.count("Listed are only") == 1

    def test_the_queues_offered_are_those_that_need_no_scan(self, admin_client):
        QueueFactory(name="with-settings")
        JobFactory(queue="with-ready-jobs")
        JobFactory(queue="with-old-jobs", succeeded=True)
        filters = {spec.parameter_name: spec for spec in admin_client.get(LIST).context["cl"].filter_specs}
        offered = [value for value, _ in filters["queue"].lookup_choices]
        assert offered == ["default", "orders", "with-ready-jobs", "with-settings"]
        assert not filters["queue"].note

    def test_of_many_queues_the_first_are_offered_and_any_may_be_typed(self, admin_client):
        Queue.objects.bulk_create(Queue(name=f"q{number:04}") for number in range(1200))
        wanted = JobFactory(queue="q1199")
        response = admin_client.get(LIST, {"queue": "q1199"})
        filters = {spec.parameter_name: spec for spec in response.context["cl"].filter_specs}
        assert [value for value, _ in filters["queue"].lookup_choices][-1] == "q0097"
        assert len(filters["queue"].lookup_choices) == 100
        page = response.content.decode()
        assert "1,102 more are not listed." in page
        assert 'name="queue" value="q1199"' in page
        assert listed(response) == [wanted.pk]

    @pytest.mark.parametrize("query", [{}, {"state": "ready"}])
    def test_an_empty_field_is_every_queue(self, admin_client, query):
        jobs = [JobFactory(queue=name) for name in ("a", "b")]
        assert listed(admin_client.get(LIST, query | {"queue": ""})) == [job.pk for job in reversed(jobs)]

    @pytest.mark.parametrize(
        "query",
        [
            {"state": "no such state"},
            {"queue": "a\x00b"},
            {"queue": "nowhere"},
            {"task": "a\x00b"},
            {"task": "' OR '1"},
        ],
    )
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

    @pytest.mark.parametrize("term", [TRACE, TRACE.upper(), f"00-{TRACE}-00f067aa0ba902b7-01", f" {TRACE} "])
    def test_by_trace(self, admin_client, term):
        jobs = JobFactory.create_batch(2, payload=None)
        for job in jobs:
            PayloadFactory(job=job, traceparent=f"00-{TRACE}-{job.pk:016x}-01")
        JobFactory(payload__traceparent="00-" + "ab" * 16 + "-00f067aa0ba902b7-01")
        JobFactory()
        assert listed(admin_client.get(LIST, {"q": term})) == [job.pk for job in reversed(jobs)]

    def test_a_trace_is_found_by_its_index(self):
        query = Payload.objects.annotate(trace=Substr("traceparent", *TRACE_ID))
        query = query.filter(traceparent__isnull=False, trace=TRACE)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
        assert "conveyor_payload_trace" in query.explain()

    def test_with_a_filter(self, admin_client):
        JobFactory(queue="a", idempotency_key="order-1")
        wanted = JobFactory(queue="b", idempotency_key="order-1")
        assert listed(admin_client.get(LIST, {"q": "order-1", "queue": "b"})) == [wanted.pk]

    @pytest.mark.parametrize(
        "term",
        [
            "order",
            "99999999999999999999",
            "-1",
            "1 OR 1=1",
            "%",
            "'",
            "٣",
            "'; DROP TABLE conveyor_job; --",
            "00-x",
            "0" * 32,
        ],
    )
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
