"""The page of a job: only to look at, and safe with whatever was enqueued."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conveyor_django.models import Job

from ..support.factories import AttemptFactory, JobFactory, LedgerFactory, PayloadFactory
from .admin_jobs import LIST, assert_no_scan, page_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

ADD = reverse("admin:conveyor_job_add")
HOSTILE = "</pre><script>alert('x')</script>&<img src=x onerror=alert(1)>"


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
