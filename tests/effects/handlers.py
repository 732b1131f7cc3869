"""What the handlers of these tests do: count their calls, or end in one effect."""

from __future__ import annotations

from typing import Any

from conveyor_django import ConveyorContext

from ..support.jobs import insert_effect

# The names of both kinds of steps.
KINDS = ("step", "atomic_step")


class Calls:
    """A function that counts its calls; `returns` may also be an exception to raise."""

    def __init__(self, returns: Any = None) -> None:
        self.returns = returns
        self.seen: list[tuple[Any, ...]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.seen.append((args, kwargs))
        if isinstance(self.returns, BaseException):
            raise self.returns
        return self.returns

    @property
    def count(self) -> int:
        """How often it was called."""
        return len(self.seen)


def charges(context: ConveyorContext) -> None:
    """End in one effect."""
    with context.effect() as effect:
        insert_effect("charge")
        effect.result = {"paid": (1, 2)}


def charges_in_vain(context: ConveyorContext) -> None:
    """Raise inside the block."""
    with context.effect():
        insert_effect("charge")
        raise ValueError("no")
