"""The drain of workers from afar: asked by their rows, which they read at each beat."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.db.models import Q

from ..models import Worker

if TYPE_CHECKING:
    from django.db.models import QuerySet


def workers_at(host: str, alias: str, *, pid: int | None = None, owner: uuid.UUID | None = None) -> QuerySet[Worker]:
    """Return the worker processes of a host on a database; with `pid` or `owner` those of one `conveyor_worker`.

    `pid` is its own, which is its supervisor's, or that of one of its processes; `owner` is such a process's uuid. Its
    other processes belong to it too: a supervisor that drains is no supervisor any more.
    """
    at_host = Worker.objects.using(alias).filter(host=host)
    if pid is None and owner is None:
        return at_host
    named = at_host
    if pid is not None:
        named = named.filter(Q(pid=pid) | Q(supervisor_pid=pid))
    if owner is not None:
        named = named.filter(pk=owner)
    return at_host.filter(supervisor_pid__in=list(named.values_list("supervisor_pid", flat=True)))


def ask_to_drain(workers: QuerySet[Worker]) -> list[Worker]:
    """Ask these to claim nothing more and to end, as SIGTERM does; return them, oldest first.

    Each hears it at its next beat, at the latest after a third of its lease, and tells its supervisor, which ends the
    others of it and starts no new ones. Asking again changes nothing.
    """
    found = list(workers.order_by("started_at", "pk"))
    Worker.objects.db_manager(workers.db).drain_workers([worker.pk for worker in found])
    return found
