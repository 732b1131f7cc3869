"""Running tasks at once, where they are enqueued."""

from __future__ import annotations

from django.conf import settings
from django.test import override_settings
from django.utils.module_loading import import_string


def immediate() -> override_settings:
    """Return a context manager and decorator under which Conveyor's tasks run at once, inside `enqueue`.

    Every backend of Conveyor's in TASKS is exchanged for `conveyor_django.backend.ImmediateBackend` with the same
    queues. No job is stored: there is no ledger, no retry and no key that is taken; an error is the result's.
    """
    from ..backend import ConveyorBackend

    exchanged = {
        alias: {**entry, "BACKEND": "conveyor_django.backend.ImmediateBackend"}
        if issubclass(import_string(str(entry["BACKEND"])), ConveyorBackend)
        else entry
        for alias, entry in settings.TASKS.items()
    }
    return override_settings(TASKS=exchanged)
