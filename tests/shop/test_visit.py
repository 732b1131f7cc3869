"""The way into the admin, for who looks around."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from testproject.shop.visit import login

pytestmark = pytest.mark.django_db


def test_where_debug_is_on_the_user_is_made_once_and_may_look(settings: Settings, client: Client) -> None:
    settings.DEBUG = True
    assert login() == login() == "as admin, password admin"
    assert client.login(username="admin", password="admin")  # noqa: S106 - what is told
    assert client.get("/admin/conveyor/job/").status_code == 200


def test_elsewhere_no_such_user_is_made(settings: Settings) -> None:
    settings.DEBUG = False
    assert login() == "with your own superuser"
    assert not get_user_model().objects.exists()


def test_a_password_that_is_not_ours_is_not_told(settings: Settings) -> None:
    settings.DEBUG = True
    get_user_model().objects.create_superuser("admin", password="another")  # noqa: S106 - a test's
    assert login() == "with your own superuser"


def test_the_command_says_where_and_how(settings: Settings) -> None:
    settings.DEBUG = True
    out = StringIO()
    call_command("prepare", port="8001", stdout=out)
    assert out.getvalue() == "The admin: http://localhost:8001/admin/ as admin, password admin.\n"
