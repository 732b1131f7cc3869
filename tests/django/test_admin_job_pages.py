"""The page of a job: only to look at, and safe with whatever was enqueued."""

from __future__ import annotations

import json
import os
import re
import uuid
from html.parser import HTMLParser

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conveyor_django import task
from conveyor_django.admin import jobpage, rows
from conveyor_django.admin.jsonview import READ
from conveyor_django.models import Dependency, Job

from ..support.factories import (
    AttemptFactory,
    JobFactory,
    LedgerFactory,
    PayloadFactory,
    QueueFactory,
    WorkerFactory,
    in_seconds,
)
from ..support.workflows import WorkflowFactory, child_of, member
from .admin_jobs import LIST, assert_no_scan, page_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

ADD = reverse("admin:conveyor_job_add")
HOSTILE = "</pre><script>alert('x')</script>&<img src=x onerror=alert(1)>"
SECRET = "hunter2"  # noqa: S105 - nobody's


@task
def log_in(user, password): ...


@task(takes_context=True)
def log_in_with_context(context, user, password): ...


def page(client, job) -> str:
    response = client.get(page_of(job))
    assert response.status_code == 200
    return response.content.decode()


def workflow_page(workflow) -> str:
    return reverse("admin:conveyor_workflow_change", args=[workflow.pk])


def selects(client, job) -> int:
    """Count the queries of a job's page, none of which looks through the table."""
    # Django remembers the model's content type from the first time on.
    client.get(page_of(job))
    with CaptureQueriesContext(connection) as captured:
        client.get(page_of(job))
    assert_no_scan(captured)
    return len([query for query in captured if query["sql"].startswith("SELECT")])


class Inline(HTMLParser):
    """Collects what is code or style within a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "style" or (tag == "script" and not given.get("src")):
            self.found.append(f"<{tag}>")
        self.found += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        self.found += [
            f"{tag} {value}" for value in given.values() if (value or "").startswith(("data:", "javascript:"))
        ]


def assert_keeps_the_policy(text: str) -> None:
    """Fail on inline style and script, and on handlers in attributes."""
    assert "<svg" in text
    inline = Inline()
    inline.feed(text)
    assert inline.found == []


class TestPage:
    def test_it_shows_arguments_runs_and_effects(self, admin_client):
        job = JobFactory(succeeded=True, payload=None, ledger=None, attempt=2, lease_version=2)
        PayloadFactory(job=job, args=[1, {"nested": [True, None]}], kwargs={"name": "Zoë"}, traceparent="00-ab")
        AttemptFactory(job=job, error_class="app.Boom", message="it broke", traceback="line 1\n  line 2")
        LedgerFactory(job=job, result={"paid": True})
        text = page(admin_client, job)
        for shown in (
            "&quot;nested&quot;: [\n", "&quot;name&quot;: &quot;Zoë&quot;", "00-ab", "2/5",
            "app.Boom: it broke", "line 1\n  line 2", "&quot;paid&quot;: true", "(success)",
        ):  # fmt: skip
            assert shown in text

    def test_the_newest_run_comes_first(self, admin_client):
        job = JobFactory(attempt=2, lease_version=2)
        for version in (1, 2):
            AttemptFactory(job=job, lease_version=version, number=version, message=f"run no. {version}")
        text = page(admin_client, job).split("Runs without success")[1]
        assert text.index("run no. 2") < text.index("run no. 1")
        # Its traceback is there to be read, the others to be opened.
        assert text.count('<details class="conveyor-error" open>') == 1
        assert text.index(" open>") < text.index("run no. 2")

    def test_the_queries_do_not_grow_with_runs_and_effects(self, admin_client):
        few, many = JobFactory(failed=True), JobFactory(failed=True)
        for version in range(1, 31):
            AttemptFactory(job=many, lease_version=version)
            LedgerFactory(job=many, step=f"step {version}", lease_version=version)
        AttemptFactory(job=few)
        assert selects(admin_client, few) == selects(admin_client, many)

    def test_what_ran_where(self, admin_client):
        worker, gone = WorkerFactory(host="web-1", pid=4711), uuid.uuid4()
        job = JobFactory(running=True, lease_version=2, attempt=2, lease_owner=worker.pk)
        AttemptFactory(job=job, owner=gone, verb="rescue")
        LedgerFactory(job=job, step="authorise", lease_version=2, owner=worker.pk, result={"ref": 7})
        text = page(admin_client, job)
        table = text.split("<summary>The timeline as a table")[1].split("</details>")[0]
        for shown in ("run 2: running", "run 1: rescue", "web-1, pid 4711", str(gone), "step authorise"):
            assert shown in table
        drawing = text.split("The runs, to scale")[1].split("</svg>")[0]
        for shown in ("run 2 · lease version 2", "running for", "rescue after", "step &#x27;authorise&#x27; committed"):
            assert shown in drawing
        assert "&quot;ref&quot;: 7" in text

    def test_it_says_that_runs_count_anew_after_a_retry_by_hand(self, admin_client):
        job = JobFactory(running=True, lease_version=2)
        said = "after a retry by hand runs count from 1 again"
        assert said not in page(admin_client, job)
        AttemptFactory(job=job, lease_version=1)
        assert said in page(admin_client, job)

    def test_it_says_why_the_job_is_not_running(self, admin_client):
        QueueFactory(name="<closed>", paused=True)
        text = page(admin_client, JobFactory(queue="<closed>")).split("Why it is not running")[1].split("</section>")[0]
        assert "&lt;closed&gt;" in text
        assert "paused" in text
        assert "<closed>" not in text
        # Of one that needs no reason, where it stands.
        assert "Where it stands" in page(admin_client, JobFactory(succeeded=True))

    def test_bounds(self, admin_client, monkeypatch):
        monkeypatch.setattr(rows, "RUNS", 2)
        monkeypatch.setattr(jobpage, "RUNS", 2)
        monkeypatch.setattr(rows, "EFFECTS", 2)
        monkeypatch.setattr(jobpage, "EFFECTS", 2)
        job = JobFactory(failed=True, attempt=3, lease_version=3)
        for version in (1, 2, 3):
            AttemptFactory(job=job, lease_version=version, message=f"run no. {version}")
            LedgerFactory(job=job, step=f"step no. {version}", lease_version=version)
        text = page(admin_client, job)
        for version, is_shown in ((1, False), (2, True), (3, True)):
            assert (f"run no. {version}" in text) == is_shown
            assert (f"step no. {version}" in text) == is_shown
        assert text.count("The newest 2 are shown; there are more.") == 2

    def test_hostile_values_stay_text(self, admin_client):
        workflow = WorkflowFactory(name=HOSTILE)
        needed = member(workflow, name=HOSTILE, task=HOSTILE)
        job = JobFactory(
            failed=True, payload=None, task=HOSTILE, queue=HOSTILE, idempotency_key=HOSTILE, concurrency_key=HOSTILE,
            lease_version=1, workflow=workflow,
        )  # fmt: skip
        Dependency.objects.create(job=job, needs=needed)
        owner = WorkerFactory(host=HOSTILE).pk
        PayloadFactory(
            job=job, args=[HOSTILE], kwargs={HOSTILE: HOSTILE}, traceparent=HOSTILE, tracestate=HOSTILE, name=HOSTILE
        )
        AttemptFactory(job=job, error_class=HOSTILE, message=HOSTILE * 9, traceback=HOSTILE, owner=owner)
        LedgerFactory(job=job, step=HOSTILE, result=HOSTILE)
        for url, query in (
            (page_of(job), {}), (workflow_page(workflow), {}), (LIST, {}), (LIST, {"queue": HOSTILE, "q": HOSTILE}),
        ):  # fmt: skip
            text = admin_client.get(url, query).content.decode()
            assert "&lt;script&gt;alert(" in text
            assert "<script>alert(" not in text
            assert "<img src=x" not in text

    def test_a_job_without_payload_is_still_shown(self, admin_client):
        assert "What it was enqueued with is gone" in page(admin_client, JobFactory(payload=None))

    @pytest.mark.parametrize("path", ["0", "nonsense", str(10**30)])
    def test_a_job_that_is_not_there_leads_back(self, admin_client, path):
        response = admin_client.get(reverse("admin:conveyor_job_change", args=[path]))
        assert (response.status_code, response.url) == (302, reverse("admin:index"))

    @override_settings(USE_THOUSAND_SEPARATOR=True, LANGUAGE_CODE="de")
    def test_numbers_of_a_drawing_are_those_of_svg_in_any_language(self, admin_client):
        job = JobFactory(failed=True, lease_version=12345)
        AttemptFactory(job=job, started_at=in_seconds(-3), finished_at=in_seconds(-2), lease_version=12345)
        text = page(admin_client, job)
        assert "lease version 12345" in text
        numbers = re.findall(r' (?:x|y|x1|x2|width)="([^"]*)"', text.split("conveyor-figure", 1)[1].split("<h2")[0])
        assert len(numbers) > 10
        assert all(re.fullmatch(r"-?\d+(\.\d+)?", number) for number in numbers)


class TestValues:
    def test_secrets_are_masked_wherever_they_are(self, admin_client, settings):
        settings.CONVEYOR = {**settings.CONVEYOR, "MASKED_KEYS": ["iban"]}
        job = JobFactory(succeeded=True, payload=None, ledger=None, lease_version=1)
        secrets = {"password": SECRET, "deep": [{"x": {"API-Key": SECRET, "iban": [SECRET]}}], "seen": "yes"}
        PayloadFactory(job=job, args=[secrets], kwargs=secrets | {"authorization": {"a": SECRET}})
        LedgerFactory(job=job, result=secrets)
        LedgerFactory(job=job, step="authorise", result=secrets)
        text = page(admin_client, job)
        assert SECRET not in text
        assert text.count("&quot;seen&quot;: &quot;yes&quot;") == 4

    @pytest.mark.parametrize(("task", "is_masked"), [("log_in", True), ("log_in_with_context", True), ("gone", False)])
    def test_positional_arguments_are_masked_by_the_names_of_the_task_s_parameters(self, admin_client, task, is_masked):
        job = JobFactory(payload=None, task=f"{__name__}.{task}")
        PayloadFactory(job=job, args=["bob", SECRET])
        text = page(admin_client, job)
        assert "&quot;bob&quot;" in text
        assert (SECRET not in text) == is_masked

    def test_numbers_and_letters_are_as_they_were_stored(self, admin_client):
        job = JobFactory(payload=None)
        PayloadFactory(job=job, args=[12345678901234567890123, "ünï😀\u2028", 1e300])
        text = page(admin_client, job)
        for shown in ("  12345678901234567890123,", "ünï😀\u2028", f"  {10**300}"):
            assert shown in text

    def test_payloads_and_results_of_megabytes_are_cut_by_the_database_and_say_so(self, admin_client):
        job = JobFactory(succeeded=True, payload=None, ledger=None)
        large = [f"no. {number} " + "x" * 90 for number in range(20_000)]
        kwargs = {"x": "x" * 2_000_000}
        PayloadFactory(job=job, args=[large], kwargs=kwargs)
        # What compresses badly is not even read where it is only one of many steps.
        LedgerFactory(job=job, step="large", result=os.urandom(100_000).hex())
        LedgerFactory(job=job, step="small", result="x" * 50_000)
        LedgerFactory(job=job, result=large)
        with CaptureQueriesContext(connection) as captured:
            text = page(admin_client, job)
        assert len(text) < 250_000
        assert len(re.findall(r"characters left out", text)) == 4
        assert "no. 5 x" in text
        assert f"{len(json.dumps(kwargs)) - READ} characters left out" in text
        assert "bytes in the database, too large to be read here" in text
        # Nothing has all of it sent.
        assert not re.search(r'SELECT[^;]*"(args|kwargs|result)"(,| FROM)', " ".join(q["sql"] for q in captured))


class TestTrace:
    TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    def shown(self, client, traceparent) -> str:
        job = JobFactory(payload=None)
        PayloadFactory(job=job, traceparent=traceparent, tracestate="vendor=1")
        return page(client, job).split('id="conveyor-trace"')[1]

    def test_it_links_to_where_it_is_to_be_seen(self, admin_client, settings):
        settings.CONVEYOR = {**settings.CONVEYOR, "TRACE_URL": "https://traces.example.com/?id={trace_id}&x=1"}
        text = self.shown(admin_client, self.TRACEPARENT)
        assert 'href="https://traces.example.com/?id=0af7651916cd43dd8448eb211c80319c&amp;x=1"' in text
        for shown in ("b7ad6b7169203331", self.TRACEPARENT, "vendor=1"):
            assert shown in text

    def test_without_the_setting_there_is_no_link(self, admin_client):
        text = self.shown(admin_client, self.TRACEPARENT)
        assert "0af7651916cd43dd8448eb211c80319c</dd>" in text
        assert "http" not in text.split("<h2")[0]

    @pytest.mark.parametrize(
        "traceparent",
        ["ff" + TRACEPARENT[2:], f"00-{'0' * 32}-b7ad6b7169203331-01", f"00-{'a' * 32}-{'0' * 16}-01", "nonsense",
         TRACEPARENT.upper(), TRACEPARENT + "\n", "javascript:alert(1)"],
    )  # fmt: skip
    def test_what_is_no_context_is_shown_and_not_linked(self, admin_client, settings, traceparent):
        settings.CONVEYOR = {**settings.CONVEYOR, "TRACE_URL": "https://traces.example.com/{trace_id}"}
        text = self.shown(admin_client, traceparent)
        assert "not as the standard has it" in text
        assert traceparent.strip() in text
        assert "traces.example.com" not in text


class TestStrictContentPolicy:
    """What `default-src 'self'` would block is not there."""

    def test_the_page_of_a_job(self, admin_client):
        workflow = WorkflowFactory()
        parent = member(workflow, "succeeded", name="pay")
        job = child_of(parent, name="pack")
        AttemptFactory(job=job)
        LedgerFactory(job=job, step="a")
        assert_keeps_the_policy(page(admin_client, job))

    def test_the_page_of_a_workflow(self, admin_client):
        workflow = WorkflowFactory()
        child_of(member(workflow, "failed"))
        assert_keeps_the_policy(admin_client.get(workflow_page(workflow)).content.decode())


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
