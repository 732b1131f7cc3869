"""Tokens of the HTTP API: to look at and to revoke. They are made by a command, which shows them once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.template.response import TemplateResponse

from ..models import ApiToken
from ..operate.tokens import all_tokens, revoke_token
from .base import LookOnly

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse


@admin.register(ApiToken)
class ApiTokenAdmin(LookOnly):
    """Tokens, without what would let anybody use or check one; who may change them may revoke them."""

    list_display = (
        "prefix",
        "name",
        "its_verbs",
        "its_queues",
        "created_at",
        "last_used_at",
        "expires_at",
        "revoked_at",
    )
    fields = ("name", "prefix", "its_verbs", "its_queues", "created_at", "last_used_at", "expires_at", "revoked_at")
    readonly_fields = ("its_verbs", "its_queues")
    search_fields = ("name", "prefix")
    ordering = ("-id",)
    show_full_result_count = False
    actions = ("revoke",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiToken]:  # noqa: ARG002
        """Return the tokens, which are in one database, whichever the page of a job or a queue is about."""
        return all_tokens()

    def get_list_filter(self, request: HttpRequest) -> Any:  # noqa: ARG002
        """Offer no choice of a database."""
        return ()

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Say whether the user may revoke tokens."""
        return request.user.has_perm("conveyor.change_apitoken")

    @admin.display(description="verbs")
    def its_verbs(self, token: ApiToken) -> str:
        """Show what it is for."""
        return ", ".join(token.verbs)

    @admin.display(description="queues")
    def its_queues(self, token: ApiToken) -> str:
        """Show where it is for that."""
        return "every queue" if token.queues is None else ", ".join(token.queues)

    @admin.action(description="Revoke the selected tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, tokens: QuerySet[ApiToken]) -> HttpResponse | None:
        """Ask, and then let nobody use them any more."""
        if "confirmed" not in request.POST:
            return self._asked(request, tokens)
        revoked = [token for token in tokens if revoke_token(token.prefix)]
        for token in revoked:
            self.log_change(request, token, "Revoked.")
        before = len(tokens) - len(revoked)
        self.message_user(
            request,
            f"{len(revoked)} revoked." + (f" {before} had been revoked before." if before else ""),
            messages.SUCCESS,
        )
        return None

    def _asked(self, request: HttpRequest, tokens: QuerySet[ApiToken]) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": "Revoke tokens?",
            "opts": self.opts,
            "tokens": tokens,
            "checkbox": ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "admin/conveyor/apitoken/confirm_revoke.html", context)
