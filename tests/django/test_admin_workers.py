"""The pages of workers: only to look at."""

from __future__ import annotations

import pytest
from django.urls import reverse

from conveyor_django.models import Worker

from ..support.factories import WorkerFactory, in_seconds

pytestmark = pytest.mark.django_db

LIST = reverse("admin:conveyor_worker_changelist")
ADD = reverse("admin:conveyor_worker_add")


def test_the_list_shows_who_was_seen_last_first(admin_client):
    old = WorkerFactory(last_seen=in_seconds(-60), queues=["billing", "mail"])
    new = WorkerFactory(host="<b>web1</b>")
    response = admin_client.get(LIST)
    assert list(response.context["cl"].result_list) == [new, old]
    text = response.content.decode()
    assert "billing, mail" in text
    assert "every queue" in text
    assert "&lt;b&gt;web1&lt;/b&gt;" in text


def test_a_worker_s_page(admin_client):
    worker = WorkerFactory(host="web1", pid=4711)
    text = admin_client.get(reverse("admin:conveyor_worker_change", args=[worker.pk])).content.decode()
    assert "4711" in text
    assert 'name="_save"' not in text


def test_nothing_can_be_changed(admin_client):
    worker = WorkerFactory(host="web1")
    change = reverse("admin:conveyor_worker_change", args=[worker.pk])
    delete = reverse("admin:conveyor_worker_delete", args=[worker.pk])
    for url in (ADD, change, delete):
        assert admin_client.post(url, {"host": "other", "post": "yes"}).status_code == 403
    worker.refresh_from_db()
    assert (worker.host, Worker.objects.count()) == ("web1", 1)
