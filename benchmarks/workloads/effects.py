"""(d): jobs whose handler writes one row; Conveyor's also in the transaction of the success."""

from __future__ import annotations

from typing import Any, Final

from ..sizes import Sizes
from ..stage import Stage
from .base import Workload
from .drain import drain


def measure(stage: Stage, sizes: Sizes) -> dict[str, Any]:
    """Work off jobs that write a row each; say how many rows there are, and of how many jobs."""
    stage.fresh()
    # How the handler is declared: an option of Conveyor alone.
    figures = drain(stage, str(stage.entrant.options.get("kind", "effect")), sizes.effects)
    with stage.watching() as connections:
        row = connections[0].execute("SELECT count(*), count(DISTINCT sequence) FROM effects").fetchone()
    rows, distinct = row or (0, 0)
    return figures | {"effects": rows, "effects_doubled": rows - distinct}


WORKLOADS: Final = (
    Workload(
        name="effects", title="{effects:,} jobs that write a row each", measure=measure, load="effects", is_short=True,
        entrants=("conveyor@processes=2,concurrency=16,kind=atomic",),
    ),
)  # fmt: skip
