"""The pages of jobs: cheap on a table of any size, only to look at, and safe with whatever was enqueued."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conveyor_django.admin import paginator
from conveyor_django.admin.paginator import EstimatingPaginator
from conveyor_django.models import Job

from ..support.factories import AttemptFactory, JobFactory, LedgerFactory, PayloadFactory, QueueFactory

pytestmark = pytest.mark.django_db

LIST = reverse("admin:conveyor_job_changelist")
ADD = reverse("admin:conveyor_job_add")
HOSTILE = "</pre><script>alert('x')</script>&<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def _cheap_passwords(settings):
    """Log in without half a second of hashing."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def page_of(job) -> str:
    return reverse("admin:conveyor_job_change", args=[job.pk])


def listed(response) -> list[int]:
    """Return the ids of the jobs on a list's page, in order."""
    return [job.pk for job in response.context["cl"].result_list]


def job_queries(captured) -> list[str]:
    """Return the captured queries that read the table of jobs."""
    return [query["sql"] for query in captured if "conveyor_job" in query["sql"]]


def assert_no_scan(captured) -> None:
    """Fail on a count without a limit and on a search for distinct values."""
    for text in job_queries(captured):
        assert "DISTINCT" not in text.upper()
        if re.search(r"COUNT\s*\(", text, re.IGNORECASE):
            assert f"LIMIT {paginator.COUNTED + 1}" in text


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
        # Session, user, estimate, bounded count, the page, the queues with settings, those with ready jobs.
        assert len(captured) == 7
        assert len(job_queries(captured)) == 4

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


class TestPage:
    def test_it_shows_arguments_runs_and_effects(self, admin_client):
        job = JobFactory(succeeded=True, payload=None, ledger=None, attempt=2, lease_version=2)
        PayloadFactory(job=job, args=[1, {"nested": [True, None]}], kwargs={"name": "Zoë"}, traceparent="00-ab")
        AttemptFactory(job=job, error_class="app.Boom", message="it broke", traceback="line 1\n  line 2")
        LedgerFactory(job=job, result={"paid": True})
        text = admin_client.get(page_of(job)).content.decode()
        for shown in (
            "&quot;nested&quot;: [\n", "&quot;name&quot;: &quot;Zoë&quot;", "00-ab", "2/5",
            "app.Boom: it broke", "line 1\n  line 2", "&quot;paid&quot;: true", "(success)",
        ):  # fmt: skip
            assert shown in text

    def test_the_newest_run_comes_first(self, admin_client):
        job = JobFactory(attempt=2, lease_version=2)
        for version in (1, 2):
            AttemptFactory(job=job, lease_version=version, number=version, message=f"run no. {version}")
        text = admin_client.get(page_of(job)).content.decode()
        assert text.index("run no. 2") < text.index("run no. 1")

    def test_what_it_asks_the_database(self, admin_client):
        job = JobFactory(failed=True)
        for version in range(1, 6):
            AttemptFactory(job=job, lease_version=version)
        # Django remembers the model's content type from the first time on.
        admin_client.get(page_of(job))
        with CaptureQueriesContext(connection) as captured:
            assert admin_client.get(page_of(job)).status_code == 200
        assert_no_scan(captured)
        # The session, the user, the job, its payload, attempts and ledger.
        selects = [query["sql"] for query in captured if query["sql"].startswith("SELECT")]
        assert len(selects) == 6, selects

    def test_hostile_values_stay_text(self, admin_client):
        job = JobFactory(
            failed=True, payload=None, task=HOSTILE, queue=HOSTILE, idempotency_key=HOSTILE, lease_version=1
        )
        PayloadFactory(job=job, args=[HOSTILE], kwargs={HOSTILE: HOSTILE}, traceparent=HOSTILE, tracestate=HOSTILE)
        AttemptFactory(job=job, error_class=HOSTILE, message=HOSTILE, traceback=HOSTILE)
        LedgerFactory(job=job, step=HOSTILE, result=HOSTILE)
        for url, query in ((page_of(job), {}), (LIST, {}), (LIST, {"queue": HOSTILE, "q": HOSTILE})):
            text = admin_client.get(url, query).content.decode()
            assert "&lt;script&gt;alert(" in text
            assert "<script>alert(" not in text
            assert "<img src=x" not in text

    def test_a_large_value_is_cut_and_says_so(self, admin_client):
        job = JobFactory(payload=None)
        PayloadFactory(job=job, args=["x" * 100_000])
        text = admin_client.get(page_of(job)).content.decode()
        assert "characters left out" in text
        assert len(text) < 60_000

    def test_a_job_without_payload_is_still_shown(self, admin_client):
        response = admin_client.get(page_of(JobFactory(payload=None)))
        assert response.status_code == 200

    @pytest.mark.parametrize("path", ["0", "nonsense", str(10**30)])
    def test_a_job_that_is_not_there_leads_back(self, admin_client, path):
        response = admin_client.get(reverse("admin:conveyor_job_change", args=[path]))
        assert (response.status_code, response.url) == (302, reverse("admin:index"))


class TestLookOnly:
    def test_nothing_can_be_added(self, admin_client):
        assert admin_client.get(ADD).status_code == 403
        assert admin_client.post(ADD, {"queue": "default"}).status_code == 403
        assert Job.objects.count() == 0

    def test_nothing_can_be_changed(self, admin_client):
        job = JobFactory()
        assert admin_client.post(page_of(job), {"queue": "elsewhere"}).status_code == 403
        job.refresh_from_db()
        assert job.queue == "default"

    def test_nothing_can_be_deleted(self, admin_client):
        job = JobFactory()
        url = reverse("admin:conveyor_job_delete", args=[job.pk])
        assert admin_client.get(url).status_code == 403
        assert admin_client.post(url, {"post": "yes"}).status_code == 403
        assert Job.objects.filter(pk=job.pk).exists()

    def test_no_action_does_it_either(self, admin_client):
        job = JobFactory()
        data = {"action": "delete_selected", "_selected_action": [job.pk], "post": "yes"}
        admin_client.post(LIST, data)
        assert Job.objects.filter(pk=job.pk).exists()

    def test_the_page_has_no_field_and_no_button(self, admin_client):
        text = admin_client.get(page_of(JobFactory())).content.decode()
        assert 'name="_save"' not in text
        assert 'name="queue"' not in text
        assert "deletelink" not in text

    def test_who_may_not_look_is_refused(self, client, django_user_model):
        client.force_login(django_user_model.objects.create_user("staff", is_staff=True))
        assert client.get(LIST).status_code == 403
        assert client.get(page_of(JobFactory())).status_code == 403


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


@pytest.mark.parametrize("model", ["Job", "Queue", "Worker"])
def test_every_page_is_about_conveyor_s_database(settings, model, rf):
    settings.CONVEYOR = {"DATABASE": "elsewhere"}
    page = next(page for cls, page in admin.site._registry.items() if cls.__name__ == model)
    request = rf.get("/")
    request.user = SimpleNamespace()
    assert page.get_queryset(request).db == "elsewhere"
