"""Which databases a test may look into."""

from __future__ import annotations

from django.db import connections

from ..conf import conveyor_settings


def databases_of(queues: tuple[str, ...] = ()) -> list[str]:
    """Return the aliases of these queues, of all queues without any; only those that the running test allows.

    Django's TestCase refuses queries to databases that it does not list in `databases`. A queue that was named in such
    a one is an error, which Django raises; of the others nothing can have been enqueued there.
    """
    settings = conveyor_settings()
    if queues:
        return sorted({settings.database_of(queue) for queue in queues})
    return [alias for alias in settings.databases if not _is_forbidden(alias)]


def _is_forbidden(alias: str) -> bool:
    # Django puts an object that raises in the place of the connection's methods, with the method as `wrapped`.
    return hasattr(connections[alias].cursor, "wrapped")
