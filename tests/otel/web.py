"""A page that enqueues, and the task that it enqueues."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path
from opentelemetry import trace

from conveyor_django import ConveyorContext, task


class BankClosed(Exception):
    """The first attempt comes too early."""


def authorise(order: int) -> str:
    with trace.get_tracer("shop").start_as_current_span("bank"):
        return f"ref-{order}"


def capture(reference: str, attempt: int) -> str:
    if attempt == 1:
        raise BankClosed(reference)
    return reference


@task(queue_name="orders", takes_context=True, backoff=0)
def settle(context: ConveyorContext, order: int) -> None:
    """Take two steps, the second of which fails in the first attempt, and then write."""
    reference = context.step("authorise", authorise, order)
    context.step("capture", capture, reference, context.attempt)
    with context.effect() as effect:
        note.enqueue(order)
        effect.result = reference


@task(queue_name="orders")
async def note(order: int) -> None:
    """Run on the event loop."""
    with trace.get_tracer("shop").start_as_current_span("write"):
        return


def order(request: HttpRequest) -> HttpResponse:
    return HttpResponse(settle.enqueue(int(request.POST["order"])).id)


urlpatterns = [path("orders/", order)]
