"""The pages of workflows, and what a job's page says of the jobs around it: only to look at."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conveyor_django.admin import graph, relations, surroundings
from conveyor_django.admin import workflows as pages
from conveyor_django.models import Dependency, Job, Workflow

from ..support.factories import JobFactory, new_job
from ..support.workflows import WorkflowFactory, callback, child_of, member

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

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
    for module in (pages, relations):
        monkeypatch.setattr(module, "SHOWN", 1)
    text = page(admin_client, workflow).split('id="conveyor-members"')[1]
    assert pack.task not in text
    assert "1 are shown, the oldest first" in text


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


def drawn(text: str) -> str:
    """Return the graph of a page."""
    return text.split("<svg width")[1].split("</svg>", maxsplit=1)[0]


def nodes(text: str) -> dict[str, tuple[str, str]]:
    """Return, for each job of a drawn graph, its state in words and the class of its colour."""
    found = re.findall(
        r'conveyor-node conveyor-(\w+)[^>]*>.*?conveyor-name"[^>]*>(.*?)</text>.*?conveyor-tick"[^>]*>(.*?)</text>',
        drawn(text), re.DOTALL,
    )  # fmt: skip
    return {name: (says, colour) for colour, name, says in found}


def test_the_graph_shows_each_job_s_state_in_words_and_colour(admin_client):
    workflow = WorkflowFactory()
    pay = member(workflow, "succeeded", name="pay")
    pack, ship = child_of(pay, name="pack", state="failed"), child_of(pay, name="ship", on_failure="run")
    callback(workflow, "on_failure", task="shop.tasks.tell")
    Dependency.objects.filter(job=pack).update(resolved=True)
    for text in (page(admin_client, workflow), page(admin_client, ship)):
        assert nodes(text) == {
            "pay": ("✓ succeeded", "succeeded"),
            "pack": ("✗ failed", "failed"),
            "ship": ("◌ blocked", "blocked"),
            "tell": ("◌ blocked · on_failure", "blocked"),
        }
        for job in (pay, pack, ship):
            assert f'<a href="{reverse("admin:conveyor_job_change", args=[job.pk])}"' in drawn(text)
        # The callback stands right of all others.
        x = [int(place) for place in re.findall(r'<g transform="translate\((\d+) ', drawn(text))]
        assert x[-1] > max(x[:-1])
        assert "conveyor-if-run" in drawn(text)
        assert "pack needs pay; if that fails: cancel; resolved" in drawn(text)
        assert "ship needs pay; if that fails: run; open" in drawn(text)
    # On a job's page it is the one that stands out.
    assert drawn(text).count("conveyor-here") == 1
    assert "conveyor-here" not in drawn(page(admin_client, workflow))


def test_a_workflow_that_is_too_large_is_counted_instead(admin_client, monkeypatch):
    for module in (graph, relations):
        monkeypatch.setattr(module, "NODES", 3)
    workflow = WorkflowFactory()
    pay = member(workflow, "failed", name="pay")
    children = [child_of(pay, name=f"child-{number}") for number in range(3)]
    last = child_of(children[0], name="last")
    text = page(admin_client, workflow)
    assert "<svg width" not in text
    counted = " ".join(re.sub(r"<[^>]*>", " ", text.split("too large to be drawn")[1].split("</p>")[0]).split())
    assert counted.startswith(": 5 jobs, of which ◌ blocked 4, ✗ failed 1")
    # On the page of one of its jobs, what is next to it.
    assert nodes(page(admin_client, children[0])).keys() == {"pay", "child-0", "last"}
    assert nodes(page(admin_client, last)).keys() == {"child-0", "last"}
    monkeypatch.setattr(graph, "NEIGHBOURS", 2)
    assert nodes(page(admin_client, pay)).keys() == {"pay", "child-0", "child-1"}
    monkeypatch.setattr(relations, "COUNTED", 4)
    assert "more than" in page(admin_client, workflow)


def test_one_with_too_many_edges_is_counted_too(admin_client, monkeypatch):
    for module in (graph, relations):
        monkeypatch.setattr(module, "EDGES", 1)
    workflow = WorkflowFactory()
    pay = member(workflow, name="pay")
    child_of(pay)
    assert "<svg width" in page(admin_client, workflow)
    child_of(pay)
    assert "too large to be drawn" in page(admin_client, workflow)


def test_what_is_around_a_job_is_bounded_and_what_is_open_comes_first(admin_client, monkeypatch):
    for module in (relations, surroundings):
        monkeypatch.setattr(module, "SHOWN", 2)
    workflow = WorkflowFactory()
    pay = member(workflow, name="pay")
    children = [child_of(pay, name=f"child-{number}") for number in range(3)]
    Dependency.objects.filter(job=children[0]).update(resolved=True)
    text = page(admin_client, pay).split('id="conveyor-dependants"')[1].split('id="conveyor-graph"')[0]
    assert "child-0" not in text
    assert text.index("child-1") < text.index("child-2")
    assert "2 are shown, those that are not resolved first; there are more" in text


def test_the_queries_do_not_grow_with_the_graph(admin_client):
    small, large = WorkflowFactory(), WorkflowFactory()
    few, many = member(small), member(large)
    first, last = child_of(few), child_of(many, *(member(large) for _ in range(20)))
    for _ in range(20):
        child_of(many)

    def count(row) -> int:
        page(admin_client, row)
        with CaptureQueriesContext(connection) as captured:
            page(admin_client, row)
        return len(captured)

    # The answer to why a job is not running asks other things in another state.
    assert count(few) == count(many)
    assert count(first) == count(last)
    assert count(small) == count(large)


def test_a_large_workflow_is_not_looked_for_among_all_jobs(admin_client):
    """The planner knows that it is a fifth of the table, and not that it is the newest one."""
    Job.objects.enqueue_jobs([new_job() for _ in range(4000)])
    workflow = WorkflowFactory()
    Job.objects.enqueue_jobs([new_job(workflow_id=workflow.pk) for _ in range(1000)])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE conveyor_job")
    for row in (workflow, Job.objects.latest("pk")):
        with CaptureQueriesContext(connection) as captured:
            page(admin_client, row)
        texts = [query["sql"] for query in captured if 'workflow_id" =' in query["sql"]]
        assert texts
        for text in texts:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {text}")
                plan = "\n".join(line for (line,) in cursor.fetchall())
            assert "Rows Removed by Filter" not in plan, plan
            assert "Seq Scan on conveyor_job" not in plan, plan


def test_payloads_of_other_jobs_are_not_read(admin_client):
    pay = member(WorkflowFactory(), name="pay")
    child_of(pay, name="pack")
    with CaptureQueriesContext(connection) as captured:
        page(admin_client, pay)
    read = [query["sql"] for query in captured if '"conveyor_payload"."args"' in query["sql"]]
    assert len(read) == 1  # Its own.


def test_nothing_can_be_changed(admin_client):
    workflow = WorkflowFactory()
    for action in ("change", "delete"):
        url = reverse(f"admin:conveyor_workflow_{action}", args=[workflow.pk])
        assert admin_client.post(url, {"name": "other", "post": "yes"}).status_code == 403
    assert admin_client.post(reverse("admin:conveyor_workflow_add"), {"name": "x"}).status_code == 403
    assert list(Workflow.objects.values_list("name", flat=True)) == ["order"]
