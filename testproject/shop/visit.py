"""How to look around in the admin, and, where it is safe, the user for it."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import get_user_model


def login() -> str:
    """Return how to log in to the admin; makes the user admin with the password admin, but with DEBUG on alone."""
    user_model = get_user_model()
    user = user_model.objects.filter(username="admin").first()
    if settings.DEBUG and user is None:
        user = user_model.objects.create_superuser("admin", password="admin")  # noqa: S106 - for DEBUG alone
    return "as admin, password admin" if user and user.check_password("admin") else "with your own superuser"
