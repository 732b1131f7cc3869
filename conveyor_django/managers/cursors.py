"""Statements with large parameters on the caller's Django connection.

Django writes parameters into the text of a statement: the server then has megabytes to parse. Here the driver's cursor
is another; Django's own above it, with its wrappers, checks and errors, stays.
"""

from __future__ import annotations

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import ServerBindingCursor

from ..preparing import is_unwatched


def binding_cursor(wrapper: BaseDatabaseWrapper) -> Any:
    """Return Django's cursor on its connection for a statement with large parameters: they stay out of its text."""
    if not is_unwatched(wrapper):
        return wrapper.cursor()
    raw = wrapper.connection
    factory, raw.cursor_factory = raw.cursor_factory, ServerBindingCursor
    try:
        return wrapper.cursor()
    finally:
        raw.cursor_factory = factory
