"""Keys that no row could have, where the admin takes a row's key from somebody: an answer, and never a failure."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.urls import reverse

from conveyor_django.models import ApiToken, Cron, PausedTask, Queue

from ..support import factories as made
from .pressing import log, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

NUL = ("\x00", "x\x00y")
ANEW = "What was selected are no rows of this list. Select them anew."
ACTIONS = {
    "job": ("retry", "cancel"),
    "queue": ("pause", "resume", "delete_selected"),
    "cron": ("run", "delete_selected"),
    "pausedtask": ("delete_selected",),
    "apitoken": ("revoke",),
}
BY_NAME = ("queue", "cron", "pausedtask")
PAGES = ("job", "queue", "cron", "pausedtask", "apitoken", "worker", "workflow")


@pytest.fixture
def rows():
    made.QueueFactory(name="x")
    made.CronFactory(name="x")
    made.PausedTaskFactory(task="x")


def url_of(model: str, page: str, *args: str) -> str:
    return reverse(f"admin:conveyor_{model}_{page}", args=args)


@pytest.mark.usefixtures("rows")
class TestChosenInAList:
    @pytest.mark.parametrize("confirmed", [{}, {"confirmed": "yes", "post": "yes", "token": "0" * 32}])
    @pytest.mark.parametrize(
        ("model", "action", "key"),
        [
            (model, action, key)
            for model, actions in ACTIONS.items()
            for action in actions
            for key in (*NUL, *(() if model in BY_NAME else ("x", "", "1.5")))
        ],
    )
    def test_it_is_told_and_nothing_is_done(self, admin_client: Any, model, action, key, confirmed):
        given = {"action": action, "_selected_action": ["x", key]} | confirmed
        response = admin_client.post(f"{url_of(model, 'changelist')}?x=1", given)
        assert (response.status_code, response.url) == (302, f"{url_of(model, 'changelist')}?x=1")
        assert told(admin_client.get(url_of(model, "changelist"))) == ANEW
        assert not Queue.objects.filter(paused=True).exists()
        assert [each.objects.count() for each in (Queue, Cron, PausedTask)] == [1, 1, 1]
        assert log() == []

    def test_a_number_that_no_key_can_be_is_no_row(self, admin_client: Any):
        given = {"action": "revoke", "_selected_action": str(10**30), "confirmed": "yes"}
        assert admin_client.post(url_of("apitoken", "changelist"), given).status_code == 302
        assert ApiToken.objects.count() == 0


@pytest.mark.parametrize("key", NUL)
@pytest.mark.parametrize("lookup", ["", "__in", "__startswith"])
@pytest.mark.parametrize(
    ("model", "field"),
    [("queue", "name"), ("cron", "task"), ("pausedtask", "task"), ("apitoken", "name"), ("worker", "host"),
     ("workflow", "name")],
)  # fmt: skip
def test_in_a_filter_by_url_it_is_refused(admin_client: Any, model, field, lookup, key):
    url = url_of(model, "changelist")
    assert admin_client.get(url, {f"{field}{lookup}": "x"}).status_code == 200
    assert admin_client.get(url, {f"{field}{lookup}": key}).status_code == 400


@pytest.mark.parametrize("key", NUL)
@pytest.mark.parametrize("method", ["get", "post"])
class TestInTheURL:
    @pytest.mark.parametrize("page", ["change", "delete", "history"])
    @pytest.mark.parametrize("model", PAGES)
    def test_of_a_page(self, admin_client: Any, model, page, method, key):
        response = getattr(admin_client, method)(url_of(model, page, quote(key)))
        # Django refuses to write what may not be written, or asks nothing before it looks for the row.
        assert response.status_code in {302, 403}
        if method == "get" and page == "change":
            assert (response.status_code, response.url) == (302, reverse("admin:index"))
            assert "Perhaps it was deleted?" in told(admin_client.get(response.url))

    @pytest.mark.parametrize(
        ("model", "name"), [("queue", "pause"), ("queue", "resume"), ("cron", "run"), ("job", "retry")]
    )
    def test_of_a_button(self, admin_client: Any, model, name, method, key):
        data = {"confirmed": "yes", "token": "0" * 32} if method == "post" else {}
        response = getattr(admin_client, method)(url_of(model, "do", quote(key), name), data)
        assert (response.status_code, response.url) == (302, reverse("admin:index"))
        assert told(admin_client.get(response.url)).startswith("There is no ")
