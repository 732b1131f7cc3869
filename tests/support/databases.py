"""The test database, for processes that a test starts."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote, urlencode

from django.db import connections


def database_url(alias: str = "default", **changes: Any) -> str:
    """Return the URL of a database as the settings of the running test know it; `changes` as in DATABASES."""
    settings: dict[str, Any] = connections[alias].settings_dict | changes
    options = dict(settings["OPTIONS"])
    host = str(settings["HOST"])
    if host.startswith("/"):  # The folder of a Unix socket has no place in a URL's host.
        options["host"], host = host, ""
    login = ":".join(quote(settings[key], safe="") for key in ("USER", "PASSWORD") if settings[key])
    place = f"{host}:{settings['PORT']}" if settings["PORT"] else host
    address = f"{login}@{place}" if login else place
    return f"postgresql://{address}/{quote(settings['NAME'], safe='')}?{urlencode(options)}"


def process_environment(alias: str = "default", **changes: Any) -> dict[str, str]:
    """Return an environment in which `python -m testproject` works on the test database."""
    return os.environ | {
        "DATABASE_URL": database_url(alias, **changes),
        "DJANGO_SETTINGS_MODULE": "testproject.settings",
    }
