"""The list of one queue's jobs: whether the queue is paused, and the button of the queue's pages, which leads back."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from conveyor_django.models import Queue

from ..support.factories import JobFactory, QueueFactory
from .admin_jobs import LIST, assert_no_scan
from .pressing import QUEUES, button, log, press

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

ORDERS = {"queue": "orders"}


def shown(page: Any) -> tuple[str, dict[str, str]]:
    """Return what a list says of its queue, in words, and where its buttons lead."""
    found = re.findall(r'<p class="conveyor-queue">(.*?)</p>', page.content.decode(), re.DOTALL)
    text = "".join(found)
    buttons = {label: unescape(url) for url, label in re.findall(r'<a class="button" href="(.*?)">(.*?)</a>', text)}
    words = unescape(re.sub(r"<a .*?</a>|<.*?>", "", text, flags=re.DOTALL))
    return " ".join(words.split()), buttons


def logged_in(django_user_model: Any, *permissions: str) -> Client:
    user = django_user_model.objects.create_user("a", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


class TestState:
    @pytest.mark.parametrize("has_settings", [True, False])
    def test_of_a_queue_that_is_not_paused(self, admin_client, has_settings):
        if has_settings:
            QueueFactory(name="orders")
        QueueFactory(name="other", paused=True)
        said, buttons = shown(admin_client.get(LIST, ORDERS))
        assert (said, list(buttons)) == ("Queue orders is not paused.", ["Pause"])

    def test_of_one_that_is(self, admin_client):
        QueueFactory(name="orders", paused=True)
        said, buttons = shown(admin_client.get(LIST, ORDERS))
        assert (said, list(buttons)) == ("Queue orders is paused: no more of its jobs are claimed.", ["Resume"])

    @pytest.mark.parametrize(
        "query", [{}, {"state": "ready"}, {"queue": ""}, {"queue": "a\x00b"}, {"queue": "x" * 129}]
    )
    def test_nothing_where_the_list_is_of_no_queue(self, admin_client, query):
        JobFactory(queue="orders")
        QueueFactory(name="orders", paused=True)
        assert shown(admin_client.get(LIST, query)) == ("", {})

    def test_a_hostile_name_stays_text(self, admin_client):
        page = admin_client.get(LIST, {"queue": '"><script>alert(1)</script>'})
        assert "<script>alert(" not in page.content.decode()
        assert shown(page)[0] == 'Queue "><script>alert(1)</script> is not paused.'

    @pytest.mark.parametrize("query", [{}, {"state": "failed"}])
    def test_it_costs_one_query_and_only_there(self, admin_client, query):
        JobFactory.create_batch(101, queue="orders")
        with CaptureQueriesContext(connection) as captured:
            admin_client.get(LIST, query | ORDERS)
        of_it = [each["sql"] for each in captured if '"conveyor_queue"."paused"' in each["sql"]]
        assert len(of_it) == 1
        assert_no_scan(captured)
        with CaptureQueriesContext(connection) as captured:
            admin_client.get(LIST, query)
        assert not [each for each in captured if '"conveyor_queue"."paused"' in each["sql"]]


class TestButton:
    def test_it_pauses_and_resumes_and_leads_back_to_the_same_list(self, admin_client):
        query = {"queue": "orders", "state": "failed", "task": "a b&c"}
        for label, says, paused in (("Pause", "1 queue was paused.", True), ("Resume", "1 queue was resumed.", False)):
            url = shown(admin_client.get(LIST, query))[1][label]
            question = admin_client.get(url).content.decode()
            assert "1 chosen" in question
            assert Queue.objects.filter(paused=paused).count() == 0
            [back] = re.findall(r'class="closelink" href="(.*?)"', question)
            response = admin_client.post(url, {"confirmed": "yes", "token": "0" * 32})
            assert response.url == unescape(back)
            assert urlsplit(response.url).path == LIST
            assert parse_qs(urlsplit(response.url).query) == {name: [value] for name, value in query.items()}
            assert [str(each) for each in admin_client.get(response.url).context["messages"]] == [says]
            assert Queue.objects.get(name="orders").paused is paused
        assert log() == [("orders", "Paused."), ("orders", "Resumed.")]

    def test_it_is_the_one_of_the_queue_s_pages(self, admin_client):
        queue = QueueFactory(name="orders")
        url = shown(admin_client.get(LIST, ORDERS))[1]["Pause"]
        assert urlsplit(url).path == button(queue, "pause")
        # From there it leads to the queues.
        assert admin_client.post(button(queue, "pause"), {"confirmed": "yes", "token": "0" * 32}).url == QUEUES

    def test_the_place_in_the_list_is_not_kept(self, admin_client):
        job = JobFactory(queue="orders")
        url = shown(admin_client.get(LIST, ORDERS | {"before": str(job.pk)}))[1]["Pause"]
        assert "before" not in url

    @pytest.mark.parametrize(
        "given",
        ["https://evil.example/", "//evil.example/", "/\\evil.example", "\r\nLocation: //evil.example", "", "#x"],
    )
    def test_it_leads_nowhere_else(self, admin_client, given):
        place = admin_client.post(
            button(QueueFactory(name="orders"), "pause"), {"confirmed": "yes", "token": "0" * 32},
            query_params={"jobs": given},
        ).url  # fmt: skip
        assert urlsplit(place)[:3] == ("", "", LIST)
        assert urlsplit(place).fragment == ""
        assert not set("\r\n") & set(place)

    def test_a_queue_that_cannot_be_paused_says_why_above_the_list(self, admin_client):
        url = shown(admin_client.get(LIST, {"queue": "odrers"}))[1]["Pause"]
        assert "Did you mean 'orders'?" in press(admin_client, url)
        assert (Queue.objects.count(), log()) == (0, [])


class TestWhoMay:
    @pytest.mark.parametrize(
        "permissions",
        [("view_job",), ("view_job", "view_queue"), ("view_job", "change_queue"), ("view_job", "pause_queue")],
    )
    def test_without_the_permission_the_state_is_seen_and_the_url_refused(self, django_user_model, permissions):
        client, queue = logged_in(django_user_model, *permissions), QueueFactory(name="orders", paused=True)
        assert shown(client.get(LIST, ORDERS)) == ("Queue orders is paused: no more of its jobs are claimed.", {})
        url = button(queue, "resume") + "?jobs=queue%3Dorders"
        assert client.get(url).status_code == 403
        assert client.post(url, {"confirmed": "yes", "token": "0" * 32}).status_code == 403
        queue.refresh_from_db()
        assert (queue.paused, log()) == (True, [])

    def test_with_it_the_button_is_there_and_works(self, django_user_model):
        client, queue = (
            logged_in(django_user_model, "view_job", "view_queue", "pause_queue"),
            QueueFactory(name="orders"),
        )
        assert press(client, shown(client.get(LIST, ORDERS))[1]["Pause"]) == "1 queue was paused."
        queue.refresh_from_db()
        assert queue.paused

    def test_who_may_not_see_jobs_does_not_see_the_list_by_it(self, django_user_model):
        client, queue = logged_in(django_user_model, "view_queue", "pause_queue"), QueueFactory(name="orders")
        url = button(queue, "pause") + "?jobs=queue%3Dorders"
        response = client.post(url, {"confirmed": "yes", "token": "0" * 32})
        assert client.get(response.url).status_code == 403
        assert client.get(reverse("admin:conveyor_job_changelist"), ORDERS).status_code == 403
