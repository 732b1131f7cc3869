"""The dashboard: what it shows, to whom, and that nothing of it needs more than a strict Content-Security-Policy."""

from __future__ import annotations

import datetime as dt
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.contrib.auth.models import Permission
from django.contrib.staticfiles import finders
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conveyor_django.admin.charts import bar_chart, describe
from conveyor_django.admin.places import page_of
from conveyor_django.models import Cron, PausedTask, Queue, Worker
from conveyor_django.operate.overview import Bucket, Count, Ended

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


def buckets(*ended: tuple[int, ...]) -> list[Bucket]:
    """Return a bucket for each: so many jobs succeeded, failed, were cancelled; and so many runs were retried."""
    start = dt.datetime(2031, 1, 1, 10, 0, tzinfo=dt.UTC)
    return [
        Bucket(
            start=start + dt.timedelta(minutes=place),
            ended=Ended(succeeded=Count(good), failed=Count(bad), cancelled=Count(idle), retried=Count(sum(again))),
        )
        for place, (good, bad, idle, *again) in enumerate(ended)
    ]


def bars(chart: str) -> list[dict[str, float]]:
    """Return the rectangles of a chart."""
    return [
        {name: float(value) for name, value in re.findall(r'(x|y|width|height)="([\d.]+)"', bar)}
        for bar in re.findall(r"<rect.*?>", chart)
    ]


class TestCharts:
    def test_bars_are_as_high_as_their_counts_and_stand_on_each_other(self):
        chart = bar_chart(buckets(*[(0, 0, 0)] * 5, (50, 25, 25)), name="c", heading="Title", per="minute")
        good, idle, bad = bars(chart)
        assert good["height"] == pytest.approx(2 * bad["height"], abs=0.1)
        assert good["y"] == pytest.approx(idle["y"] + idle["height"], abs=0.11)
        assert idle["y"] == pytest.approx(bad["y"] + bad["height"], abs=0.11)
        assert good["x"] + good["width"] <= 480
        # 100 is the end of the axis, and the top of the drawing.
        assert bad["y"] == pytest.approx(10, abs=0.11)

    def test_runs_that_were_retried_stand_on_top_and_are_hollow(self):
        chart = bar_chart(buckets(*[(0, 0, 0)] * 5, (25, 25, 0, 50)), name="c", heading="Title", per="minute")
        _, bad, again = bars(chart)
        assert re.findall(r'<rect class="conveyor-(\w+)"', chart) == ["good", "bad", "again"]
        # With the line around it, half of which is outside, it is as large as the others.
        assert again["height"] + 1 == pytest.approx(2 * bad["height"], abs=0.2)
        assert again["y"] + again["height"] + 0.5 == pytest.approx(bad["y"], abs=0.2)
        assert (again["x"] - 0.5, again["width"] + 1) == pytest.approx((bad["x"], bad["width"]), abs=0.11)
        assert again["y"] - 0.5 == pytest.approx(10, abs=0.11)
        assert "<title>10:05: 25 succeeded, 25 failed, 0 cancelled; 50 runs retried</title>" in chart
        assert "rect.conveyor-again { fill: none;" in Path(finders.find("conveyor/dashboard.css")).read_text("utf-8")

    def test_retried_runs_alone_make_a_bar(self):
        chart = bar_chart(buckets(*[(0, 0, 0)] * 5, (0, 0, 0, 3)), name="c", heading="Title", per="minute")
        assert len(bars(chart)) == 1

    def test_one_failure_among_thousands_is_seen(self):
        chart = bar_chart(buckets(*[(0, 0, 0)] * 5, (10_000, 1, 0)), name="c", heading="Title", per="minute")
        [height] = re.findall(r'<rect class="conveyor-bad".*? height="([\d.]+)"', chart)
        assert float(height) >= 3

    def test_it_has_a_title_and_a_description(self):
        chart = bar_chart(buckets(*[(1, 0, 0)] * 6), name="c", heading="<Title>", per="minute")
        assert 'role="img" aria-labelledby="c-title c-desc"' in chart
        assert '<title id="c-title">&lt;Title&gt;</title>' in chart
        assert (
            '<desc id="c-desc">At most 1 ended in one minute, from 10:00 on. None failed. No run was retried.</desc>'
            in chart
        )

    def test_in_words(self):
        assert describe(buckets((0, 0, 0)), "hour") == "Nothing ended. No run was retried."
        assert describe(buckets((5, 0, 0), (3, 4, 0)), "minute") == (
            "At most 7 ended in one minute, from 10:01 on. Failed from 10:01: 4. No run was retried."
        )
        assert "10:06: 1, and in 2 before. No" in describe(buckets(*[(0, 1, 0)] * 7), "minute")
        assert describe(buckets((0, 0, 0, 1), (0, 0, 0, 1200), (0, 0, 0, 9)), "minute") == (
            "Nothing ended. At most 1,200 runs were retried in one minute, from 10:01 on."
        )

    def test_times_are_those_of_the_project(self, settings):
        settings.TIME_ZONE = "Asia/Tokyo"
        assert "from 19:00 on" in describe(buckets((1, 0, 0)), "minute")
