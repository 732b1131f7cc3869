"""Whether somebody does what the job waits for."""

from __future__ import annotations

from ..wording import lasting
from .answer import Code, Reason
from .scene import Scene


def without_scheduler(scene: Scene) -> list[Reason]:
    """Say that no scheduler is at work, where that can be seen."""
    fleet, start = (
        scene.fleet,
        "Start one: " + scene.manage("conveyor_scheduler") + " (each conveyor_worker has one too).",
    )
    if fleet.has_scheduler is not False:
        return []
    if frozen := fleet.frozen_schedulers:
        session = frozen[0]
        text = (
            f"{session.name.removeprefix('conveyor ')} (backend {session.pid}) has asked the database nothing for "
            f"{lasting(session.silent or 0.0)}: it is frozen, and there is no other."
        )
        return [Reason(Code.SCHEDULER_SILENT, text, f"Restart it. {start}")]
    return [Reason(Code.NO_SCHEDULER, "no scheduler is connected to this database.", start)]
