"""The pages of workflows, and what a job's page says of the jobs around it: only to look at."""

from __future__ import annotations

import pytest
from django.urls import reverse

from conveyor_django.admin import workflows as pages
from conveyor_django.models import Job, Workflow

from ..support.factories import JobFactory
from ..support.workflows import WorkflowFactory, callback, child_of, member

pytestmark = pytest.mark.django_db

LIST = reverse("admin:conveyor_workflow_changelist")


def page(client, row) -> str:
    url = reverse(f"admin:conveyor_{row._meta.model_name}_change", args=[row.pk])
    return client.get(url).content.decode()


def test_the_list_shows_the_newest_first(admin_client):
    old, new = WorkflowFactory(), WorkflowFactory(name="<b>order-42</b>")
    response = admin_client.get(LIST)
    assert list(response.context["cl"].result_list) == [new, old]
    assert "&lt;b&gt;order-42&lt;/b&gt;" in response.content.decode()


def test_a_workflow_s_page_lists_its_jobs(admin_client, monkeypatch):
    workflow = WorkflowFactory()
    pay = member(workflow, "running", name="<pay>", task="shop.tasks.pay")
    pack = child_of(pay, task="shop.tasks.pack")
    done = callback(workflow, "on_success", task="shop.tasks.tell")
    other = member(WorkflowFactory(), task="shop.tasks.other")
    text = page(admin_client, workflow)
    for job in (pay, pack, done):
        assert reverse("admin:conveyor_job_change", args=[job.pk]) in text
        assert job.task in text
    assert "&lt;pay&gt;" in text
    assert "on_success" in text
    assert other.task not in text
    monkeypatch.setattr(pages, "SHOWN", 1)
    text = page(admin_client, workflow)
    assert pack.task not in text
    assert "…" in text


def test_a_job_s_page_says_what_it_needs_and_who_needs_it(admin_client):
    workflow = WorkflowFactory(name="order-42")
    pay = member(workflow, "running", name="pay")
    pack = child_of(pay, name="pack", on_failure="ignore")
    ship = child_of(pack, name="ship")
    text = page(admin_client, pack)
    assert "order-42" in text
    assert reverse("admin:conveyor_workflow_change", args=[workflow.pk]) in text
    for job in (pay, ship):
        assert reverse("admin:conveyor_job_change", args=[job.pk]) in text
    assert "ignore" in text
    Job.objects.filter(pk=pay.pk)._raw_delete("default")
    assert "gone" in page(admin_client, pack)


def test_a_job_of_no_workflow(admin_client):
    assert "conveyor/workflow/" not in page(admin_client, JobFactory()).split('id="content"')[1]


def test_nothing_can_be_changed(admin_client):
    workflow = WorkflowFactory()
    for action in ("change", "delete"):
        url = reverse(f"admin:conveyor_workflow_{action}", args=[workflow.pk])
        assert admin_client.post(url, {"name": "other", "post": "yes"}).status_code == 403
    assert admin_client.post(reverse("admin:conveyor_workflow_add"), {"name": "x"}).status_code == 403
    assert list(Workflow.objects.values_list("name", flat=True)) == ["order"]
