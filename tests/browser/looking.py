"""What somebody does in front of a browser: log in, go somewhere, look at it in the light and in the dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from django.http import HttpRequest, HttpResponse
from playwright.sync_api import Page

PASSWORD = "a password for tests"  # noqa: S105
POLICY = "default-src 'self'"
# Django's own parts that break a rule, in which no page of ours has a say: an icon is the search box's label, and links
# stand out by their colour alone.
DJANGOS = ["#searchbar", ".breadcrumbs"]


def strict_policy(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A middleware that forbids whatever does not come from this site: inline scripts and styles too."""

    def respond(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response["Content-Security-Policy"] = POLICY
        return response

    return respond


class Visitor:
    """Somebody in front of a page; `complaints` are the errors of its console."""

    def __init__(self, site: str, page: Page, complaints: list[str]) -> None:
        self.site = site
        self.page = page
        self.complaints = complaints

    def log_in(self, name: str) -> None:
        self.go("/admin/login/?next=/admin/")
        self.page.get_by_label("Username").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url("**/admin/")

    def go(self, path: str) -> Any:
        """Go to an address of the site; return the answer."""
        return self.page.goto(self.site + path)

    def follow(self, name: str) -> None:
        """Click on a link."""
        self.page.get_by_role("link", name=name, exact=True).first.click()

    def press(self, name: str) -> None:
        """Click on a button."""
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def assert_accessible(self) -> None:
        """Hold the page against axe's rules, in the light and in the dark."""
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            # Colours fade from one to the other; a page that comes up has them.
            self.page.reload()
            found = Axe().run(self.page, context={"exclude": [[part] for part in DJANGOS]}).response["violations"]
            told = [f"{each['id']}: {each['help']}: {node['html'][:300]}" for each in found for node in each["nodes"]]
            assert told == [], f"{self.page.url} in the {scheme}:\n" + "\n".join(told)
        self.page.emulate_media(color_scheme="light")
