"""Bearer tokens of the HTTP API."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from ..managers.tokens import ApiTokenManager


class ApiToken(models.Model):
    """What a holder of one token may do, and in which queues; `operate/tokens.py` makes and finds them.

    The token itself is not here, only its SHA-256: it has 256 random bits, so that no slow hash is needed.
    """

    id = models.BigAutoField(primary_key=True)
    name = models.TextField(help_text="Whose it is.")
    prefix = models.TextField(unique=True, help_text="How the token begins, which names it and is no secret.")
    digest = models.TextField(help_text="SHA-256 of the whole token, as hexadecimal digits.")
    queues = models.JSONField(null=True, help_text="The queues that it is for. Null: every queue.")
    verbs = models.JSONField(default=list, help_text="What it is for.")
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, help_text="To within an hour.")
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    paid_until = models.DateTimeField(
        null=True, help_text="Until when its requests use up its rate; where the rate is limited."
    )

    objects: ClassVar[ApiTokenManager] = ApiTokenManager()

    class Meta:
        app_label = "conveyor"
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
