"""The admin where jobs live on two servers: a choice, links that keep it, and writes to the row's own server."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from conveyor_django import cancel, workflow
from conveyor_django.admin.places import key_of, page_of, place_of
from conveyor_django.models import Job, Queue, Workflow

from ..support.produce import anything

JOBS = reverse("admin:conveyor_job_changelist")
QUEUES = reverse("admin:conveyor_queue_changelist")
ADD = reverse("admin:conveyor_queue_add")


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: Settings) -> None:
    """Log in without half a second of hashing."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


class Router:
    """Sends whatever does not name its database to the first."""

    def db_for_read(self, model: Any, **_: Any) -> str:
        return "default"

    db_for_write = db_for_read


@pytest.fixture
def queues(shard: str, settings: Settings) -> tuple[Queue, Queue]:
    """A row of the same name on each server."""
    settings.DATABASE_ROUTERS = [f"{__name__}.Router"]
    return (
        Queue.objects.create(name="orders", lease_seconds=1.0),
        Queue.objects.using(shard).create(name="orders", lease_seconds=2.0),
    )


def leases(alias: str) -> list[float | None]:
    return list(Queue.objects.using(alias).order_by("name").values_list("lease_seconds", flat=True))


def links(page: str) -> list[str]:
    """Return the links of a page to rows of Conveyor's tables."""
    return re.findall(r'href="(/admin/conveyor/\w+/[^"?/]+/[^"]*)"', page)


def test_a_list_is_of_the_chosen_server(shard: str, admin_client: Client) -> None:
    anything.enqueue(1)
    there = anything.using(queue_name="orders").enqueue(2)
    [job] = Job.objects.using(shard).all()
    for url, alias in ((JOBS, "default"), (f"{JOBS}?database=other", shard), (f"{JOBS}?database=nowhere", None)):
        listed = admin_client.get(url).context["cl"].result_list
        assert [row._state.db for row in listed] == ([alias] if alias else [])
    page = admin_client.get(f"{JOBS}?database=other").content.decode()
    assert f"/admin/conveyor/job/{admin.utils.quote(there.id)}/change/?_changelist_filters=database%3Dother" in page
    assert page_of(job) in page
    # The queues that are offered are those of this server, and the choice stays with the other filters.
    assert "?database=other&amp;queue=orders" in page
    assert "queue=default" not in page


def test_a_search_looks_on_the_chosen_server(shard: str, admin_client: Client) -> None:
    there = anything.using(queue_name="orders", idempotency_key="k").enqueue(2)
    for term in ("k", there.id):
        found = admin_client.get(JOBS, {"database": shard, "q": term}).context["cl"].result_list
        assert [key_of(row) for row in found] == [there.id]
    assert not admin_client.get(JOBS, {"q": "k"}).context["cl"].result_list


def test_a_list_of_one_queue_s_jobs_tells_and_sets_the_pause_of_its_server(
    queues: tuple[Queue, Queue], admin_client: Client
) -> None:
    _, there = queues
    for label, verb, paused in (("Pause", "pause", True), ("Resume", "resume", False)):
        page = admin_client.get(JOBS, {"database": "other", "queue": "orders"}).content.decode()
        assert ("is not paused" in page) is paused
        [url] = re.findall(rf'<a class="button" href="([^"]*)">{label}</a>', page)
        assert url.startswith(f"/admin/conveyor/queue/{admin.utils.quote(key_of(there))}/do/{verb}/?")
        response = admin_client.post(url, {"confirmed": "yes", "token": "0" * 32})
        assert response["Location"] == f"{JOBS}?database=other&queue=orders"
        assert [Queue.objects.using(alias).get().paused for alias in ("default", "other")] == [False, paused]


def test_a_row_s_page_is_its_server_s_and_says_so(shard: str, admin_client: Client) -> None:
    anything.using(queue_name="orders").enqueue("on the second server")
    [job] = Job.objects.using(shard).all()
    page = admin_client.get(page_of(job)).content.decode()
    assert "on the second server" in page
    assert "database &#x27;other&#x27;" in page
    assert admin_client.get(reverse("admin:conveyor_job_change", args=[job.pk])).status_code == 302


def test_what_is_around_a_job_is_its_server_s(shard: str, admin_client: Client) -> None:
    """Both servers have jobs and workflows of the same ids."""
    for queue, name in (("default", "first"), ("orders", "second")):
        with workflow(name) as flow:
            needed = flow.add(anything.using(queue_name=queue), f"{name}, needed", name=f"{name}-needed")
            flow.add(anything.using(queue_name=queue), f"{name}, child", name=f"{name}-child", after=[needed])
    for alias, name, other in (("default", "first", "second"), (shard, "second", "first")):
        child = Job.objects.using(alias).latest("pk")
        for row in (child, Workflow.objects.using(alias).get()):
            page = admin_client.get(page_of(row)).content.decode()
            assert f"{name}-needed" in page
            assert f"{other}-" not in page.split('id="content"')[1]
            found = [link for link in links(page) if re.search("/(job|workflow)/", link)]
            assert {place_of(admin.utils.unquote(link.split("/")[4]))[0] for link in found} == {alias}
            assert sum("/job/" in link for link in found) >= 2


def test_every_link_of_a_row_s_pages_names_the_server(queues: tuple[Queue, Queue], admin_client: Client) -> None:
    here, there = queues
    for view in ("change", "history", "delete"):
        url = reverse(f"admin:conveyor_queue_{view}", args=[admin.utils.quote(key_of(there))])
        found = [link for link in links(admin_client.get(url).content.decode()) if "/add/" not in link]
        assert found
        assert {place_of(admin.utils.unquote(link.split("/")[4]))[0] for link in found} == {"other"}
    assert "other" not in "".join(links(admin_client.get(page_of(here)).content.decode()))


def test_what_is_changed_is_changed_there(queues: tuple[Queue, Queue], admin_client: Client) -> None:
    _, there = queues
    response = admin_client.post(page_of(there), {"lease_seconds": "5"})
    assert response["Location"] == f"{QUEUES}?database=other"
    assert (leases("default"), leases("other")) == ([1.0], [5.0])
    # Also the log leads there.
    entry = LogEntry.objects.get()
    assert entry.get_admin_url() == page_of(there)
    history = admin_client.get(page_of(there).replace("change", "history"))
    assert list(history.context["action_list"]) == [entry]


def test_what_is_added_is_added_there_and_checked_there(queues: tuple[Queue, Queue], admin_client: Client) -> None:
    add = f"{ADD}?_changelist_filters=database%3Dother"
    assert add.removeprefix(ADD) in admin_client.get(f"{QUEUES}?database=other").content.decode()
    response = admin_client.post(add, {"name": "a", "lease_seconds": "7", "_continue": "on"}, follow=True)
    assert response.context["original"].lease_seconds == 7.0
    assert (leases("default"), leases("other")) == ([1.0], [7.0, 2.0])
    Queue.objects.create(name="b")
    assert admin_client.post(add, {"name": "b"}).status_code == 302
    refused = admin_client.post(add, {"name": "a"})
    assert "has settings already" in str(refused.context["adminform"].form.errors)


@pytest.mark.parametrize("way", ["page", "action"])
def test_what_is_deleted_is_deleted_there(queues: tuple[Queue, Queue], admin_client: Client, way: str) -> None:
    _, there = queues
    if way == "page":
        admin_client.post(
            reverse("admin:conveyor_queue_delete", args=[admin.utils.quote(key_of(there))]), {"post": "yes"}
        )
    else:
        data = {"action": "delete_selected", "_selected_action": "orders", "post": "yes"}
        admin_client.post(f"{QUEUES}?database=other", data)
    assert (leases("default"), leases("other")) == ([1.0], [])
    assert LogEntry.objects.get().object_id == "other:orders"


def test_keys_that_look_like_a_place_are_told_apart(shard: str, admin_client: Client) -> None:
    odd = Queue.objects.create(name="other:orders")
    odder = Queue.objects.using(shard).create(name="default:a/b")
    assert (key_of(odd), key_of(odder)) == ("default:other:orders", "other:default:a/b")
    for row, alias in ((odd, "default"), (odder, "other")):
        assert place_of(key_of(row)) == (alias, row.name)
        assert admin_client.get(page_of(row)).context["original"].name == row.name


def test_with_one_database_nothing_is_seen_of_it(db: None, admin_client: Client) -> None:
    row = Queue.objects.create(name="default:a")
    assert key_of(row) == "default:a"
    for url in (QUEUES, page_of(row), ADD):
        assert "database" not in admin_client.get(url).content.decode().lower()


def test_what_is_done_by_hand_is_done_there(shard: str, admin_client: Client) -> None:
    there = anything.using(queue_name="orders").enqueue(1).id
    job = Job.objects.using(shard).get()

    def press(model: str, key: str, name: str) -> str:
        url = reverse(f"admin:conveyor_{model}_do", args=[admin.utils.quote(key), name])
        assert admin_client.get(url).status_code == 200
        answered = admin_client.post(url, {"token": "0" * 32}, follow=True)
        return " ".join(map(str, answered.context["messages"]))

    assert press("job", there, "cancel") == "1 job was cancelled."
    edit = reverse("admin:conveyor_job_edit", args=[admin.utils.quote(there)])
    admin_client.post(edit, {"args": "[2]", "kwargs": "{}", "number": "1"})
    new = Job.objects.using(shard).exclude(pk=job.pk).get()
    assert press("job", there, "retry") == "1 job was made ready again."
    data = {"action": "cancel", "_selected_action": [job.pk], "confirmed": "yes", "token": "0" * 32}
    admin_client.post(f"{JOBS}?database=other", data)
    assert press("queue", "other:orders", "pause") == "1 queue was paused."
    assert dict(Job.objects.using(shard).values_list("pk", "state")) == {job.pk: "cancelled", new.pk: "ready"}
    assert Queue.objects.using(shard).get().paused
    assert (Job.objects.count(), Queue.objects.count()) == (0, 0)
    logged = [entry.object_id for entry in LogEntry.objects.order_by("pk")]
    assert logged == [there, there, f"other:{new.pk}", there, there, "other:orders"]


def test_all_that_match_are_retried_there(shard: str, admin_client: Client) -> None:
    result = anything.using(queue_name="orders").enqueue(1)
    cancel(result)
    url = f"{reverse('admin:conveyor_job_retry_matching')}?database=other&state=cancelled"
    asked = admin_client.get(url).context["asked"]
    assert admin_client.post(url, {"asked": asked}).status_code == 302
    assert Job.objects.using(shard).get().state == "ready"
