"""What can be done to a row by hand: a button on its page, an action of the list, one question before either.

The question is asked by GET, or by the list's POST; what changes something is a POST that has its answer. Each row is
asked for its state where it is changed, so a second click, or somebody who was faster, is told, not done twice.
"""

from __future__ import annotations

import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partialmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from ..operate.acting import Answer
from .base import ConveyorAdmin
from .places import key_of, page_of

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

# Seconds that all rows of one request together are waited for.
PATIENCE: Final = 5.0
# The field that says that the question was answered, and the one that stands for this question and no other.
CONFIRMED: Final = "confirmed"
TOKEN: Final = "token"  # noqa: S105 - a field's name
_TOKEN: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """Something that can be done: its name in URLs, what it says, the permission, and the rows that it is for."""

    name: str
    label: str
    permission: str
    question: str
    # What became of a row, after "was" or "were"; and what the admin's log says.
    done: str
    logged: str
    applies: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Wish:
    """A question that was answered: what to do, by when, and the token of the question."""

    request: HttpRequest
    button: Button
    token: str
    deadline: float


class ButtonsAdmin(ConveyorAdmin):
    """Pages with buttons. A subclass has the buttons, and `carry_out`, which does to one row what was asked for."""

    buttons: ClassVar[Sequence[Button]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make the buttons actions of the list, by what Django documents of actions and their permissions."""
        super().__init_subclass__(**kwargs)
        cls.actions = tuple(map(_action, cls.buttons))
        for button in cls.buttons:
            setattr(cls, f"has_{button.permission}_permission", partialmethod(cls.may, permission=button.permission))

    def carry_out(self, wish: Wish, row: Any) -> Answer:
        """Do it to a row, write it to the admin's log, and say what came of it."""
        raise NotImplementedError

    def state_of(self, row: Any) -> str:
        """Return what the question says of a row."""
        raise NotImplementedError

    def row_of(self, request: HttpRequest, object_id: str) -> Any:
        """Return the row that a button's URL names; None where there is none."""
        return self.get_object(request, unquote(object_id))

    # -- who may -----------------------------------------------------------------------------------------------

    def permitted(self, request: HttpRequest) -> list[Button]:
        """Return the buttons that the user may press."""
        return [button for button in self.buttons if self.may(request, button.permission)]

    def may(self, request: HttpRequest, permission: str) -> bool:
        """Say whether the user may look at the rows, and has the permission."""
        user: Any = request.user
        may_look = self.has_view_or_change_permission(request)
        return may_look and user.has_perm(f"{self.opts.app_label}.{permission}")

    # -- where -------------------------------------------------------------------------------------------------

    def get_urls(self) -> list[Any]:
        """Add the page of each button."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_do"
        view = self.admin_site.admin_view(self.do_view)
        return [path("<path:object_id>/do/<slug:name>/", view, name=name), *super().get_urls()]

    def url_of(self, row: Any, name: str) -> str:
        """Return the URL of a button's page."""
        place = f"{self.admin_site.name}:{self.opts.app_label}_{self.opts.model_name}_do"
        return reverse(place, args=[quote(key_of(row)), name])

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Show the buttons that make sense for the row."""
        row = kwargs.get("obj")
        if row is not None:
            context["conveyor_buttons"] = self.links(request, row)
        return super().render_change_form(request, context, *args, **kwargs)

    def links(self, request: HttpRequest, row: Any) -> list[dict[str, str]]:
        """Return the buttons of a row's page."""
        return [
            {"label": button.label, "url": self.url_of(row, button.name)}
            for button in self.permitted(request)
            if button.applies(row)
        ]

    # -- the question, and the answer ---------------------------------------------------------------------------

    def do_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """Ask whether to do it to one row, or do it."""
        button = next((button for button in self.buttons if button.name == name), None)
        if button is None:
            raise Http404(f"There is nothing called {name!r} to do here.")
        if not self.may(request, button.permission):
            raise PermissionDenied
        row = self.row_of(request, object_id)
        if row is None:
            return self.missing(request, object_id)
        if request.method == "POST":
            self._carry_out_all(request, button, [row])
            return HttpResponseRedirect(self.after(request, row))
        return self.ask(request, button, [row], back=self.after(request, row))

    def missing(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Lead back from a row that is not there, as Django does from its page."""
        text = f"There is no {self.opts.verbose_name} {unquote(object_id)!r} (any more)."
        self.message_user(request, text, messages.WARNING)
        return HttpResponseRedirect(reverse(f"{self.admin_site.name}:index"))

    def after(self, request: HttpRequest, row: Any) -> str:  # noqa: ARG002
        """Return the URL of the page that follows a button's."""
        return page_of(row)

    def chosen(self, request: HttpRequest, button: Button) -> HttpResponse | None:
        """Ask whether to do it to the rows that were ticked, or do it."""
        keys = request.POST.getlist(ACTION_CHECKBOX_NAME)
        rows = list(self.get_queryset(request).filter(pk__in=keys).order_by("pk"))
        if request.POST.get(CONFIRMED) != "yes":
            return self.ask(request, button, rows, back=request.get_full_path())
        gone = len(set(keys)) - len(rows)
        self._carry_out_all(request, button, rows, ["not there any more"] * gone)
        return None

    def ask(self, request: HttpRequest, button: Button, rows: Sequence[Any], *, back: str) -> HttpResponse:
        """Return the page with the question; `back` is the URL of the page that it came from."""
        return self.page(
            request, button.label, "admin/conveyor/confirm.html",
            {
                "button": button,
                "rows": [(row, page_of(row), self.state_of(row), button.applies(row)) for row in rows],
                "applicable": sum(map(button.applies, rows)),
                "action_checkbox_name": ACTION_CHECKBOX_NAME,
                "is_action": ACTION_CHECKBOX_NAME in request.POST,
                "token": uuid.uuid4().hex,
                "back": back,
            },
        )  # fmt: skip

    def page(self, request: HttpRequest, title: str, template: str, context: dict[str, Any]) -> HttpResponse:
        """Return a page of the admin's."""
        shared = {**self.admin_site.each_context(request), "opts": self.opts, "title": title, "media": self.media}
        request.current_app = self.admin_site.name
        return TemplateResponse(request, template, shared | context)

    def _carry_out_all(
        self, request: HttpRequest, button: Button, rows: Iterable[Any], untouched: Iterable[str] = ()
    ) -> None:
        token = request.POST.get(TOKEN, "")
        if not _TOKEN.fullmatch(token):
            self.message_user(request, "The form was not complete, so nothing was done. Ask anew.", messages.ERROR)
            return
        wish = Wish(request, button, token, time.monotonic() + PATIENCE)
        answers = [self.carry_out(wish, row) for row in rows]
        answers += [Answer(False, None, told) for told in untouched]
        self.tell(request, button, answers)

    def tell(self, request: HttpRequest, button: Button, answers: Sequence[Answer]) -> None:
        """Say to how many it was done, and to how many not, and why."""
        done, left = ([each for each in answers if each.done is done] for done in (True, False))
        text = f"{self._counted(len(done))} {'was' if len(done) == 1 else 'were'} {button.done}{_why(done)}."
        if left:
            text += f" {len(left)} {'was' if len(left) == 1 else 'were'} not{_why(left)}."
        self.message_user(request, text, messages.WARNING if left else messages.SUCCESS)

    def _counted(self, count: int) -> str:
        return f"{count:,} {self.opts.verbose_name if count == 1 else self.opts.verbose_name_plural}"


def _action(button: Button) -> Callable[[ButtonsAdmin, HttpRequest, Any], HttpResponse | None]:
    """Return the action of the list: for what was ticked, which the list's filters may leave out by now."""

    def act(model_admin: ButtonsAdmin, request: HttpRequest, queryset: Any) -> HttpResponse | None:  # noqa: ARG001
        return model_admin.chosen(request, button)

    act.__name__ = button.name
    named = admin.action(
        description=f"{button.label} selected %(verbose_name_plural)s", permissions=[button.permission]
    )
    action: Callable[[ButtonsAdmin, HttpRequest, Any], HttpResponse | None] = named(act)
    return action


def _why(answers: Sequence[Answer]) -> str:
    reasons = Counter(answer.told for answer in answers if answer.told)
    told = "; ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
    return f" ({told})" if told else ""
