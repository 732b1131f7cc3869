"""Look at queues, pause and resume them."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from .. import models
from ..conf import conveyor_settings
from ..operate.apiverbs import ApiVerb
from ..queues import declared_queues, pause_queue, resume_queue
from .access import Caller, require, require_queue
from .outputs import Queue, Queues, reply
from .problems import not_found
from .routing import router


@router.get("/queues", response=Queues, operation_id="listQueues")
def list_queues(request: HttpRequest) -> HttpResponse:
    """List the queues that TASKS declares, that have settings or ready jobs, as far as they are the caller's."""
    caller = require(request, ApiVerb.READ)
    return reply(Queues(queues=[_shown(name, row) for name, row in sorted(_known(caller).items())]))


@router.post("/queues/{path:name}/pause", response=Queue, operation_id="pauseQueue")
def pause(request: HttpRequest, name: str) -> HttpResponse:
    """Let nothing more of a queue be claimed; what runs, runs on."""
    return _change(request, name, pause_queue)


@router.post("/queues/{path:name}/resume", response=Queue, operation_id="resumeQueue")
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """Let the queue's jobs be claimed again."""
    return _change(request, name, resume_queue)


def _change(request: HttpRequest, name: str, change: Callable[[str], None]) -> HttpResponse:
    caller = require(request, ApiVerb.PAUSE)
    require_queue(caller, name)
    try:
        change(name)
    except ValueError as error:
        # Not its message, which names other queues.
        raise not_found("There is no such queue.") from error
    row = models.Queue.objects.using(conveyor_settings().database_of(name)).filter(pk=name).first()
    return reply(_shown(name, row))


def _known(caller: Caller) -> dict[str, models.Queue | None]:
    """Return the caller's queues, each with its settings if it has any."""
    settings = conveyor_settings()
    found: dict[str, models.Queue | None] = dict.fromkeys(declared_queues())
    for alias in settings.databases:
        names = models.Job.objects.db_manager(alias).list_queues()
        rows = {row.name: row for row in models.Queue.objects.using(alias)}
        # A row of the same name elsewhere is of no use to anybody.
        found |= {name: rows.get(name) for name in [*names, *rows] if settings.database_of(name) == alias}
    return {name: row for name, row in found.items() if caller.queues is None or name in caller.queues}


def _shown(name: str, row: models.Queue | None) -> Queue:
    row = row or models.Queue(name=name)
    return Queue(name=name, paused=row.paused, soft_cap=row.soft_cap, exact_cap=row.exact_cap, key_cap=row.key_cap)
