"""Tasks of a project without OpenTelemetry."""

from __future__ import annotations

from conveyor_django import ConveyorContext, task


@task(takes_context=True)
def settle(context: ConveyorContext, order: int) -> None:
    context.step("one", lambda: order)
    with context.effect() as effect:
        effect.result = order


@task
async def later(order: int) -> int:
    return order
