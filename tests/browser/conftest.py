"""A real Chromium on a real server and database, under the strictest policy that the admin promises to work under."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from .looking import PASSWORD, Visitor

# The browser to use: a path, or unset for whichever there is.
VARIABLE = "CONVEYOR_BROWSER"
KNOWN = ("chromium", "chromium-browser", "google-chrome")
# Milliseconds; on a machine under load a page takes its time.
PATIENCE = 30_000

expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def executable() -> str:
    """The browser's program; without one the tests are skipped, unless one was named."""
    named = os.environ.get(VARIABLE)
    if named:
        assert shutil.which(named), f"{VARIABLE} names {named!r}, where there is no program. Correct or unset it."
        return named
    found = next(filter(None, map(shutil.which, KNOWN)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(KNOWN)} is installed, and {VARIABLE} is unset")
    return found


@pytest.fixture(scope="session")
def browser(executable: str) -> Iterator[Browser]:
    """One browser for all tests; each has a context of its own."""
    # Playwright keeps an event loop in this thread, in which Django would refuse to ask the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def site(live_server: LiveServer, transactional_db: None, settings: Settings) -> str:
    """The address of the test project, whose every answer forbids what does not come from it."""
    settings.MIDDLEWARE = ["tests.browser.looking.strict_policy", *settings.MIDDLEWARE]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return live_server.url


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser without a past."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


@pytest.fixture
def visitor(site: str, context: BrowserContext) -> Iterator[Visitor]:
    """Somebody in front of the browser; whatever the console complains of fails the test."""
    page = context.new_page()
    # The test project has none, and what the browser asks for by itself is no fault of a page.
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    complaints: list[str] = []
    page.on("console", lambda message: _note(message, complaints))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Visitor(site, page, complaints)
    assert complaints == []


@pytest.fixture
def user(transactional_db: None, django_user_model: Any) -> Callable[..., str]:
    """Make a member of the staff who has these permissions, a superuser without any; return the name."""

    def make(*permissions: str) -> str:
        name = "viewer" if permissions else "admin"
        made = django_user_model.objects.create_user(
            name, password=PASSWORD, is_staff=True, is_superuser=not permissions
        )
        made.user_permissions.set(
            Permission.objects.filter(content_type__app_label="conveyor", codename__in=permissions)
        )
        return name

    return make


def _note(message: ConsoleMessage, complaints: list[str]) -> None:
    if message.type == "error":
        complaints.append(f"{message.text} ({message.location.get('url')})")
