"""The pages of the HTTP API's tokens: to look at and to revoke, and never the hash."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from conveyor_django.models import ApiToken
from conveyor_django.operate.tokens import create_token

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

LIST = reverse("admin:conveyor_apitoken_changelist")


@pytest.fixture
def token() -> ApiToken:
    return create_token("<b>shop</b>", queues=["orders"], verbs=["read", "enqueue"])[0]


def page_of(token: ApiToken) -> str:
    return reverse("admin:conveyor_apitoken_change", args=[token.pk])


def revoke(client: Client, token: ApiToken, **more: str):
    return client.post(LIST, {"action": "revoke", "_selected_action": [token.pk]} | more)


def viewer(*permissions: str) -> Client:
    user = User.objects.create_user("ada", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_what_is_shown_and_what_is_not(admin_client: Client, token: ApiToken) -> None:
    for url in (LIST, page_of(token), f"{LIST}?q=shop"):
        page = admin_client.get(url).content.decode()
        assert token.prefix in page
        assert "enqueue, read" in page
        assert "&lt;b&gt;shop" in page
        assert token.digest not in page
    assert token.prefix not in admin_client.get(f"{LIST}?q=absent").content.decode()


def test_a_token_is_revoked_once_it_was_confirmed(admin_client: Client, token: ApiToken) -> None:
    asked = revoke(admin_client, token)
    assert asked.status_code == 200
    assert "Revoke 1 token?" in asked.content.decode()
    assert "&lt;b&gt;shop" in asked.content.decode()
    token.refresh_from_db()
    assert token.revoked_at is None
    assert revoke(admin_client, token, confirmed="yes").status_code == 302
    token.refresh_from_db()
    assert token.revoked_at is not None
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.get_change_message()) == (str(token.pk), "Revoked.")
    # Twice is once.
    first = token.revoked_at
    page = revoke(admin_client, token, confirmed="yes", follow="yes")
    assert page.status_code == 302
    token.refresh_from_db()
    assert token.revoked_at == first
    assert LogEntry.objects.count() == 1


def test_nothing_else_of_it_is_changed(admin_client: Client, token: ApiToken) -> None:
    add, delete = reverse("admin:conveyor_apitoken_add"), reverse("admin:conveyor_apitoken_delete", args=[token.pk])
    assert admin_client.get(add).status_code == 403
    assert admin_client.post(delete, {"post": "yes"}).status_code == 403
    assert admin_client.post(page_of(token), {"name": "mine"}).status_code == 403
    admin_client.post(LIST, {"action": "delete_selected", "_selected_action": [token.pk], "post": "yes"})
    assert ApiToken.objects.get().name == "<b>shop</b>"


def test_who_may_only_look_revokes_nothing(token: ApiToken) -> None:
    client = viewer("view_apitoken")
    assert token.prefix in client.get(LIST).content.decode()
    assert 'value="revoke"' not in client.get(LIST).content.decode()
    revoke(client, token, confirmed="yes")
    token.refresh_from_db()
    assert token.revoked_at is None


def test_who_may_not_look_sees_nothing(token: ApiToken) -> None:
    assert viewer("view_job").get(LIST).status_code == 403
    assert Client().get(LIST).status_code == 302
