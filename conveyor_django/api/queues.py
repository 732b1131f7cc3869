"""Look at queues, pause and resume them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter

from django.http import HttpRequest, HttpResponse

from .. import models
from ..conf import conveyor_settings
from ..operate.apiverbs import ApiVerb
from ..operate.overview import Moment, QueueView, queues
from ..operate.overview.rates import Rates
from ..queues import pause_queue, resume_queue
from .access import Caller, require, require_queue
from .listing import databases_of
from .outputs import Queue, Queues, QueueSettings, reply
from .problems import not_found
from .routing import router


@router.get("/queues", response=Queues, operation_id="listQueues")
def list_queues(request: HttpRequest) -> HttpResponse:
    """List the caller's queues that TASKS declares, or that have settings or jobs that have not ended well.

    Each with how it stands; large numbers are estimated, so that it takes a moment however many jobs there are.
    """
    caller = require(request, ApiVerb.READ)
    seen = sorted(_seen(caller), key=attrgetter("name"))
    return reply(Queues(queues=[Queue.model_validate(view, from_attributes=True) for view in seen]))


@router.post("/queues/{path:name}/pause", response=QueueSettings, operation_id="pauseQueue")
def pause(request: HttpRequest, name: str) -> HttpResponse:
    """Let nothing more of a queue be claimed; what runs, runs on. The answer has its settings, not its jobs."""
    return _change(request, name, pause_queue)


@router.post("/queues/{path:name}/resume", response=QueueSettings, operation_id="resumeQueue")
def resume(request: HttpRequest, name: str) -> HttpResponse:
    """Let the queue's jobs be claimed again. The answer has its settings, not its jobs."""
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
    return reply(QueueSettings.model_validate(row or models.Queue(name=name), from_attributes=True))


def _seen(caller: Caller) -> Iterator[QueueView]:
    """Yield the caller's queues as they stand, by database; others' databases are not asked."""
    for alias in databases_of(caller.queues):
        moment = Moment(alias)
        # What ended, and which workers there are, is not told here.
        for view in queues(moment, rates=Rates(moment.now), workers=()):
            is_theirs = caller.queues is None or view.name in caller.queues
            # A row of the same name elsewhere is of no use to anybody.
            if is_theirs and conveyor_settings().database_of(view.name) == alias:
                yield view
