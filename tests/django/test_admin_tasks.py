"""The pages of paused tasks."""

from __future__ import annotations

import pytest
from django.urls import reverse

from conveyor_django.models import Job, PausedTask

from ..support.factories import JobFactory, PausedTaskFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

LIST = reverse("admin:conveyor_pausedtask_changelist")
ADD = reverse("admin:conveyor_pausedtask_add")
PATH = "tests.support.produce.anything"


def errors(response) -> list[str]:
    assert response.status_code == 200
    return response.context["adminform"].form.errors["task"]


def test_a_row_pauses_a_task(admin_client):
    assert admin_client.post(ADD, {"task": PATH}).status_code == 302
    paused = PausedTask.objects.get()
    assert paused.task == PATH
    assert paused.paused_at is not None
    assert admin_client.get(LIST).status_code == 200


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("nonsense", "no task"),
        ("tests.support.produce.gone", "no task"),
        ("tests.support.produce.undecorated", "no task"),
    ],
)
def test_what_names_no_task_is_refused(admin_client, path, says):
    assert says in errors(admin_client.post(ADD, {"task": path}))[0]
    assert not PausedTask.objects.exists()


def test_a_task_is_paused_once(admin_client):
    PausedTaskFactory(task=PATH)
    assert errors(admin_client.post(ADD, {"task": PATH})) == [f"{PATH!r} is paused already."]


def test_deleting_it_lets_its_jobs_go_on(admin_client):
    paused = PausedTaskFactory(task=PATH)
    JobFactory(parked_by_task=True, task=PATH)
    url = reverse("admin:conveyor_pausedtask_delete", args=[paused.pk])
    assert admin_client.post(url, {"post": "yes"}).status_code == 302
    assert not PausedTask.objects.exists()
    assert Job.objects.get().parked is None


def test_deleting_one_of_which_nothing_is_left(admin_client):
    paused = PausedTaskFactory(task="gone.task")
    url = reverse("admin:conveyor_pausedtask_delete", args=[paused.pk])
    assert admin_client.post(url, {"post": "yes"}).status_code == 302
    assert not PausedTask.objects.exists()


def test_deleting_several(admin_client):
    for path in (PATH, "other.task"):
        PausedTaskFactory(task=path)
        JobFactory(parked_by_task=True, task=path)
    data = {"action": "delete_selected", "_selected_action": [PATH, "other.task"], "post": "yes"}
    assert admin_client.post(LIST, data).status_code == 302
    assert not Job.objects.exclude(parked=None).exists()


def test_the_page_of_a_job_says_what_keeps_it(admin_client):
    job = JobFactory(parked_by_key=True, concurrency_key="customer-7")
    response = admin_client.get(reverse("admin:conveyor_job_change", args=[job.pk]))
    reasons = response.context["explanation"].reasons
    assert {"parked", "key_cap"} & {reason.code for reason in reasons}
    page = response.content.decode()
    assert "customer-7" in page
    assert "parked: key" in page
