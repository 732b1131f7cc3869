"""The dashboard: what it shows, to whom, and that nothing of it needs more than a strict Content-Security-Policy."""

from __future__ import annotations

import datetime as dt
import re
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import Permission
from django.contrib.staticfiles import finders
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conveyor_django.admin.places import page_of
from conveyor_django.models import Cron, PausedTask, Queue, Worker

from ..support import factories as made
from ..support.factories import JobFactory, WorkerFactory, in_seconds

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

PAGE = reverse("admin:conveyor_dashboard_changelist")
LIVE = reverse("admin:conveyor_dashboard_live")
EVIL = '<script>alert(1)</script>"onmouseover="x'


class Outline(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


@pytest.fixture
def everything():
    """Some of all that the page can show, named by somebody who means harm."""
    made.QueueFactory(name=EVIL, paused=True, soft_cap=1, exact_cap=2, key_cap=3)
    worker = WorkerFactory(host=EVIL, pid=7, queues=[EVIL])
    WorkerFactory(host="gone", last_seen=in_seconds(-3600))
    for state in ("running", "succeeded", "failed", "cancelled", "scheduled", "blocked", "parked_by_key"):
        owner = {"lease_owner": worker.pk} if state == "running" else {}
        JobFactory.create_batch(2, **{state: True}, **owner, queue=EVIL, task=EVIL)
    JobFactory(queue=EVIL, run_at=in_seconds(-3600))
    made.CronFactory(name=EVIL, task=EVIL)
    Cron.objects.filter(name=EVIL).update(expression=EVIL)
    made.PausedTaskFactory(task=EVIL)
    return worker


def with_permissions(user, *names):
    user.is_staff = True
    user.save()
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    return user


def links(page: str) -> set[str]:
    return {attrs["href"] for tag, attrs in Outline(page).tags if tag == "a" and attrs.get("href")}


class TestContent:
    def test_a_queue_with_its_figures_and_links_to_its_jobs(self, admin_client):
        JobFactory.create_batch(3, queue="a", run_at=in_seconds(-300))
        failed = JobFactory(queue="a", failed=True)
        for version, minutes in ((1, 150), (2, 1), (3, 0)):
            ended = in_seconds(-60 * minutes)
            made.AttemptFactory(job_id=failed.pk, lease_version=version, finished_at=ended)
        row = made.QueueFactory(name="a", paused=True, exact_cap=4)
        page = admin_client.get(PAGE).content.decode()
        [cells] = re.findall(r'<th scope="row">\s*<a href="[^"]*">a</a>(.*?)</tr>', page, re.DOTALL)
        figures = [re.sub(r"<.*?>", "", cell).strip() for cell in re.findall(r"<td.*?>(.*?)</td>", cells, re.DOTALL)]
        assert figures.pop(6) in {"5 min", "6 min"}
        assert figures == ["3", "0", "0", "0", "0", "1", "0", "1", "2", "0", "1", "3", "0"]
        assert "0 succeeded, 1 failed, 0 cancelled; 2 runs retried" in page
        assert "0 succeeded, 1 failed, 0 cancelled; 3 runs retried" in page
        assert "paused" in cells
        assert "cap 4" in cells
        jobs = reverse("admin:conveyor_job_changelist")
        assert {f"{jobs}?queue=a&state=ready", f"{jobs}?queue=a&state=failed", page_of(row)} <= links(page)
        assert admin_client.get(f"{jobs}?queue=a&state=ready").context["cl"].result_count == 3

    def test_workers_with_what_they_run(self, admin_client):
        worker = WorkerFactory(host="web1", pid=7, draining=True)
        job = JobFactory(running=True, lease_owner=worker.pk)
        page = admin_client.get(PAGE).content.decode()
        assert {page_of(worker), page_of(job)} <= links(page)
        assert "web1:7" in page
        assert "draining" in page

    def test_cron_with_last_and_next_tick(self, admin_client):
        entry = made.CronFactory(name="report", expression="0 3 * * *", zone="Europe/Berlin")
        Cron.objects.update(last_tick=dt.datetime(2031, 1, 2, 2, 0, tzinfo=dt.UTC))
        page = admin_client.get(PAGE).content.decode()
        assert page_of(entry) in links(page)
        assert "2031-01-02 02:00:00 UTC" in page
        assert "2031-01-03 02:00:00 UTC, in " in page

    def test_what_is_wrong(self, admin_client):
        JobFactory(queue="a", run_at=in_seconds(-3600))
        groups = admin_client.get(PAGE).context["wrong"]
        page = admin_client.get(PAGE).content.decode()
        assert groups
        assert 'class="conveyor-problem"' in page

    def test_it_is_linked_from_the_index_the_app_and_the_list_of_jobs(self, admin_client):
        for name in ("index", "conveyor_job_changelist"):
            page = admin_client.get(reverse(f"admin:{name}")).content.decode()
            assert PAGE in {link.split("?")[0] for link in links(page)}
        page = admin_client.get(reverse("admin:app_list", args=["conveyor"])).content.decode()
        assert PAGE in links(page)
        assert f"{PAGE}add/" not in page

    def test_the_live_part_is_what_the_page_shows(self, admin_client):
        JobFactory(queue="a")
        page, live = (admin_client.get(url).content.decode() for url in (PAGE, LIVE))
        assert 'id="conveyor-queues"' in live
        assert "<html" not in live
        assert f'data-url="{LIVE}"' in page
        assert page.count("<section") == live.count("<section")

    def test_the_number_of_queries_does_not_grow(self, admin_client, everything):
        admin_client.get(LIVE)
        with CaptureQueriesContext(connection) as few:
            admin_client.get(LIVE)
        for number in range(5):
            made.QueueFactory(name=f"q{number}")
            worker = WorkerFactory()
            JobFactory.create_batch(3, running=True, lease_owner=worker.pk, queue=f"q{number}")
            made.CronFactory()
        with CaptureQueriesContext(connection) as many:
            admin_client.get(LIVE)
        assert len(many) == len(few)


class TestMuch:
    """Of each kind a page has a hundred, and says how many more there are."""

    @staticmethod
    def many(count: int) -> None:
        Queue.objects.bulk_create(Queue(name=f"q{number:04}") for number in range(count))
        for number in range(count):
            WorkerFactory(host=f"w{number:04}")
        Cron.objects.bulk_create(
            made.CronFactory.build(name=f"c{number:04}", expression="0 3 * * *") for number in range(count)
        )
        PausedTask.objects.bulk_create(made.PausedTaskFactory.build(task=f"t{number:04}") for number in range(count))

    def test_the_most_urgent_come_first_and_the_rest_is_counted(self, admin_client):
        self.many(1300)
        JobFactory(queue="q1200", run_at=in_seconds(-300))
        JobFactory(queue="q1250", run_at=in_seconds(-3600))
        made.AttemptFactory(job_id=JobFactory(queue="q1299", failed=True).pk, finished_at=in_seconds(0))
        Worker.objects.filter(host="w1299").update(last_seen=in_seconds(-3600))
        Cron.objects.filter(name="c1298").update(last_tick=in_seconds(-10 * 86400))
        Cron.objects.filter(name="c1299").update(expression="never")
        response = admin_client.get(LIVE)
        shown, page = response.context, response.content.decode()
        names = [row.view.name for row in shown["queues"]]
        assert (len(names), names[:3]) == (100, ["q1250", "q1200", "q1299"])
        # Others by name, among them those that TASKS declares.
        assert names[3:] == sorted(names[3:])
        assert [row.view.host for row in shown["workers"]][:1] == ["w1299"]
        assert [row.view.name for row in shown["crons"]][:3] == ["c1299", "c1298", "c0000"]
        assert [len(shown[kind]) for kind in ("workers", "crons", "paused_tasks")] == [100, 100, 100]
        more = len(shown["overview"].queues) - 100
        jobs = reverse("admin:conveyor_job_changelist")
        assert f'and {more:,} more queues: the <a href="{jobs}">list of jobs</a> finds them by name' in page
        assert "and 1,200 more workers" in page
        assert "and 1,200 more entries" in page
        assert page.count('"conveyor-mark conveyor-warning">t') == 100
        assert "and 1,200 more</p>" in page
        assert len(page) < 500_000

    def test_a_hundred_are_shown_as_they_are(self, admin_client):
        declared = len(admin_client.get(LIVE).context["queues"])
        self.many(100 - declared)
        JobFactory(queue="q0050", run_at=in_seconds(-300))
        response = admin_client.get(LIVE)
        names = [row.view.name for row in response.context["queues"]]
        assert (len(names), names) == (100, sorted(names))
        # Of what is wrong there are more of a kind.
        assert not re.findall(r"and [\d,]+ more(?! of this kind)", response.content.decode())

    def test_a_worker_of_many_queues_names_the_first(self, admin_client):
        WorkerFactory(queues=[f"q{number:04}" for number in range(1020)])
        page = admin_client.get(LIVE).content.decode()
        assert "q0018, q0019 and 1,000 more</td>" in page


class TestSeveralDatabases:
    def test_one_that_cannot_be_read_is_told_and_the_others_are_offered(self, admin_client, elsewhere, settings):
        settings.CONVEYOR = {"QUEUES": {"orders": {"DATABASE": elsewhere}}}
        response = admin_client.get(PAGE, {"database": elsewhere})
        page = response.content.decode()
        assert response.status_code == 503
        assert "Database &#x27;elsewhere&#x27; cannot be read: " in page
        assert {"?database=default", "?database=elsewhere"} <= links(page)
        assert admin_client.get(LIVE, {"database": elsewhere}).status_code == 503
        assert admin_client.get(PAGE).status_code == 200

    def test_with_one_there_is_no_choice(self, admin_client):
        assert "?database=" not in admin_client.get(LIVE).content.decode()
        assert 'aria-label="Databases"' not in admin_client.get(PAGE).content.decode()


class TestWhoMaySeeIt:
    @pytest.mark.parametrize("url", [PAGE, LIVE])
    def test_nobody_without_the_permission(self, client, django_user_model, url):
        assert client.get(url).status_code == 302
        user = with_permissions(django_user_model.objects.create_user("a"), "view_queue", "view_worker")
        client.force_login(user)
        assert client.get(url).status_code == 403
        assert PAGE not in client.get(reverse("admin:index")).content.decode()

    @pytest.mark.parametrize("name", ["view_job", "change_job"])
    def test_who_may_look_at_jobs_and_links_to_nothing_else(self, client, django_user_model, everything, name):
        client.force_login(with_permissions(django_user_model.objects.create_user("a"), name))
        page = client.get(PAGE).content.decode()
        ours = {link for link in links(page) if link.startswith(reverse("admin:app_list", args=["conveyor"]))}
        jobs = reverse("admin:conveyor_job_changelist")
        # In the navigation too.
        assert {link for link in ours if not link.startswith((jobs, PAGE))} == {
            reverse("admin:app_list", args=["conveyor"])
        }
        assert page_of(everything) not in page

    @pytest.mark.parametrize(
        ("name", "made_page"), [("view_worker", "worker"), ("view_queue", "queue"), ("view_cron", "cron")]
    )
    def test_with_a_permission_comes_the_link(self, client, django_user_model, everything, name, made_page):
        client.force_login(with_permissions(django_user_model.objects.create_user("a"), "view_job", name))
        page = client.get(LIVE).content.decode()
        assert any(f"/conveyor/{made_page}/" in link for link in links(page))

    def test_there_is_nothing_to_change(self, admin_client):
        job = JobFactory()
        for rest in ("add/", f"{job.pk}/change/", f"{job.pk}/delete/", f"{job.pk}/history/"):
            assert admin_client.get(f"{PAGE}{rest}").status_code == 404


class TestSafety:
    def test_names_are_escaped(self, admin_client, everything):
        page = admin_client.get(PAGE).content.decode()
        assert "<script>alert" not in page
        assert page.count("&lt;script&gt;alert") > 5
        assert "onmouseover" not in {name for _, attrs in Outline(page).tags for name in attrs}

    @pytest.mark.parametrize("url", [PAGE, LIVE])
    def test_no_inline_script_style_or_handler(self, admin_client, everything, url):
        for tag, attrs in Outline(admin_client.get(url).content.decode()).tags:
            assert tag != "style"
            assert "style" not in attrs
            assert not [name for name in attrs if name.startswith("on")]
            if tag == "script":
                assert attrs.get("src", "").startswith("/static/") or attrs.get("type") == "application/json"
            for name in ("src", "href"):
                assert not (attrs.get(name) or "").startswith(("http", "//", "data:", "javascript:"))

    @pytest.mark.parametrize("name", ["dashboard.css", "dashboard.js"])
    def test_its_files_are_found(self, admin_client, name):
        assert f"/static/conveyor/{name}" in admin_client.get(PAGE).content.decode()
        assert finders.find(f"conveyor/{name}")
