"""The pages of queues: settings with clear errors."""

from __future__ import annotations

import pytest
from django.urls import reverse

from conveyor_django.models import Queue

from ..support.factories import QueueFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

LIST = reverse("admin:conveyor_queue_changelist")
ADD = reverse("admin:conveyor_queue_add")


def page_of(queue) -> str:
    return reverse("admin:conveyor_queue_change", args=[queue.pk])


def errors(response) -> dict[str, list[str]]:
    assert response.status_code == 200
    return dict(response.context["adminform"].form.errors)


def test_a_queue_gets_settings(admin_client):
    data = {"name": "billing", "paused": "on", "lease_seconds": "12.5", "retention_seconds": "0"}
    assert admin_client.post(ADD, data).status_code == 302
    queue = Queue.objects.get()
    assert (queue.name, queue.paused, queue.lease_seconds, queue.retention_seconds) == (
        "billing",
        True,
        12.5,
        0,
    )


def test_a_queue_gets_caps(admin_client):
    data = {"name": "billing", "soft_cap": "2000", "exact_cap": "1000", "key_cap": "1"}
    assert admin_client.post(ADD, data).status_code == 302
    queue = Queue.objects.get()
    assert (queue.soft_cap, queue.exact_cap, queue.key_cap) == (2000, 1000, 1)
    admin_client.post(page_of(queue), {"soft_cap": "5"})
    queue.refresh_from_db()
    assert (queue.soft_cap, queue.exact_cap, queue.key_cap) == (5, None, None)


def test_empty_means_the_setting_s_default(admin_client):
    assert admin_client.post(ADD, {"name": "billing"}).status_code == 302
    queue = Queue.objects.get()
    assert (queue.paused, queue.lease_seconds, queue.retention_seconds) == (False, None, None)


def test_settings_change_but_not_the_name(admin_client):
    queue = QueueFactory(name="billing", soft_cap=3)
    admin_client.post(page_of(queue), {"name": "other", "paused": "on", "lease_seconds": "60", "soft_cap": "3"})
    queue = Queue.objects.get()
    assert (queue.name, queue.paused, queue.lease_seconds, queue.soft_cap) == ("billing", True, 60.0, 3)


def test_settings_are_deleted(admin_client):
    queue = QueueFactory(name="billing")
    url = reverse("admin:conveyor_queue_delete", args=[queue.pk])
    assert admin_client.post(url, {"post": "yes"}).status_code == 302
    assert Queue.objects.count() == 0


def test_the_list_and_its_action(admin_client):
    QueueFactory(name="a")
    QueueFactory(name="b")
    assert [queue.name for queue in admin_client.get(LIST).context["cl"].result_list] == ["a", "b"]
    data = {"action": "delete_selected", "_selected_action": ["a"], "post": "yes"}
    assert admin_client.post(LIST, data).status_code == 302
    assert [queue.name for queue in Queue.objects.all()] == ["b"]


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("lease_seconds", "0", "A lease shorter than 1 second lapses under running jobs. Use 1 or more."),
        ("lease_seconds", "-3", "A lease shorter than 1 second lapses under running jobs. Use 1 or more."),
        ("lease_seconds", "1e300", "A lost job would wait for more than a day. Use 86400 or less."),
        ("lease_seconds", "nan", "Enter a number."),
        ("lease_seconds", "soon", "Enter a number."),
        ("soft_cap", "0", "A cap is 1 or more. Tick paused to let nothing run."),
        ("exact_cap", "1001", "Use 1000 or less."),
        ("key_cap", "-1", "A cap is 1 or more. Tick paused to let nothing run."),
        ("exact_cap", "1.5", "Enter a whole number."),
        ("retention_seconds", "-1", "A retention cannot be negative. Use 0 to delete ended jobs at once."),
        ("retention_seconds", "1e300", "Use at most 100 years (3153600000 seconds)."),
        ("retention_seconds", "inf", "Enter a number."),
        ("name", "", "This field is required."),
        ("name", "a\x00b", "Null characters are not allowed."),
        ("name", "x" * 129, "Ensure this value has at most 128 characters (it has 129)."),
    ],
)
def test_a_wrong_value_is_refused_by_name(admin_client, field, value, error):
    response = admin_client.post(ADD, {"name": "billing"} | {field: value})
    assert errors(response) == {field: [error]}
    assert Queue.objects.count() == 0


def test_a_queue_has_settings_once(admin_client):
    QueueFactory(name="billing", lease_seconds=7.0)
    response = admin_client.post(ADD, {"name": "billing", "lease_seconds": "60"})
    assert errors(response) == {"name": ["The queue 'billing' has settings already. Change those."]}
    assert Queue.objects.get().lease_seconds == 7.0


def test_an_interval_within_the_bounds_is_one_that_postgresql_has(admin_client):
    data = {"name": "billing", "lease_seconds": "86400", "retention_seconds": "3153600000"}
    assert admin_client.post(ADD, data).status_code == 302
    since = "SELECT *, now() - make_interval(secs => retention_seconds + lease_seconds) AS since"
    (queue,) = Queue.objects.raw(f"{since} FROM conveyor_queue")
    assert queue.since.year < 2000
