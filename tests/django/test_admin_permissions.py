"""Who may do what in the admin: every URL and every action of Conveyor's pages, for everybody, also by hand.

The URLs are those that the pages have, not a list of this file: a page that is new is tested, or fails this test.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from conveyor_django.models import Dashboard, Job
from conveyor_django.operate.tokens import create_token

from ..support.factories import (
    CronFactory,
    JobFactory,
    PausedTaskFactory,
    QueueFactory,
    WorkerFactory,
    in_seconds,
)
from ..support.workflows import WorkflowFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

MODELS = sorted(model.__name__ for model in admin.site._registry if model._meta.app_label == "conveyor")
WITH_ROWS = [name for name in MODELS if name != "Dashboard"]
# The buttons of each, and the permission of each button.
BUTTONS = {
    "Job": {"retry": "retry_job", "cancel": "cancel_job", "run-now": "run_job_now"},
    "Queue": {"pause": "pause_queue", "resume": "pause_queue"},
    "Cron": {"run": "run_cron"},
}
# Actions of lists that are no buttons.
ACTIONS = ("delete_selected", "revoke", "nonsense")
# What the forms of all pages together have.
ALL = {"confirmed": "yes", "token": "0" * 32, "post": "yes", "args": "[]", "kwargs": "{}", "number": "1",
       "asked": in_seconds(3600).isoformat()}  # fmt: skip


@pytest.fixture
def rows() -> dict[str, Any]:
    """A row of each model that has pages, in a state in which something could be done to it."""
    made = {
        "Job": JobFactory(failed=True, task="tests.support.produce.anything"),
        "Queue": QueueFactory(name="orders"),
        "Cron": CronFactory(name="report"),
        "PausedTask": PausedTaskFactory(),
        "Worker": WorkerFactory(),
        "Workflow": WorkflowFactory(),
        "ApiToken": create_token("ada", queues=None, verbs=["read"])[0],
        # A page and no table.
        "Dashboard": Dashboard(),
    }
    assert set(MODELS) <= set(made), "a model has pages that are not tested here"
    return {name: made[name] for name in MODELS}


def urls_of(name: str, row: Any) -> Iterator[str]:
    """Yield every URL of a model's pages."""
    model_admin = admin.site._registry[type(row)]
    for pattern in model_admin.get_urls():
        if pattern.name is None:
            # Django's way from an older URL to the page.
            continue
        given = list(pattern.pattern.converters)
        if given == ["object_id", "name"]:
            yield from (reverse(f"admin:{pattern.name}", args=[row.pk, button]) for button in BUTTONS[name])
        elif given == ["object_id"]:
            yield reverse(f"admin:{pattern.name}", args=[row.pk])
        else:
            assert given == [], f"{pattern.name} takes {given}: say here what to give it"
            query = "?state=failed" if pattern.name.endswith("matching") else ""
            yield reverse(f"admin:{pattern.name}") + query


def everything() -> list[Any]:
    """Return every row of Conveyor's tables, and the admin's log."""
    tables = [*filter(lambda model: model._meta.managed, apps.get_app_config("conveyor").get_models()), LogEntry]
    return [list(model.objects.order_by("pk").values()) for model in tables]


def post_everywhere(client: Client, name: str, row: Any) -> dict[str, int]:
    """Post what would do it to every URL, and each action to the list; return the status of each."""
    listed = reverse(f"admin:conveyor_{name.lower()}_changelist")
    answers = {url: client.post(url, ALL).status_code for url in urls_of(name, row) if url != listed}
    for action in (*BUTTONS.get(name, {}), *ACTIONS):
        data = ALL | {"action": action, "_selected_action": str(row.pk)}
        answers[f"{listed} {action}"] = client.post(listed, data).status_code
    return answers


def logged_in(django_user_model: Any, *permissions: str) -> Client:
    user = django_user_model.objects.create_user(f"user-{uuid.uuid4().hex}", is_staff=True)
    found = Permission.objects.filter(content_type__app_label="conveyor", codename__in=permissions)
    assert {each.codename for each in found} == set(permissions)
    user.user_permissions.set(found)
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize("name", WITH_ROWS)
def test_who_may_look_sees_every_page_and_can_change_nothing(rows, name, django_user_model):
    client, row = logged_in(django_user_model, f"view_{name.lower()}"), rows[name]
    before = everything()
    place = f"admin:conveyor_{name.lower()}"
    seen = {reverse(f"{place}_changelist"), reverse(f"{place}_change", args=[row.pk]),
            reverse(f"{place}_history", args=[row.pk])}  # fmt: skip
    answers = {url: client.get(url).status_code for url in urls_of(name, row)}
    assert seen <= set(answers)
    assert answers == {url: 200 if url in seen else 403 for url in answers}
    posted = post_everywhere(client, name, row)
    # Django answers a POST to the page of the history with the history.
    assert {url for url, status in posted.items() if status != 403} <= seen
    assert everything() == before
    page = client.get(reverse(f"{place}_change", args=[row.pk]))
    assert not page.context.get("conveyor_buttons")
    assert 'type="submit" class="default"' not in page.content.decode()


def test_the_dashboard_is_for_whoever_may_look_at_jobs_and_changes_nothing(rows, django_user_model):
    client, before = logged_in(django_user_model, "view_job"), everything()
    for url in urls_of("Dashboard", rows["Dashboard"]):
        assert [ask(url, ALL).status_code for ask in (client.get, client.post)] == [200, 200]
    assert everything() == before


@pytest.mark.parametrize("name", MODELS)
def test_who_may_do_nothing_is_refused_everywhere(rows, name, django_user_model):
    client, row = logged_in(django_user_model), rows[name]
    before = everything()
    assert {client.get(url).status_code for url in urls_of(name, row)} == {403}
    assert set(post_everywhere(client, name, row).values()) == {403}
    assert everything() == before


@pytest.mark.parametrize("name", MODELS)
def test_who_has_not_logged_in_is_sent_to_the_login(rows, name, client):
    before = everything()
    for url in urls_of(name, rows[name]):
        response = client.get(url)
        assert (response.status_code, response.url.partition("?")[0]) == (302, reverse("admin:login"))
    assert set(post_everywhere(client, name, rows[name]).values()) == {302}
    assert everything() == before


@pytest.mark.parametrize("name", MODELS)
def test_a_permission_without_that_to_look_is_none(rows, name, django_user_model):
    permissions = {*BUTTONS.get(name, {}).values(), *(["edit_job"] if name == "Job" else [])}
    client, before = logged_in(django_user_model, *permissions), everything()
    assert set(post_everywhere(client, name, rows[name]).values()) == {403}
    assert everything() == before


@pytest.mark.parametrize("granted", ["retry_job", "cancel_job", "run_job_now", "edit_job"])
def test_each_permission_gives_its_own_button_and_no_other(rows, granted, django_user_model):
    client, job = logged_in(django_user_model, "view_job", granted), rows["Job"]
    allowed = {
        "retry_job": {"/do/retry/", "matching", " retry"}, "edit_job": {"/do/edit/"},
        "cancel_job": {"/do/cancel/", " cancel"}, "run_job_now": {"/do/run-now/", " run-now"},
    }[granted]  # fmt: skip
    for url, status in post_everywhere(client, "Job", job).items():
        expected = 302 if any(part in url for part in allowed) else 403
        assert status == expected or url.endswith("/history/"), url
    offered = client.get(reverse("admin:conveyor_job_changelist")).context["action_form"]
    assert (offered is not None) == (granted != "edit_job")


def test_who_may_retry_and_not_edit_does_not_get_the_arguments_unmasked(rows, django_user_model):
    client = logged_in(django_user_model, "view_job", "retry_job")
    assert client.get(reverse("admin:conveyor_job_edit", args=[rows["Job"].pk])).status_code == 403


def test_not_even_a_superuser_adds_changes_or_deletes_a_job(rows, admin_client):
    job, before = rows["Job"], everything()
    place = "admin:conveyor_job"
    for url in (
        reverse(f"{place}_add"),
        reverse(f"{place}_change", args=[job.pk]),
        reverse(f"{place}_delete", args=[job.pk]),
    ):
        assert admin_client.post(url, ALL | {"queue": "x"}).status_code == 403
    data = {"action": "delete_selected", "_selected_action": job.pk, "post": "yes"}
    assert admin_client.post(reverse(f"{place}_changelist"), data).status_code == 403
    assert everything() == before
    assert Job.objects.count() == 1
